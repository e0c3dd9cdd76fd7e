"""HTTP for requests that a user's records cause: guarded addresses, bounded answers.

Built on httpcore's public pool, so that it cannot fail open. Proxies of the environment are not
used: behind one, the connected address would say nothing.
"""

import ssl
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import cache

import httpcore2
import httpx2

from trunkline.control.services.ssrf import AddressGuard, GuardedBackend, Resolve, resolve


@cache
def _tls() -> ssl.SSLContext:
    """Read once: loading the system's certificates takes tens of milliseconds."""
    return ssl.create_default_context()


class GuardedTransport(httpx2.AsyncBaseTransport):
    """`body_bytes_max` bounds every body except event streams, whose events the MCP SDK bounds."""

    def __init__(
        self, guard: AddressGuard, body_bytes_max: int, resolver: Resolve = resolve
    ) -> None:
        self._body_bytes_max = body_bytes_max
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_tls(),
            network_backend=GuardedBackend(guard, resolver),
            max_connections=20,
            max_keepalive_connections=5,
            keepalive_expiry=60.0,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        sent = httpcore2.Request(
            method=request.method,
            url=url,
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _httpx_errors():
            answer = await self._pool.handle_async_request(sent)
        headers = httpx2.Headers(answer.headers)
        coding = headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity"):
            await answer.aclose()
            # Nobody asked for it, and a small compressed body may have any size unpacked.
            raise httpx2.RemoteProtocolError(f"the server compressed its answer ({coding[:40]!r})")
        is_stream = headers.get("content-type", "").lower().startswith("text/event-stream")
        assert isinstance(answer.stream, typing.AsyncIterable)
        bound = None if is_stream else self._body_bytes_max
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_BoundedStream(answer.stream, answer.aclose, bound),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self,
        parts: typing.AsyncIterable[bytes],
        close: Callable[[], Awaitable[None]],
        bytes_max: int | None,
    ) -> None:
        self._parts = parts
        self._close = close
        self._bytes_max = bytes_max

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        with _httpx_errors():
            async for part in self._parts:
                count += len(part)
                if self._bytes_max is not None and count > self._bytes_max:
                    raise httpx2.StreamError(f"the answer is over {self._bytes_max} bytes")
                yield part

    async def aclose(self) -> None:
        await self._close()


@contextmanager
def _httpx_errors() -> Generator[None]:
    """httpcore's errors as the httpx ones that callers know."""
    try:
        yield
    except httpcore2.ConnectTimeout as error:
        raise httpx2.ConnectTimeout(str(error)) from error
    except httpcore2.TimeoutException as error:
        raise httpx2.ReadTimeout(str(error)) from error
    except httpcore2.ConnectError as error:
        raise httpx2.ConnectError(str(error)) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise httpx2.ReadError(str(error)) from error
