"""Requests to the REST API: addresses, the bearer token, responses and errors.

Redirects are not followed, so that the token goes nowhere but to the address that was given.
"""

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from trunkline.client.errors import BAD_GATEWAY, ApiError, Unreachable
from trunkline.client.models import refusal

T = TypeVar("T")

_PREFIX = "/api/v1"
TIMEOUT_S = 70.0
"""A little more than the server's own limit for a request."""
_PROOF_S = 10.0
_PROOF_BYTES_MAX = 1000


class _Proof(msgspec.Struct):
    proof: str


class Http:
    """One server, one token, one pool of connections."""

    def __init__(self, url: str, token: str | None, timeout_s: float) -> None:
        self.url = url.rstrip("/")
        self.timeout_s = timeout_s
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(headers=self._headers)
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def address(self, *path: str) -> URL:
        """`address("sessions", id)`: each part is one segment, whatever it contains."""
        segments = ("/" + quote(part, safe="").replace(".", "%2E") for part in path)
        return URL(self.url + _PREFIX + "".join(segments), encoded=True)

    async def prove(self, nonce: str) -> str:
        """What the server answers to a challenge; empty when it does not understand it. It is shown
        no token. Raises Unreachable."""
        try:
            async with (
                aiohttp.ClientSession() as stranger,
                stranger.post(
                    self.url + "/proof",
                    json={"nonce": nonce},
                    timeout=aiohttp.ClientTimeout(total=_PROOF_S),
                    allow_redirects=False,
                ) as response,
            ):
                raw = await response.content.read(_PROOF_BYTES_MAX)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise Unreachable(f"{self.url} does not answer: {reason(error)}") from error
        try:
            return msgspec.json.decode(raw, type=_Proof).proof
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""

    async def call(
        self,
        method: str,
        *path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        upload: bytes | None = None,
        files: Sequence[tuple[str, str, bytes]] = (),
        timeout_s: float | None = None,
    ) -> bytes:
        """The body of a successful response; ApiError or Unreachable otherwise. `files` are sent
        as a form: name, media type and content of each."""
        data: bytes | aiohttp.FormData | None = upload
        kind = "application/zip"
        if body is not None:
            data, kind = msgspec.json.encode(body), "application/json"
        wait_s = self.timeout_s if timeout_s is None else timeout_s
        headers = {} if data is None else {"Content-Type": kind}
        if files:
            data = aiohttp.FormData()
            for name, media_type, content in files:
                field = io.BytesIO(content)
                data.add_field("files", field, filename=name, content_type=media_type)
        params = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        try:
            async with self.session.request(
                method,
                self.address(*path),
                params=params,
                data=data,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=max(wait_s, 0.001)),  # 0 would be for ever
                allow_redirects=False,
            ) as response:
                return await checked(response)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise Unreachable(f"{self.url} does not answer: {reason(error)}") from error

    async def fetch(self, kind: type[T], method: str, *path: str, **options: Any) -> T:
        """`call`, with the response as a value of that type."""
        raw = await self.call(method, *path, **options)
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unreachable(f"{self.url} is no Trunkline server: {error}") from error


async def checked(response: aiohttp.ClientResponse) -> bytes:
    """The body; ApiError when the response is an error, Unreachable when it is not of this API."""
    raw = await response.read()
    if response.status < 300:
        return raw
    found = refusal(raw)
    if found is None:
        if response.status >= 500:
            raise ApiError(response.status, BAD_GATEWAY, f"the server answered {response.status}")
        raise Unreachable(
            f"{response.url.origin()} answered {response.status}, and not as Trunkline"
        )
    raise ApiError(response.status, *found)


def reason(error: Exception) -> str:
    """Why a connection failed, in a few words."""
    if isinstance(error, aiohttp.ClientConnectorError) and error.strerror:
        number = error.errno or 0  # below 0: a name that is not found, which says it better
        return (os.strerror(number) if number > 0 else error.strerror).lower()
    return str(error) or type(error).__name__


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
