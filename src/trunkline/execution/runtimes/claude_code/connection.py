"""Claude Code as a child of the session's process: its lines both ways, and its end.

The control protocol runs on the same lines: questions of ours that it answers, and questions of
its own (`can_use_tool`, `mcp_message`, `hook_callback`), each in a task. What a line means is not
known here.
"""

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.process import family
from trunkline.execution.process.programs import children
from trunkline.execution.runtimes.claude_code import output
from trunkline.execution.runtimes.claude_code.command import KEY_PIPE
from trunkline.execution.runtimes.claude_code.output import Line, text_of
from trunkline.execution.runtimes.errors import ClaudeGone, ClaudeRefused
from trunkline.execution.texts import shortened

_log = structlog.get_logger(__name__)

LINE_BYTES_MAX = 32 * limits.MIB  # a tool's result may hold pictures
REQUESTS_MAX = 64  # of the program, at once
_ERRORS_KEPT_CHARS = 2_000  # of what it printed last beside its lines
_KEY_BYTES_MAX = 4_096
_PAUSE_S, _ROUNDS_MAX = 0.01, 100  # until what it left behind is gone
_CLOSE_S = 1.5  # to end by itself, once its input is closed
_WATCH_S = 0.5  # between two looks whether it has ended, although something holds its output

Take = Callable[[Line, bytes], Awaitable[None]]
Answer = Callable[[Json], Awaitable[Json]]


class Connection:
    """`take` gets every line that is no control message, as it was printed. `answer` gets what the
    program asks, and returns what is to be answered."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        take: Take,
        answer: Answer,
    ) -> None:
        self._process = process
        self._take = take
        self._answer = answer
        self._numbers = itertools.count(1)
        self._pending: dict[str, asyncio.Future[Json]] = {}
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._errors = ""
        self._is_killed = False
        self._tasks = [
            asyncio.create_task(self._read(), name="claude-lines"),
            asyncio.create_task(self._read_errors(), name="claude-errors"),
            asyncio.create_task(self._watch(), name="claude-process"),
        ]
        self.ended: asyncio.Future[ClaudeGone] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(
        cls,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        key: str,
        take: Take,
        answer: Answer,
    ) -> "Connection":
        """Raises OSError when the program cannot be started."""
        pipes = [_filled_pipe(key)] if key else []
        given = {**env, KEY_PIPE: str(pipes[0])} if pipes else dict(env)
        try:
            process = await children.start(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd,
                env=given,
                limit=LINE_BYTES_MAX,
                start_new_session=True,
                pass_fds=pipes,
            )
        finally:
            for pipe in pipes:
                os.close(pipe)
        return cls(process, take, answer)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return not self._is_killed and not self.ended.done()

    def send(self, message: Json) -> None:
        """One line down; to a program that is gone, nothing."""
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(msgspec.json.encode(message) + b"\n")

    async def ask(self, **request: Any) -> Json:
        """A control request of ours. Raises ClaudeRefused and ClaudeGone."""
        if self.ended.done():
            raise self.ended.result()
        request_id = f"trunkline-{next(self._numbers)}"
        future = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        try:
            self.send({"type": output.CONTROL, "request_id": request_id, "request": request})
            answer: Json = await future
            return answer
        finally:
            self._pending.pop(request_id, None)

    def kill(self) -> None:
        """At once, with everything that it started."""
        self._is_killed = True
        family.kill_group(self._process.pid)

    async def close(self) -> None:
        """Lets it end by itself for a moment; then as `kill`."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await asyncio.wait({self.ended}, timeout=_CLOSE_S)
        self.kill()
        await self.ended

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while text := await self._process.stdout.readline():
                line = output.read(text)
                if line is None:
                    _log.info("a line that is none", text=shortened(repr(text[:200]), 200))
                else:
                    await self._sort(line, text)
        except ValueError:
            self._errors += f"\na line of more than {LINE_BYTES_MAX} bytes"
        except Exception:
            _log.exception("lines of the program cannot be read")
        finally:
            await self._end()

    async def _sort(self, line: Line, text: bytes) -> None:
        match line.type:
            case output.ANSWER:
                self._settle(line)
            case output.CONTROL:
                self._begin_answer(line)
            case output.WITHDRAWN:
                if task := self._answering.get(text_of(line.request_id)):
                    task.cancel()
            case _:
                await self._take(line, text.rstrip(b"\r\n"))

    def _settle(self, line: Line) -> None:
        response = line.response if isinstance(line.response, dict) else {}
        future = self._pending.get(text_of(response.get("request_id")))
        if future is None or future.done():
            return
        if response.get("subtype") == "error":
            future.set_exception(ClaudeRefused(shortened(text_of(response.get("error")), 1_000)))
        else:
            answer = response.get("response")
            future.set_result(answer if isinstance(answer, dict) else {})

    def _begin_answer(self, line: Line) -> None:
        request_id = text_of(line.request_id)
        if not request_id or request_id in self._answering or not isinstance(line.request, dict):
            return
        if len(self._answering) >= REQUESTS_MAX:
            self._reply(request_id, error="too many questions at once")
            return
        task = asyncio.create_task(self._answered(request_id, line.request))
        self._answering[request_id] = task
        task.add_done_callback(lambda _: self._answering.pop(request_id, None))

    async def _answered(self, request_id: str, request: Json) -> None:
        try:
            self._reply(request_id, answer=await self._answer(request))
        except Exception as error:
            _log.exception("a question of the program was not answered")
            self._reply(request_id, error=f"{type(error).__name__}: {error}")

    def _reply(self, request_id: str, *, answer: Json | None = None, error: str = "") -> None:
        response: Json = {"subtype": "success", "request_id": request_id, "response": answer}
        if error:
            response = {"subtype": "error", "request_id": request_id, "error": error}
        self.send({"type": output.ANSWER, "response": response})

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while text := await self._process.stderr.read(_ERRORS_KEPT_CHARS):
            self._errors = (self._errors + text.decode(errors="replace"))[-_ERRORS_KEPT_CHARS:]

    async def _watch(self) -> None:
        """What a program has left behind may hold its output: then that has no end, and the loop
        does not tell of the program's. It ends here."""
        while self._process.returncode is None:  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(_WATCH_S)
        await self._end_family()
        if not self.ended.done() and self._process.stdout is not None:
            self._process.stdout.feed_eof()

    async def _end_family(self) -> None:
        self.kill()
        for _ in range(_ROUNDS_MAX):
            if not children.end_adopted():
                break
            await asyncio.sleep(_PAUSE_S)

    async def _end(self) -> None:
        """Its output is at its end: so is the program, and all that it left behind."""
        await self._end_family()
        code = await self._process.wait()
        await self._end_family()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tasks[1], 1.0)
        for task in list(self._answering.values()):
            task.cancel()
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        gone = ClaudeGone(how, self._errors.strip())
        for future in self._pending.values():
            if not future.done():
                future.set_exception(gone)
        self._tasks[2].cancel()
        # Who still holds its pipes, or an end of theirs that is not read yet, keeps them open.
        self._process._transport.close()  # type: ignore[attr-defined]
        self.ended.set_result(gone)


def _filled_pipe(text: str) -> int:
    """The end from which it can be read, once. A pipe holds more than any key is long."""
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, text.encode()[:_KEY_BYTES_MAX])
    finally:
        os.close(write_end)
    return read_end
