"""HTTP for requests that a user's records cause: public or allowed addresses, bounded responses.

The check happens where the connection is made, on the address that is connected to: a name that
changes its mind between check and connection, or a redirect, meets the same check again. Built on
httpcore's public pool, so that it cannot fail open. Proxies of the environment are not used: behind
one, the connected address would say nothing. Imported at first use, as httpx takes a tenth of a
second to load.
"""

import asyncio
import ssl
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpcore2
import httpx2
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

from trunkline.control.services.address_guard import AddressGuard, AddressRefused, Resolve, resolve


class GuardedBackend(AsyncNetworkBackend):
    """Resolves a name once and connects to one of the very addresses that were checked."""

    def __init__(self, guard: AddressGuard, resolver: Resolve = resolve) -> None:
        self._guard = guard
        self._resolve = resolver
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the backend's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        try:
            addresses = await asyncio.wait_for(self._resolve(host, port), timeout)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"no address for {host!r} in time") from error
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(f"no address for {host!r}: {error}") from error
        fine = [address for address in addresses if self._guard.allows(host, address)]
        if not fine:
            raise self._guard.refused(host)
        failure: httpcore2.ConnectError | None = None
        for address in fine:
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except httpcore2.ConnectError as error:
                failure = error
        assert failure is not None
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the backend's interface
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        raise AddressRefused("a Unix socket is not a public address")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


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
            response = await self._pool.handle_async_request(sent)
        headers = httpx2.Headers(response.headers)
        coding = headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity"):
            await response.aclose()
            # Nobody asked for it, and a small compressed body may have any size unpacked.
            raise httpx2.RemoteProtocolError(f"the server compressed its answer ({coding[:40]!r})")
        is_stream = headers.get("content-type", "").lower().startswith("text/event-stream")
        assert isinstance(response.stream, typing.AsyncIterable)
        bound = None if is_stream else self._body_bytes_max
        return httpx2.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_BoundedStream(response.stream, response.aclose, bound),
            extensions=response.extensions,
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
