"""One local MCP server of one session: started when it is needed, started again when it died.

The SDK's client has to be entered and left in one task, and a transport that fails cancels that
task; so each run of the server has a task of its own, and callers only see this object.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import structlog
from mcp import Client

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.mcp.servers import LocalServer
from trunkline.execution.mcp.stdio import stdio_transport
from trunkline.execution.tools.base import Json
from trunkline.execution.tools.excerpt import shortened

_log = structlog.get_logger()
T = TypeVar("T")


class LocalMcp:
    """`env` is the scrubbed one; what only this server may know is in its record."""

    def __init__(self, server: LocalServer, env: Mapping[str, str], cwd: Path) -> None:
        self.name = server.name
        self._server = server
        self._env = env
        self._cwd = cwd
        self._run: _Run | None = None
        self._closed = False

    async def tools(self) -> list[Json]:
        """What the server offers, as MCP describes tools. Raises ToolError."""
        run = await self._running()
        return await self._bounded(run, _listed(await run.client()))

    async def call(self, tool: str, arguments: Json) -> Any:
        """The tool's result, as JSON. A call that may have run is never made twice."""
        run = await self._running()
        client = await run.client()
        result = await self._bounded(run, client.call_tool(tool, arguments))
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def close(self) -> None:
        self._closed = True
        if self._run is not None:
            await self._run.close()

    async def _running(self) -> "_Run":
        last = self._run
        if last is not None and last.is_over:
            await last.ended()  # never two of one server
            if self._run is last:
                self._run = None
        if self._closed:
            raise ToolError(f"the MCP server {self.name!r} is closed")
        if self._run is None:
            self._run = _Run(self._server, self._env, self._cwd)
        return self._run

    async def _bounded(self, run: "_Run", work: Awaitable[T]) -> T:
        """Waits for an answer no longer than this server may take; failures come in words."""
        try:
            async with asyncio.timeout(self._server.timeout_s):
                return await work
        except TimeoutError as error:
            run.end()  # it hangs, or floods us: the next call gets a fresh one
            reason = f"did not answer within {self._server.timeout_s:g} s"
            raise ToolError(f"the MCP server {self.name!r} {reason}") from error
        except Exception as error:  # the SDK's, pydantic's, anyio's
            raise ToolError(f"the MCP server {self.name!r} failed: {_words(error)}") from error


async def _listed(client: Client) -> list[Json]:
    found: list[Json] = []
    cursor: str | None = None
    while len(found) < limits.MCP_TOOLS_OFFERED_MAX:
        page = await client.list_tools(cursor=cursor)
        found += [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools
        ]
        cursor = page.next_cursor
        if not cursor or not page.tools:
            break
    return found[: limits.MCP_TOOLS_OFFERED_MAX]


class _Run:
    """The server from its start to its end."""

    def __init__(self, server: LocalServer, env: Mapping[str, str], cwd: Path) -> None:
        self._server = server
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._hold(env, cwd), name=f"mcp {server.name}")

    @property
    def is_over(self) -> bool:
        return self._task.done() or self._over.is_set()

    async def client(self) -> Client:
        """Raises ToolError when the server did not come up."""
        return await asyncio.shield(self._ready)

    async def close(self) -> None:
        """Ends the server politely; one that has not greeted yet, at once."""
        if not self._ready.done():
            self._task.cancel()
        self.end()
        await self.ended()

    def end(self) -> None:
        self._over.set()

    async def ended(self) -> None:
        await asyncio.wait({self._task})

    async def _hold(self, env: Mapping[str, str], cwd: Path) -> None:
        reason = "it was closed"
        try:
            async with asyncio.timeout(limits.MCP_CONNECT_TIMEOUT_S) as deadline:
                transport = stdio_transport(self._server, env, cwd, on_end=self._over.set)
                async with Client(transport, cache=None) as client:
                    deadline.reschedule(None)
                    self._ready.set_result(client)
                    await self._over.wait()
        except TimeoutError:
            reason = f"it did not greet within {limits.MCP_CONNECT_TIMEOUT_S:g} s"
        except Exception as error:
            reason = _words(error)
        finally:
            _log.debug("mcp server ended", server=self._server.name, reason=reason)
            if not self._ready.done():
                text = f"the MCP server {self._server.name!r} cannot be used: {reason}"
                self._ready.set_exception(ToolError(text))
                self._ready.exception()  # seen, for there may be nobody who waits


def _words(error: BaseException) -> str:
    """The first real exception inside the groups that task groups wrap around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return shortened(str(error) or type(error).__name__, limits.MCP_ERROR_CHARS_MAX)
