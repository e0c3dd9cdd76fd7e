"""One local MCP server of one session: started when it is needed, started again when it died.

The SDK's client has to be entered and left in one task, and a transport that fails cancels that
task; so each run of the server has a task of its own, and callers only see `LocalMcp`. Unlike the
SDK's own transport, ours bounds a message, puts what the server says on its error output in the
log, and leaves nothing of the server's process group behind, however it ended.
"""

import asyncio
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.mcp.servers import LocalServer
from trunkline.execution.process.family import kill_group
from trunkline.execution.process.programs import children
from trunkline.execution.texts import readable, shortened

_log = structlog.get_logger()

MCP_LINE_BYTES_MAX = 16 * limits.MIB  # one message of a local server
MCP_STOP_GRACE_S = 1.0  # for a local server whose input was closed
LAST_WORDS_LINES = 12  # of a local server's error output, told with its death
LAST_WORDS_CHARS = 1_000
LAST_WORDS_WAIT_S = 3.0  # until a server that stopped talking has ended
LAST_WORDS_DRAIN_S = 0.5
SECRET_CHARS_MIN = 6  # a shorter value of its environment is found everywhere
MCP_LOG_LINES_MAX = 200  # of one local server's error output, until it is started again
T = TypeVar("T")


class LocalMcp:
    """`env` is the scrubbed one; what only this server may know is in its record."""

    is_remote = False

    def __init__(self, server: LocalServer, env: Mapping[str, str], cwd: Path) -> None:
        self.name = server.name
        self.trust_hints = server.trust_hints
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
        """Waits for an answer no longer than this server may take; failures come in words, of a
        server that died its own last ones among them."""
        try:
            async with asyncio.timeout(self._server.timeout_s):
                return await work
        except TimeoutError as error:
            run.end()  # it hangs, or floods us: the next call gets a fresh one
            reason = f"did not answer within {self._server.timeout_s:g} s"
            raise ToolError(f"the MCP server {self.name!r} {reason}") from error
        except Exception as error:  # the SDK's, pydantic's, anyio's
            said = await run.last_words() if run.is_over else ""
            raise ToolError(
                f"the MCP server {self.name!r} failed: {_words(error)}{said}"
            ) from error


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
        self._errors: deque[str] = deque(maxlen=LAST_WORDS_LINES)
        self._process: Process | None = None
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

    async def last_words(self) -> str:
        """How it ended and what it wrote on its error output before; nothing that only it may
        know."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self.ended()), LAST_WORDS_WAIT_S)
        return self._last_words()

    def _last_words(self) -> str:
        code = self._process.returncode if self._process is not None else None
        how = "" if code is None else f" (it ended with {code})"
        text = "\n".join(self._errors)
        for value in self._server.env.values():
            if len(value) >= SECRET_CHARS_MIN:
                text = text.replace(value, "…")
        return f"{how}; its last words: {text[-LAST_WORDS_CHARS:]}" if text else how

    async def _hold(self, env: Mapping[str, str], cwd: Path) -> None:
        reason = "it was closed"
        try:
            async with asyncio.timeout(limits.MCP_CONNECT_TIMEOUT_S) as deadline:
                transport = stdio_transport(
                    self._server, env, cwd, on_end=self._over.set, on_start=self._started
                )
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
                said = self._last_words()
                text = f"the MCP server {self._server.name!r} cannot be used: {reason}{said}"
                self._ready.set_exception(ToolError(text))
                self._ready.exception()  # seen, for there may be nobody who waits

    def _started(self, process: Process) -> deque[str]:
        self._process = process
        return self._errors


def _words(error: BaseException) -> str:
    """The first real exception inside the groups that task groups wrap around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return shortened(str(error) or type(error).__name__, limits.MCP_ERROR_CHARS_MAX)


@asynccontextmanager
async def stdio_transport(
    server: LocalServer,
    env: Mapping[str, str],
    cwd: Path,
    on_end: Callable[[], None],
    on_start: Callable[[Process], deque[str]],
) -> AsyncIterator[TransportStreams]:
    """Starts the server; `on_end` is told when it stops talking, whyever, and `on_start` says where
    its error output goes. Raises OSError when it cannot be started."""
    process = await children.start(
        server.command,
        *server.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=cwd,
        env={**env, **server.env},
        limit=MCP_LINE_BYTES_MAX,
        start_new_session=True,
    )
    errors = on_start(process)
    up_send, up_receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    down_send, down_receive = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, up_send, server.name, on_end)
            tasks.start_soon(_write, process, down_receive)
            heard_out = anyio.Event()
            tasks.start_soon(_log_errors, process, server.name, errors, heard_out)
            try:
                yield up_receive, down_send
            finally:
                up_receive.close()
                down_send.close()
                with anyio.CancelScope(shield=True):
                    await _leave(process)
                    # Unless somebody else holds the pipe, all that it wrote is read.
                    with anyio.move_on_after(LAST_WORDS_DRAIN_S):
                        await heard_out.wait()
                tasks.cancel_scope.cancel()
    finally:
        kill_group(process.pid)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), MCP_STOP_GRACE_S)
        # A program that escaped its session may hold the pipes open, and they are only closed
        # here; nothing public lets go of them.
        process._transport.close()  # type: ignore[attr-defined]


async def _read(
    process: Process,
    out: MemoryObjectSendStream[SessionMessage | Exception],
    name: str,
    on_end: Callable[[], None],
) -> None:
    """Messages of the server, one a line. The stream's end tells the client that it is gone."""
    assert process.stdout is not None
    async with out:
        try:
            while line := await process.stdout.readline():
                await out.send(_message(line))
        except ValueError:
            _log.warning("mcp server sent a message that is too large", server=name)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # nobody listens any more
        finally:
            on_end()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(process: Process, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    async with messages:
        async for item in messages:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            with suppress(OSError):  # the server is gone, which the reading side reports
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()


async def _log_errors(
    process: Process, name: str, errors: deque[str], heard_out: anyio.Event
) -> None:
    """Into the log up to a bound; the newest lines are kept in any case."""
    assert process.stderr is not None
    logged = 0
    while True:
        try:
            line = await process.stderr.readline()
        except ValueError:  # a line without end; what was read of it is dropped
            continue
        if not line:
            heard_out.set()
            return
        text = shortened(line.decode(errors="replace").rstrip(), limits.LOG_VALUE_CHARS_MAX)
        if text:
            errors.append(readable(text))
        logged += 1
        if logged <= MCP_LOG_LINES_MAX:
            _log.info("mcp server says", server=name, text=text)
        elif logged == MCP_LOG_LINES_MAX + 1:
            _log.warning("mcp server says too much; the rest is not logged", server=name)


async def _leave(process: Process) -> None:
    """By the specification a server ends when its input does; this one is given a moment for it."""
    assert process.stdin is not None
    process.stdin.close()
    with anyio.move_on_after(MCP_STOP_GRACE_S):
        await process.wait()
