"""Keys made at first start and kept private: token signing, encryption at rest, Web Push.

Kept for this user alone (`key_files`). Nothing here ever logs or returns a private key.
"""

import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.rsa import (
    RSAPrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from trunkline.control.access import key_files
from trunkline.control.errors import Unavailable
from trunkline.control.ids import new_secret
from trunkline.control.settings import Settings
from trunkline.places import ADMIN_TOKEN_FILE
from trunkline.private_files import write_private

_NONCE_BYTES = 12


def digest(secret: str) -> str:
    """The hash that is stored of a secret."""
    # Halves of characters too, which are in no secret of ours: whoever sends them is refused.
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def admin_token(settings: Settings) -> str:
    """The operator's own, or one that is made once and kept where only its user can read it."""
    if settings.admin_token is not None:
        return settings.admin_token
    path = settings.data_dir / ADMIN_TOKEN_FILE
    if path.exists():
        return path.read_text(encoding="ascii").strip()
    token = new_secret("tl")
    write_private(path, token + "\n")
    return token


def same(one: str, other: str) -> bool:
    """Comparison in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


class Keys:
    """The control plane's own keys."""

    def __init__(
        self,
        signing: RSAPrivateKey,
        sealing: bytes,
        push: ec.EllipticCurvePrivateKey | None = None,
    ) -> None:
        self.signing = signing
        self.push = push or ec.generate_private_key(ec.SECP256R1())
        """By which push services know this server: browsers' subscriptions are bound to it."""
        self._sealing = sealing
        self._box = AESGCM(sealing)

    @classmethod
    def open(cls, place: Path) -> "Keys":
        """Reads the keys, or makes them if this is the first start. `place`: a folder, or a
        file."""
        found = key_files.read(place)
        made = {name: make() for name, make in _MAKERS.items() if name not in found}
        if made:
            try:
                key_files.write(place, made)
            except OSError as error:
                names = ", ".join(made)
                raise Unavailable(f"{place} has no {names}, and takes none: {error}") from error
        every = {**found, **made}
        signing = _private_key(place, "signing.pem", every)
        push = _private_key(place, "vapid.pem", every)
        sealing = every["sealing.key"]
        if (
            not isinstance(signing, RSAPrivateKey)
            or not isinstance(push, ec.EllipticCurvePrivateKey)
            or not isinstance(push.curve, ec.SECP256R1)
            or len(sealing) != 32
        ):
            raise Unavailable(f"the keys in {place} are damaged; restore them from a backup")
        return cls(signing, sealing, push)

    def derive(self, purpose: str) -> bytes:
        """A key for that purpose alone; the same one after every start."""
        return hmac.new(self._sealing, purpose.encode(), hashlib.sha256).digest()

    def seal(self, text: str, context: str) -> bytes:
        """Encrypts for storage. `context` binds the value to its row: it opens nowhere else."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._box.encrypt(nonce, text.encode(), context.encode())

    def unseal(self, sealed: bytes, context: str) -> str:
        return self._box.decrypt(
            sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], context.encode()
        ).decode()


def _new_signing_key() -> bytes:
    key = generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _new_push_key() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


_MAKERS: dict[str, Callable[[], bytes]] = {
    "signing.pem": _new_signing_key,
    "sealing.key": lambda: AESGCM.generate_key(256),
    "vapid.pem": _new_push_key,
}


def _private_key(place: Path, name: str, keys: Mapping[str, bytes]) -> PrivateKeyTypes:
    try:
        return load_pem_private_key(keys[name], password=None)
    except ValueError as error:
        raise Unavailable(f"{name} in {place} is not a private key: {error}") from error
