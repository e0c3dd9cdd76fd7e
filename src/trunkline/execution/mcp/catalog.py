"""The MCP tools of a session. Servers are asked in the background; a session does not wait for
them to be ready, and a server that cannot be asked now is asked again later."""

import asyncio
from collections.abc import Sequence

import structlog

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.mcp.tools import McpSource, tools_of
from trunkline.execution.tools.base import Tool

_log = structlog.get_logger()


class McpCatalog:
    """`problems` gets a line, for people, for each server that could not be asked."""

    def __init__(self, sources: Sequence[McpSource], problems: list[str]) -> None:
        self._sources = sources
        self._problems = problems
        self._found: dict[str, list[Tool]] = {}
        self._asking = {source.name: self._ask(source) for source in sources}
        self._first = set(self._asking.values())

    def tools(self) -> list[Tool]:
        """Those that are known by now, always in the same order."""
        return [tool for source in self._sources for tool in self._found.get(source.name, ())]

    async def settle(self, timeout_s: float = limits.MCP_SETTLE_S) -> None:
        """Before a turn: waits a little for servers that are being asked for the first time, and
        asks those again that failed, without waiting for them."""
        self._first = {task for task in self._first if not task.done()}
        if self._first:
            await asyncio.wait(self._first, timeout=timeout_s)
        for source in self._sources:
            if source.name not in self._found and self._asking[source.name].done():
                self._asking[source.name] = self._ask(source)

    async def close(self) -> None:
        tasks = set(self._asking.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await asyncio.gather(*(source.close() for source in self._sources))

    def _ask(self, source: McpSource) -> asyncio.Task[None]:
        return asyncio.create_task(self._list(source), name=f"tools of {source.name}")

    async def _list(self, source: McpSource) -> None:
        try:
            self._found[source.name] = await tools_of(source)
        except ToolError as error:
            _log.warning("mcp server cannot be asked", server=source.name, reason=str(error))
            if str(error) not in self._problems:
                self._problems.append(str(error))
