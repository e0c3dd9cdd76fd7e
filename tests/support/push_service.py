"""A push service on loopback, and browsers behind it: reads what it is sent as RFC 8291 and 8292
say, with nothing of the code that wrote it."""

import asyncio
import base64
import json
import os
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jwt
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.eventually import until

_CURVE = ec.SECP256R1()


class Browser:
    """One subscription: what it was sent, decrypted, and what its service answers with next."""

    def __init__(self, name: str, origin: str) -> None:
        self.endpoint = f"{origin}/push/{name}"
        self._key = ec.generate_private_key(_CURVE)
        self._auth = os.urandom(16)
        self.received: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        """Before 201."""
        self.gate = asyncio.Event()
        """Held while it is not set."""
        self.gate.set()

    @property
    def subscription(self) -> dict[str, Any]:
        """As `PushSubscription.toJSON()` has it."""
        keys = {"p256dh": b64(_point(self._key.public_key())), "auth": b64(self._auth)}
        return {"endpoint": self.endpoint, "keys": keys}

    async def gets(self, count: int) -> list[dict[str, Any]]:
        """Waits for so many messages in all."""
        return await until(lambda: self.received, lambda seen: len(seen) >= count)

    def read(self, body: bytes) -> dict[str, Any]:
        """RFC 8188 with the key of RFC 8291, in one record."""
        salt, (size, length) = body[:16], struct.unpack("!LB", body[16:21])
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) <= size
        assert len(body) <= 4096
        shared = self._key.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, sender)
        )
        info = b"WebPush: info\x00" + _point(self._key.public_key()) + sender
        secret = _hkdf(self._auth, shared, info, 32)
        key = _hkdf(salt, secret, b"Content-Encoding: aes128gcm\x00", 16)
        nonce = _hkdf(salt, secret, b"Content-Encoding: nonce\x00", 12)
        padded = AESGCM(key).decrypt(nonce, sealed, None)
        text, end, _ = padded.rpartition(b"\x02")
        assert end == b"\x02"
        found: dict[str, Any] = json.loads(text)
        return found


class PushService:
    def __init__(self) -> None:
        self.browsers: dict[str, Browser] = {}
        self.origin = ""
        self.tokens: list[tuple[str, str]] = []
        """The token and the key of each request."""

    def browser(self, name: str) -> Browser:
        made = self.browsers[name] = Browser(name, self.origin)
        return made

    async def take(self, request: web.Request) -> web.Response:
        browser = self.browsers[request.match_info["name"]]
        browser.headers.append(dict(request.headers))
        scheme, _, given = request.headers["Authorization"].partition(" ")
        assert scheme == "vapid"
        fields = dict(part.strip().split("=", 1) for part in given.split(","))
        self.tokens.append((fields["t"], fields["k"]))
        body = await request.read()
        await browser.gate.wait()
        if browser.answers:
            status, headers = browser.answers.pop(0)
            return web.Response(status=status, headers=headers, text="as scripted")
        assert request.headers["Content-Encoding"] == "aes128gcm"
        browser.received.append(browser.read(body))
        return web.Response(status=201)

    def claims(self, number: int = -1) -> dict[str, Any]:
        """Of a token, checked by the key that came with it (RFC 8292). Its end is of the clock that
        a test has set, not of today."""
        token, key = self.tokens[number]
        point = base64.urlsafe_b64decode(key + "=" * (-len(key) % 4))
        public = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
        found: dict[str, Any] = jwt.decode(
            token,
            public,
            algorithms=["ES256"],
            audience=self.origin,
            options={"verify_exp": False},
        )
        return found


@asynccontextmanager
async def push_service() -> AsyncIterator[PushService]:
    service, app = PushService(), web.Application()
    app.router.add_post("/push/{name}", service.take)
    async with TestServer(app) as server:
        service.origin = str(server.make_url("")).rstrip("/")
        yield service


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)
