"""A session played through in the fork server before there is a real one.

The first of everything loads, compiles and caches much in the libraries it goes through, and Python
rewrites code that has run some times. What is done here is shared by every session that is forked;
what is not, each would do again, in memory of its own. All of it is real but the model's words.
"""

import asyncio
import contextlib
import re
import socket
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.llm import lessons
from trunkline.execution.session import ipc
from trunkline.execution.session.semigraph_process import serve

_log = structlog.get_logger(__name__)

REHEARSAL_S_MAX = 10.0  # of a turn in the fork server; sessions work without it

_QUESTIONS = 2  # a session that goes on does more than one that begins
_FILE = "rehearsal.txt"
_LENGTH = re.compile(rb"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_NOTHING = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
_encode = msgspec.json.encode


def rehearse(times: int = 1, model: str = "gpt-rehearsal", parent: Path | None = None) -> None:
    """Leaves nothing behind, no thread either. Not to be called inside an event loop. `parent`:
    where its folder is made; by default where the system has such."""
    try:
        with tempfile.TemporaryDirectory(prefix="trunkline-", dir=parent) as folder:
            for _ in range(times):
                asyncio.run(_session(Path(folder), model))
    except Exception as error:
        # Sessions work without it, and take a little more of everything.
        _log.warning("no rehearsal", reason=repr(error))


async def _session(folder: Path, model: str) -> None:
    home = Home(folder)
    home.make()
    (home.workspace / _FILE).write_bytes(b"x")
    ours, theirs = socket.socketpair()
    daemon = await asyncio.open_connection(sock=ours, limit=limits.IPC_LINE_BYTES_MAX)
    session = await asyncio.open_connection(sock=theirs, limit=limits.IPC_LINE_BYTES_MAX)
    answers = iter((True, False) * _QUESTIONS)
    async with (
        asyncio.timeout(REHEARSAL_S_MAX),
        await asyncio.start_server(partial(_model_server, answers), "127.0.0.1", 0) as server,
        asyncio.TaskGroup() as tasks,
    ):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        start = ipc.Start(
            session_id="rehearsal",
            home=str(folder),
            agent_config={"model": model},
            llm_config={"providers": {name: {"base_url": url} for name in ("openai", "anthropic")}},
        )
        tasks.create_task(serve(*session, env={}))
        tasks.create_task(_daemon(*daemon, start))


async def _daemon(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, start: ipc.Start
) -> None:
    """Asks its questions, and hangs up after the last answer."""
    asked = ipc.UserMessage(data=ipc.UserMessageData(message="x"))
    writer.write(ipc.line(start))
    answers = 0
    while line := await reader.readline():
        match ipc.decode_up(line):
            case ipc.Ready():
                writer.write(ipc.line(asked) * _QUESTIONS)
            case ipc.Request(id=request_id, method=method):
                known: Json | None = None if method == lessons.METHOD else {}
                writer.write(ipc.line(ipc.Response(id=request_id, result=known)))
            case ipc.SseEvent(data=data) if '"execution_complete"' in data:
                answers += 1
                if answers == _QUESTIONS:
                    writer.close()
                    return
            case ipc.Error(message=message):
                raise RuntimeError(message)
            case ipc.SseEvent(data=data) if '"execution_error"' in data:
                raise RuntimeError(data)


async def _model_server(
    answers: Iterator[bool], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """For the two calls of each turn: a tool call, then words. It says nothing of its models."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = _LENGTH.search(head)
            await reader.readexactly(int(length[1]) if length else 0)
            if head.startswith(b"GET "):
                writer.write(_NOTHING)
                continue
            text = (_anthropic if b"/messages" in head else _openai)(next(answers, False))
            writer.write(_HEAD + b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text))
    writer.close()


def _openai(is_tool_call: bool) -> bytes:
    function = {"name": "read_file", "arguments": _encode({"path": _FILE}).decode()}
    if is_tool_call:
        delta = {"tool_calls": [{"index": 0, "id": "x", "function": function}]}
        choice = {"index": 0, "delta": delta, "finish_reason": "tool_calls"}
    else:
        choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}
    return b"data: %s\n\ndata: [DONE]\n\n" % _encode({"choices": [choice]})


def _anthropic(is_tool_call: bool) -> bytes:
    block: Json = {"type": "text", "text": "x"}
    if is_tool_call:
        block = {"type": "tool_use", "id": "x", "name": "read_file", "input": {"path": _FILE}}
    events: list[Json] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    texts = (b"event: %s\ndata: %s\n\n" % (one["type"].encode(), _encode(one)) for one in events)
    return b"".join(texts)
