"""API keys as they travel in `init`: encrypted with a key that both ends derive from the VM token.

AES-256-GCM; key = SHA-256 of "semibot:init:" and the token; associated data as below.
"""

import base64
import hashlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from trunkline.wire.errors import Malformed
from trunkline.wire.semibot.messages import EncryptedKey

NONCE_BYTES = 12
_TAG_BYTES = 16
_ASSOCIATED = b"semibot:init:api_keys"


def _box(vm_token: str) -> AESGCM:
    return AESGCM(hashlib.sha256(f"semibot:init:{vm_token}".encode()).digest())


def encrypt_key(api_key: str, vm_token: str, nonce: bytes) -> EncryptedKey:
    """`nonce`: twelve random bytes, never used twice."""
    sealed = _box(vm_token).encrypt(nonce, api_key.encode(), _ASSOCIATED)
    return EncryptedKey(
        iv=base64.b64encode(nonce).decode(),
        tag=base64.b64encode(sealed[-_TAG_BYTES:]).decode(),
        ciphertext=base64.b64encode(sealed[:-_TAG_BYTES]).decode(),
    )


def decrypt_key(key: EncryptedKey | str, vm_token: str) -> str:
    """Older control planes send keys as plain text; both forms are read."""
    if isinstance(key, str):
        return key
    try:
        sealed = base64.b64decode(key.ciphertext) + base64.b64decode(key.tag)
        return _box(vm_token).decrypt(base64.b64decode(key.iv), sealed, _ASSOCIATED).decode()
    except (InvalidTag, ValueError) as error:
        raise Malformed("an API key could not be decrypted") from error
