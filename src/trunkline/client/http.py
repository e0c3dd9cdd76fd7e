"""Requests to the REST API: addresses, the bearer token, responses and errors.

Redirects are not followed, so that the token goes nowhere but to the address that was given.
aiohttp is loaded by the first request: programs that only may talk to a server start without it.
"""

import asyncio
import io
import os
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from trunkline import limits
from trunkline.client.errors import BAD_GATEWAY, ApiError, Unreachable
from trunkline.client.locate import ServerAccess, check
from trunkline.client.models import refusal

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

T = TypeVar("T")

_PREFIX = "/api/v1"
TIMEOUT_S = 70.0
"""A little more than the server's own limit for a request."""
_PROOF_S = 10.0
_PROOFS_MAX = 100
_PROOF_BYTES_MAX = 1000
_READ_BYTES = 256 * 1024


class _Proof(msgspec.Struct):
    proof: str


class _NotProved(Exception):
    """A request that shows the token was about to open a connection of its own."""


class _Asker:
    """A request on its way to a connection. From the proof that it asked for until it has taken
    that connection, nobody else is let prove anything: they would take it for their challenge, and
    two could do so to each other for ever."""

    def __init__(self, challenge: asyncio.Lock) -> None:
        self._challenge = challenge
        self.is_next = False
        self.is_gone = False

    def proved(self) -> None:
        """By who holds the lock, which this gets, or gives back if nobody waits any more."""
        self.is_next = True
        if self.is_gone:
            self.took()

    def took(self) -> None:
        if self.is_next:
            self.is_next = False
            self._challenge.release()

    def gone(self) -> None:
        self.is_gone = True
        self.took()


class Http:
    """One server, one token, one pool of connections."""

    def __init__(self, where: ServerAccess, timeout_s: float) -> None:
        self.url = where.url.rstrip("/")
        self.timeout_s = timeout_s
        self._where = where
        self._pool: aiohttp.ClientSession | None = None
        self._challenge = asyncio.Lock()
        self._proving: set[asyncio.Task[None]] = set()
        self._is_wrong = False
        """Whether the last challenge was not answered well."""

    @property
    def _session(self) -> "aiohttp.ClientSession":
        """The pool of connections. Where the server has to prove itself, only a challenge opens
        one: so each that carries a token has carried a proof before."""
        import aiohttp

        if self._pool is None:
            guard = aiohttp.TraceConfig()
            guard.on_connection_create_start.append(self._opening)
            guard.on_connection_reuseconn.append(self._reusing)
            guards = [] if self._where.key is None else [guard]
            self._pool = aiohttp.ClientSession(trace_configs=guards)
        return self._pool

    async def _opening(self, _: object, context: Any, __: object) -> None:
        asker: _Asker | None = context.trace_request_ctx
        if asker is not None:
            asker.took()  # another request was quicker
            raise _NotProved

    async def _reusing(self, _: object, context: Any, __: object) -> None:
        """It may be one whose proof is being looked at: then that is waited for."""
        asker: _Asker | None = context.trace_request_ctx
        if asker is not None and asker.is_next:
            asker.took()
        elif asker is not None:
            async with self._challenge:
                if self._is_wrong:
                    raise _NotProved

    async def _prove(self, asker: _Asker) -> None:
        """In a task of its own, which goes on when who asked is cancelled: others wait for it, and
        the pool keeps no connection that is not proved."""
        proving = asyncio.ensure_future(self._challenged(asker))
        self._proving.add(proving)
        proving.add_done_callback(self._proving.discard)
        await asyncio.shield(proving)

    async def _challenged(self, asker: _Asker) -> None:
        await self._challenge.acquire()
        try:
            await check(self._where, self.prove)
        except BaseException:
            self._is_wrong = True
            try:
                await self._close_pool()  # with the connection on which no proof came
            finally:
                self._challenge.release()
            raise
        self._is_wrong = False
        asker.proved()

    async def _open(
        self, method: str, url: "URL", headers: Mapping[str, str], **options: Any
    ) -> "aiohttp.ClientResponse":
        """A request with the token, on a connection that is known to end at the server."""
        token = self._where.token
        shown = {} if token is None else {"Authorization": f"Bearer {token}"}
        asker = _Asker(self._challenge)
        try:
            for _ in range(_PROOFS_MAX):  # one that proved nothing may take what we had proved
                try:
                    return await self._session.request(
                        method,
                        url,
                        headers={**headers, **shown},
                        allow_redirects=False,
                        trace_request_ctx=asker,
                        **options,
                    )
                except _NotProved:
                    await self._prove(asker)
        finally:
            asker.gone()
        raise Unreachable(f"{self.url} ends each connection before it is used")

    async def close(self) -> None:
        proving = list(self._proving)
        for one in proving:
            one.cancel()
        await asyncio.gather(*proving, return_exceptions=True)
        await self._close_pool()

    async def _close_pool(self) -> None:
        pool, self._pool = self._pool, None  # first: nobody is to begin with what is closing
        if pool is not None:
            await pool.close()

    def address(self, *path: str) -> "URL":
        """`address("sessions", id)`: each part is one segment, whatever it contains."""
        from yarl import URL

        segments = ("/" + quote(part, safe="").replace(".", "%2E") for part in path)
        return URL(self.url + _PREFIX + "".join(segments), encoded=True)

    async def prove(self, nonce: str) -> str:
        """What the server answers to a challenge; empty when it does not understand it. It is shown
        no token. Raises Unreachable."""
        import aiohttp

        with _failures(self.url):
            async with self._session.post(
                self.url + "/proof",
                json={"nonce": nonce},
                timeout=aiohttp.ClientTimeout(total=_PROOF_S),
                allow_redirects=False,
            ) as response:
                raw = await response.content.read(_PROOF_BYTES_MAX)
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
        lines: AsyncIterable[bytes] | None = None,
        timeout_s: float | None = None,
    ) -> bytes:
        """The body of a successful response; ApiError or Unreachable otherwise. `files` are sent
        as a form: name, media type and content of each; `lines`: JSON Lines, piece by piece."""
        import aiohttp

        data: bytes | aiohttp.FormData | AsyncIterable[bytes] | None = upload
        kind = "application/zip"
        if lines is not None:
            data, kind = lines, "application/x-ndjson"
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
        with _failures(self.url):
            response = await self._open(
                method,
                self.address(*path),
                headers,
                params=params,
                data=data,
                timeout=aiohttp.ClientTimeout(total=max(wait_s, 0.001)),  # 0 would be for ever
            )
            async with response:
                return await checked(response)

    async def pieces(
        self,
        *path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """A response that goes on and on, as it arrives. Silence for long is a dead connection;
        raises as `call` does."""
        import aiohttp

        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=self.timeout_s, sock_read=3 * limits.READER_HEARTBEAT_S
        )
        with _failures(self.url):
            response = await self._open(
                "GET", self.address(*path), headers or {}, params=query, timeout=timeout
            )
            async with response:
                if response.status != 200:
                    await checked(response)
                    raise Unreachable(f"{self.url} answered {response.status} to a stream")
                while piece := await response.content.read(_READ_BYTES):
                    yield piece

    async def fetch(self, kind: type[T], method: str, *path: str, **options: Any) -> T:
        """`call`, with the response as a value of that type. One without a body has no fields."""
        raw = await self.call(method, *path, **options) or b"{}"
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unreachable(f"{self.url} is no Trunkline server: {error}") from error


async def checked(response: "aiohttp.ClientResponse") -> bytes:
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


@contextmanager
def _failures(url: str) -> Iterator[None]:
    """What the library below raises, as ours."""
    import aiohttp

    try:
        yield
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise Unreachable(f"{url} does not answer: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Why a connection failed, in a few words."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorError) and error.strerror:
        number = error.errno or 0  # below 0: a name that is not found, which says it better
        return (os.strerror(number) if number > 0 else error.strerror).lower()
    return str(error) or type(error).__name__


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
