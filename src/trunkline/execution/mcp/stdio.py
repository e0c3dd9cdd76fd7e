"""The pipes to a local MCP server, as a transport of the official SDK's client.

Unlike the SDK's own, it bounds a message, puts what the server says on its error output in the log,
and leaves nothing of the server's process group behind, however it ended.
"""

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from trunkline import limits
from trunkline.execution.mcp.servers import LocalServer
from trunkline.execution.process.family import kill_group
from trunkline.execution.process.programs import children
from trunkline.execution.tools.excerpt import shortened

_log = structlog.get_logger()


@asynccontextmanager
async def stdio_transport(
    server: LocalServer, env: Mapping[str, str], cwd: Path, on_end: Callable[[], None]
) -> AsyncIterator[TransportStreams]:
    """Starts the server; `on_end` is told when it stops talking, whyever. Raises OSError when it
    cannot be started."""
    process = await children.start(
        server.command,
        *server.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=cwd,
        env={**env, **server.env},
        limit=limits.MCP_LINE_BYTES_MAX,
        start_new_session=True,
    )
    up_send, up_receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    down_send, down_receive = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, up_send, server.name, on_end)
            tasks.start_soon(_write, process, down_receive)
            tasks.start_soon(_log_errors, process, server.name)
            try:
                yield up_receive, down_send
            finally:
                up_receive.close()
                down_send.close()
                with anyio.CancelScope(shield=True):
                    await _leave(process)
                tasks.cancel_scope.cancel()
    finally:
        kill_group(process.pid)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), limits.MCP_STOP_GRACE_S)
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


async def _log_errors(process: Process, name: str) -> None:
    assert process.stderr is not None
    for _ in range(limits.MCP_LOG_LINES_MAX):
        try:
            line = await process.stderr.readline()
        except ValueError:  # a line without end; what was read of it is dropped
            continue
        if not line:
            return
        text = line.decode(errors="replace").rstrip()
        _log.info("mcp server says", server=name, text=shortened(text, limits.LOG_VALUE_CHARS_MAX))
    _log.warning("mcp server says too much; the rest is not logged", server=name)
    while await process.stderr.read(limits.MIB):
        pass  # a full pipe would hold the server up


async def _leave(process: Process) -> None:
    """By the specification a server ends when its input does; this one is given a moment for it."""
    assert process.stdin is not None
    process.stdin.close()
    with anyio.move_on_after(limits.MCP_STOP_GRACE_S):
        await process.wait()
