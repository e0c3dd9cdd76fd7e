"""A message as a push service takes it: encrypted for one browser (RFC 8291, by `http_ece`), signed
as coming from this server (VAPID, RFC 8292). No I/O."""

import base64
import binascii
from typing import Any
from urllib.parse import urlsplit

import http_ece
import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from trunkline.control.errors import InvalidRequest

PAYLOAD_BYTES_MAX = 3_000
"""A push service takes 4,096 bytes (RFC 8030), of which 103 are the encryption's."""
_TOKEN_LIFE_S = 12 * 3600  # RFC 8292: at most 24 hours
_CURVE = ec.SECP256R1()


class Receiver(msgspec.Struct, frozen=True):
    """One browser: where it is reached and its keys. Holds secrets: never logged, never shown."""

    url: str
    p256dh: bytes
    auth: bytes

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def origin(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


def receiver(url: str, p256dh: str, auth: str) -> Receiver:
    """Of what a browser says; InvalidRequest where it cannot be written to."""
    try:
        parts = urlsplit(url)
        is_fine = url.isascii() and url.isprintable() and not set(url) & set(" \\#<>\"'")
        is_fine = is_fine and parts.scheme in ("https", "http") and bool(parts.hostname)
        is_fine = is_fine and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        is_fine = False
    if not is_fine:
        raise InvalidRequest("endpoint must be the address of a push service: https://…")
    point, secret = _decoded(p256dh, "p256dh"), _decoded(auth, "auth")
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    except ValueError as error:
        raise InvalidRequest("keys.p256dh is no public key of the curve P-256") from error
    if len(point) != 65 or len(secret) != 16:
        raise InvalidRequest("keys.p256dh must have 65 bytes, and keys.auth 16")
    return Receiver(url, point, secret)


def _decoded(text: str, name: str) -> bytes:
    try:
        padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest(f"keys.{name} is not base64url") from error


def encrypted(to: Receiver, payload: bytes) -> bytes:
    """The body; its coding is `aes128gcm`. With a key of its own each time, as RFC 8291 asks."""
    assert len(payload) <= PAYLOAD_BYTES_MAX
    body: bytes = http_ece.encrypt(
        payload,
        private_key=ec.generate_private_key(_CURVE),
        dh=to.p256dh,
        auth_secret=to.auth,
        version="aes128gcm",
    )
    return body


class Vapid:
    """This server's name with push services. `contact`: whom they may write to about it."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, contact: str) -> None:
        self._key = key
        self._contact = contact
        point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.public_key = base64.urlsafe_b64encode(point).rstrip(b"=").decode()
        """As a browser takes it for `applicationServerKey`."""

    def authorization(self, to: Receiver, now_s: int) -> str:
        claims: dict[str, Any] = {"aud": to.origin, "exp": now_s + _TOKEN_LIFE_S}
        claims["sub"] = self._contact
        token = jwt.encode(claims, self._key, algorithm="ES256")
        return f"vapid t={token}, k={self.public_key}"
