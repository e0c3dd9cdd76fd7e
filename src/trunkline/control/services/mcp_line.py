"""One connection to a remote MCP server, held open for many calls, by the official SDK.

The SDK's client has to be entered and left in one task, and a failing transport cancels that task;
so each line has a task of its own, and callers only see this object. `mcp_pool` keeps the lines.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx2
import structlog
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import CONNECTION_CLOSED

from trunkline import limits
from trunkline.control.errors import Timeout, TrunklineError, Unavailable
from trunkline.control.services.guarded_http import GuardedTransport
from trunkline.control.services.mcp_servers import Endpoint
from trunkline.control.services.ssrf import AddressGuard

_log = structlog.get_logger()
T = TypeVar("T")
_CAUSE_WAIT_S = 0.25
# JSON-RPC codes with which servers say that they no longer know the session.
_SESSION_GONE = (-32600, -32601, -32001)


class LineBroken(Exception):
    """The line is unusable, and the call has certainly not run: it may be made again."""


class McpFailure(Unavailable):
    """The server, or the tool itself, answered with an error."""

    code = "MCP_ERROR"
    status = 502


class McpLine:
    def __init__(self, endpoint: Endpoint, guard: AddressGuard) -> None:
        self.endpoint = endpoint
        self.in_flight = 0
        self._guard = guard
        self._client: Client | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._session_gone = False
        self._failure: BaseException | None = None
        self._task = asyncio.create_task(self._run(), name=f"mcp {endpoint.name}")

    @property
    def is_usable(self) -> bool:
        return not (self._task.done() or self._closing.is_set() or self._session_gone)

    def is_for(self, endpoint: Endpoint) -> bool:
        """Whether the record still says what this line was opened with."""
        same = self.endpoint.url == endpoint.url and self.endpoint.headers == endpoint.headers
        return same and self.endpoint.server_id == endpoint.server_id

    async def _run(self) -> None:
        endpoint = self.endpoint
        http = httpx2.AsyncClient(
            transport=GuardedTransport(self._guard, limits.MCP_RESULT_BYTES_MAX),
            headers={**endpoint.headers, "accept-encoding": "identity"},
            # Reading has no limit of its own: each call has, and an idle stream is no failure.
            timeout=httpx2.Timeout(limits.MCP_CONNECT_TIMEOUT_S, read=None),
            event_hooks={"response": [self._watch]},
            trust_env=False,
        )
        transport = streamable_http_client(
            endpoint.url, http_client=http, max_sse_event_size=limits.MCP_RESULT_BYTES_MAX
        )
        try:
            async with asyncio.timeout(limits.MCP_CONNECT_TIMEOUT_S) as deadline:
                async with http, Client(transport, cache=None) as client:
                    deadline.reschedule(None)
                    self._client = client
                    self._ready.set_result(None)
                    await self._closing.wait()
        except TimeoutError:
            self._failure = Timeout(
                f"MCP server {endpoint.name!r} did not greet in time", code="MCP_TIMEOUT"
            )
        except Exception as error:
            self._failure = _root(error)
        finally:
            self._client = None
            if not self._ready.done():
                self._ready.set_result(None)

    async def _watch(self, response: httpx2.Response) -> None:
        """By the specification, 404 for a request with a session id ends that session."""
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            self._session_gone = True

    async def ask(self, question: Callable[[Client], Awaitable[T]]) -> T:
        """Asks the server something; LineBroken when it certainly did not hear it, and another
        line may be tried."""
        self.in_flight += 1
        try:
            await asyncio.shield(self._ready)
            if self._client is None:
                raise self._unreachable()
            return await question(self._client)
        except TrunklineError:
            raise
        except Exception as error:
            raise await self._explained(error) from error
        finally:
            self.in_flight -= 1

    def _unreachable(self) -> Exception:
        """Why there is no client: it never came about, or the line was closed in the meantime."""
        if isinstance(self._failure, TrunklineError):
            return self._failure
        if self._failure is None:
            return LineBroken("the line was closed")
        return McpFailure(f"cannot connect to {self.endpoint.name!r}: {_words(self._failure)}")

    async def _explained(self, error: Exception) -> Exception:
        if self._session_gone and isinstance(error, MCPError) and error.code in _SESSION_GONE:
            return LineBroken("the server has forgotten the session")
        # A call learns that the line broke before the line's own task knows why.
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            await asyncio.wait({self._task}, timeout=_CAUSE_WAIT_S)
        cause = self._failure
        if isinstance(cause, TrunklineError):
            return cause
        if isinstance(cause, (httpx2.ConnectError, httpx2.ConnectTimeout)) and self.in_flight == 1:
            return LineBroken(_words(cause))
        return McpFailure(f"{self.endpoint.name!r} failed: {_words(cause or error)}")

    async def close(self) -> None:
        """Ends the line politely, and firmly if the server does not let go."""
        self._closing.set()
        grace_s = limits.CLOSE_GRACE_S if self._ready.done() else 0
        done, _ = await asyncio.wait({self._task}, timeout=grace_s)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task})
        if self._failure is not None:
            _log.debug("mcp line ended", server=self.endpoint.name, reason=_words(self._failure))


def _root(error: BaseException) -> BaseException:
    """The first real exception inside the groups that task groups wrap around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _words(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text[: limits.MCP_ERROR_CHARS_MAX]
