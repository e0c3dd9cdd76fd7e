"""`mcp_call` and `mcp_tools`: the tools of remote MCP servers, over pooled lines.

One line a server record, opened at first use, closed when idle, opened anew once when it broke
before a call ran. A call that may have run is never made twice.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from mcp import Client
from mcp.types import CallToolResult, TextContent

from trunkline import limits
from trunkline.control.errors import LimitReached, Timeout
from trunkline.control.services.checks import checked_object, checked_text
from trunkline.control.services.mcp_line import LineBroken, McpFailure, McpLine
from trunkline.control.services.mcp_servers import Endpoint, McpServers
from trunkline.control.services.ssrf import AddressGuard

_ATTEMPTS = 2
_TOOL_FIELDS = {"name", "description", "input_schema", "annotations"}
T = TypeVar("T")


class McpPool:
    """`idle_s` is how long a line may be unused before it is closed."""

    def __init__(
        self, servers: McpServers, guard: AddressGuard, idle_s: float = limits.MCP_IDLE_S
    ) -> None:
        self._servers = servers
        self._guard = guard
        self._idle_s = idle_s
        # Least recently used first.
        self._lines: dict[str, McpLine] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        # These log URLs and session ids, which may be secrets, below the level of a warning.
        for name in ("httpx2", "httpcore2", "mcp.client.streamable_http"):
            logging.getLogger(name).setLevel(logging.WARNING)

    @property
    def size(self) -> int:
        """How many lines are open."""
        return len(self._lines)

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
        return await self._ask(await self._servers.endpoint(org_id, user_id, server), _list_tools)

    async def _ask(self, endpoint: Endpoint, question: Callable[[Client], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(endpoint.timeout_s):
                return await self._ask_line(endpoint, question)
        except TimeoutError as error:
            raise Timeout(
                f"MCP server {endpoint.name!r} did not answer within {endpoint.timeout_s:g} s",
                code="MCP_TIMEOUT",
            ) from error

    async def _ask_line(self, endpoint: Endpoint, question: Callable[[Client], Awaitable[T]]) -> T:
        for _ in range(_ATTEMPTS):
            line = self._line(endpoint)
            try:
                return await line.ask(question)
            except LineBroken as error:
                reason = str(error)
            finally:
                self._rest(line)
        raise McpFailure(f"cannot connect to {endpoint.name!r}: {reason}")

    def _line(self, endpoint: Endpoint) -> McpLine:
        key = endpoint.server_id
        self._stop_timer(key)
        line = self._lines.pop(key, None)
        if line is not None and not (line.is_usable and line.is_for(endpoint)):
            self._end(line)
            line = None
        if line is None:
            self._make_room()
            line = McpLine(endpoint, self._guard)
        self._lines[key] = line
        return line

    def _make_room(self) -> None:
        if len(self._lines) < limits.MCP_CONNECTIONS_MAX:
            return
        idle = next((key for key, line in self._lines.items() if not line.in_flight), None)
        if idle is None:
            raise LimitReached("too many MCP servers are being called at once")
        self._drop(idle)

    def _rest(self, line: McpLine) -> None:
        """After a call: a broken line goes, an idle one is given its time."""
        key = line.endpoint.server_id
        if self._lines.get(key) is not line or line.in_flight:
            return
        if not line.is_usable:
            self._drop(key)
            return
        self._stop_timer(key)
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(self._idle_s, self._drop_idle, key)

    def _drop_idle(self, key: str) -> None:
        line = self._lines.get(key)
        if line is not None and not line.in_flight:
            self._drop(key)

    def forget(self, server_id: str) -> None:
        """The record is gone: its line ends at once."""
        if server_id in self._lines:
            self._drop(server_id)

    def _drop(self, key: str) -> None:
        self._stop_timer(key)
        self._end(self._lines.pop(key))

    def _stop_timer(self, key: str) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _end(self, line: McpLine) -> None:
        task = asyncio.create_task(line.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        for key in list(self._lines):
            self._drop(key)
        if self._ending:
            await asyncio.wait(set(self._ending))


async def _list_tools(client: Client) -> list[dict[str, Any]]:
    """All pages of the list. A list without end is refused like one that is too large."""
    tools: list[dict[str, Any]] = []
    size, cursor = 0, None
    for _ in range(limits.MCP_TOOLS_MAX):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            fields = tool.model_dump(
                mode="json", by_alias=True, exclude_none=True, include=_TOOL_FIELDS
            )
            tools.append(fields)
            size += len(msgspec.json.encode(fields))
        if len(tools) > limits.MCP_TOOLS_MAX or size > limits.MCP_RESULT_BYTES_MAX:
            break
        cursor = page.next_cursor
        if not cursor:
            return tools
    raise McpFailure(
        f"the server lists more than {limits.MCP_TOOLS_MAX} tools or"
        f" {limits.MCP_RESULT_BYTES_MAX} bytes of them"
    )


def _error_text(result: CallToolResult) -> str:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return ("\n".join(texts) or "the tool failed and gave no reason")[: limits.MCP_ERROR_CHARS_MAX]
