"""`mcp_call` and `mcp_tools`: the tools of remote MCP servers, over pooled connections.

One connection a server record, opened at first use by the official SDK, closed when idle, opened
anew once when it broke before a call ran. A call that may have run is never made twice. Imported at
first use: the SDK takes a second to load, which a control plane without MCP servers need not spend.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
import msgspec
import structlog
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult, TextContent

from trunkline import limits
from trunkline.control.errors import LimitReached, Timeout, TrunklineError, Unavailable
from trunkline.control.records.fields import checked_object, checked_text
from trunkline.control.services.address_guard import AddressGuard
from trunkline.control.services.guarded_http import GuardedTransport
from trunkline.control.services.mcp_servers import Endpoint, McpServers

_log = structlog.get_logger()
T = TypeVar("T")
Question = Callable[[Client], Awaitable[T]]
_ATTEMPTS = 2
_CAUSE_WAIT_S = 0.25
# JSON-RPC codes with which servers say that they no longer know the session.
_SESSION_GONE = (-32600, -32601, -32001)
_TOOL_FIELDS = {"name", "description", "input_schema", "annotations"}


class _Broken(Exception):
    """The connection is unusable, and the call has certainly not run: it may be made again."""


class McpFailure(Unavailable):
    """The server, or the tool itself, answered with an error."""

    code = "MCP_ERROR"
    status = 502


class PoolLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What bounds a pool."""

    idle_s: float = 300.0  # a connection that nobody uses is closed
    connect_timeout_s: float = limits.MCP_CONNECT_TIMEOUT_S  # TCP, TLS and the protocol's greeting
    connections_max: int = 200  # over all servers
    result_bytes_max: int = 8 * limits.MIB
    tools_max: int = 1_000  # of one server, over all pages of its list


_LIMITS = PoolLimits()


class _Connection:
    """One session with a server, held open for many calls.

    The SDK's client has to be entered and left in one task, and a failing transport cancels that
    task; so each connection has a task of its own, and callers only see this object.
    """

    def __init__(self, endpoint: Endpoint, guard: AddressGuard, bounds: PoolLimits) -> None:
        self.endpoint = endpoint
        self.in_flight = 0
        self._guard = guard
        self._limits = bounds
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
        """Whether the record still says what this connection was opened with."""
        same = self.endpoint.url == endpoint.url and self.endpoint.headers == endpoint.headers
        return same and self.endpoint.server_id == endpoint.server_id

    async def _run(self) -> None:
        endpoint, bounds = self.endpoint, self._limits
        http = httpx2.AsyncClient(
            transport=GuardedTransport(self._guard, bounds.result_bytes_max),
            headers={**endpoint.headers, "accept-encoding": "identity"},
            # Reading has no limit of its own: each call has, and an idle stream is no failure.
            timeout=httpx2.Timeout(bounds.connect_timeout_s, read=None),
            event_hooks={"response": [self._watch]},
            trust_env=False,
        )
        transport = streamable_http_client(
            endpoint.url, http_client=http, max_sse_event_size=bounds.result_bytes_max
        )
        try:
            async with asyncio.timeout(bounds.connect_timeout_s) as deadline:
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

    async def ask(self, question: Question[T]) -> T:
        """Asks the server something. Raises _Broken when the request certainly did not arrive, so
        that another connection may be tried."""
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
        """Why there is no client: it could not connect, or was closed in the meantime."""
        if isinstance(self._failure, TrunklineError):
            return self._failure
        if self._failure is None:
            return _Broken("the connection was closed")
        return McpFailure(f"cannot connect to {self.endpoint.name!r}: {_words(self._failure)}")

    async def _explained(self, error: Exception) -> Exception:
        if self._session_gone and isinstance(error, MCPError) and error.code in _SESSION_GONE:
            return _Broken("the server has forgotten the session")
        # A call learns that the connection broke before the connection's own task knows why.
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            await asyncio.wait({self._task}, timeout=_CAUSE_WAIT_S)
        cause = self._failure
        if isinstance(cause, TrunklineError):
            return cause
        if isinstance(cause, (httpx2.ConnectError, httpx2.ConnectTimeout)) and self.in_flight == 1:
            return _Broken(_words(cause))
        return McpFailure(f"{self.endpoint.name!r} failed: {_words(cause or error)}")

    async def close(self) -> None:
        """Closes the connection; cancels its task when the server does not close in time."""
        self._closing.set()
        grace_s = limits.CLOSE_GRACE_S if self._ready.done() else 0
        done, _ = await asyncio.wait({self._task}, timeout=grace_s)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task})
        if self._failure is not None:
            _log.debug(
                "mcp connection ended", server=self.endpoint.name, reason=_words(self._failure)
            )


class McpPool:
    """The connections that are open, at most one a server record."""

    def __init__(
        self, servers: McpServers, guard: AddressGuard, bounds: PoolLimits = _LIMITS
    ) -> None:
        self._servers = servers
        self._guard = guard
        self._limits = bounds
        # Least recently used first.
        self._open: dict[str, _Connection] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        # These log URLs and session ids, which may be secrets, below the level of a warning.
        for name in ("httpx2", "httpcore2", "mcp.client.streamable_http"):
            logging.getLogger(name).setLevel(logging.WARNING)
        servers.on_change(self.forget)

    @property
    def size(self) -> int:
        """How many connections are open."""
        return len(self._open)

    async def call(
        self, org_id: str, user_id: str, server: str, tool: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """The tool's result as MCP defines it, within the server's own time limit."""
        checked_text(tool, "tool", limits.NAME_CHARS_MAX)
        checked_object(arguments, "arguments", limits.FRAME_BYTES_MAX)
        result = await self._ask(
            await self._servers.endpoint(org_id, user_id, server),
            lambda client: client.call_tool(tool, arguments),
        )
        if result.is_error:
            raise McpFailure(_error_text(result))
        return result.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude={"meta", "result_type"}
        )

    async def tools(self, org_id: str, user_id: str, server: str) -> list[dict[str, Any]]:
        """What the server offers: `{name, description, inputSchema, annotations}` of each tool."""
        return await self.tools_of(await self._servers.endpoint(org_id, user_id, server))

    async def tools_of(self, endpoint: Endpoint) -> list[dict[str, Any]]:
        return await self._ask(endpoint, lambda client: _list_tools(client, self._limits))

    async def _ask(self, endpoint: Endpoint, question: Question[T]) -> T:
        try:
            async with asyncio.timeout(endpoint.timeout_s):
                return await self._ask_connection(endpoint, question)
        except TimeoutError as error:
            raise Timeout(
                f"MCP server {endpoint.name!r} did not answer within {endpoint.timeout_s:g} s",
                code="MCP_TIMEOUT",
            ) from error

    async def _ask_connection(self, endpoint: Endpoint, question: Question[T]) -> T:
        for _ in range(_ATTEMPTS):
            connection = self._connection(endpoint)
            try:
                return await connection.ask(question)
            except _Broken as error:
                reason = str(error)
            finally:
                self._rest(connection)
        raise McpFailure(f"cannot connect to {endpoint.name!r}: {reason}")

    def _connection(self, endpoint: Endpoint) -> _Connection:
        key = endpoint.server_id
        self._stop_timer(key)
        connection = self._open.pop(key, None)
        if connection is not None and not (connection.is_usable and connection.is_for(endpoint)):
            self._end(connection)
            connection = None
        if connection is None:
            self._make_room()
            connection = _Connection(endpoint, self._guard, self._limits)
        self._open[key] = connection
        return connection

    def _make_room(self) -> None:
        if len(self._open) < self._limits.connections_max:
            return
        idle = next(
            (key for key, connection in self._open.items() if not connection.in_flight), None
        )
        if idle is None:
            raise LimitReached("too many MCP servers are being called at once")
        self._drop(idle)

    def _rest(self, connection: _Connection) -> None:
        """After a call: drops a broken connection, starts the timer of an idle one."""
        key = connection.endpoint.server_id
        if self._open.get(key) is not connection or connection.in_flight:
            return
        if not connection.is_usable:
            self._drop(key)
            return
        self._stop_timer(key)
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(self._limits.idle_s, self._drop_idle, key)

    def _drop_idle(self, key: str) -> None:
        connection = self._open.get(key)
        if connection is not None and not connection.in_flight:
            self._drop(key)

    def forget(self, server_id: str) -> None:
        """The record is changed or gone: its connection ends at once."""
        if server_id in self._open:
            self._drop(server_id)

    def _drop(self, key: str) -> None:
        self._stop_timer(key)
        self._end(self._open.pop(key))

    def _stop_timer(self, key: str) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _end(self, connection: _Connection) -> None:
        task = asyncio.create_task(connection.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        for key in list(self._open):
            self._drop(key)
        if self._ending:
            await asyncio.wait(set(self._ending))


def _root(error: BaseException) -> BaseException:
    """The first real exception inside the groups that task groups wrap around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _words(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text[: limits.MCP_ERROR_CHARS_MAX]


async def _list_tools(client: Client, bounds: PoolLimits) -> list[dict[str, Any]]:
    """All pages of the list. A list without end is refused like one that is too large."""
    tools: list[dict[str, Any]] = []
    size, cursor = 0, None
    for _ in range(bounds.tools_max):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            fields = tool.model_dump(
                mode="json", by_alias=True, exclude_none=True, include=_TOOL_FIELDS
            )
            tools.append(fields)
            size += len(msgspec.json.encode(fields))
        if len(tools) > bounds.tools_max or size > bounds.result_bytes_max:
            break
        cursor = page.next_cursor
        if not cursor:
            return tools
    raise McpFailure(
        f"the server lists more than {bounds.tools_max} tools or"
        f" {bounds.result_bytes_max} bytes of them"
    )


def _error_text(result: CallToolResult) -> str:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return ("\n".join(texts) or "the tool failed and gave no reason")[: limits.MCP_ERROR_CHARS_MAX]
