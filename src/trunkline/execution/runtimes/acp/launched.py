"""The process of an ACP agent: started in a kernel session of its own, ended with all it started.

Its errors are kept, the last lines of them, for people who ask why it ended. The pipes are ours:
the loop then sees a process end although programs that it left behind hold them.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import TurnError
from trunkline.execution.process.family import kill_group
from trunkline.execution.process.programs import children

ERROR_LINES_KEPT = 8
ERROR_LINE_CHARS_MAX = 300
STOP_S = 1.0  # between the end of its input and its own
DRAIN_S = 0.5  # for what it wrote before its end


class Launched:
    """Made by `start`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._errors: deque[str] = deque(maxlen=ERROR_LINES_KEPT)
        self.reader = asyncio.StreamReader(limit=limits.FRAME_BYTES_MAX)
        self._error_reader = asyncio.StreamReader(limit=64 * 1024)
        self._input = _Input()
        self._pipes: list[asyncio.BaseTransport] = []
        self._is_killed = False
        self._process: asyncio.subprocess.Process
        self._watching: asyncio.Task[None]

    @classmethod
    async def start(
        cls, name: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path
    ) -> "Launched":
        """Raises TurnError."""
        launched = cls(name)
        try:
            await launched._start(argv, env, cwd)
        except BaseException as error:
            launched._close_pipes()
            if not isinstance(error, OSError | ValueError):
                raise
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise TurnError(
                "RUNTIME_UNAVAILABLE",
                f"{argv[0]} cannot be started: {why}. Install it, or correct `acp` in the agent's "
                "configuration.",
            ) from error
        return launched

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None and not self._is_killed

    async def send(self, data: bytes) -> None:
        """Waits while it does not read. Raises ConnectionError."""
        await self._input.send(data)

    async def wait(self) -> None:
        """Until it has ended, and all that it wrote can be read."""
        await asyncio.shield(self._watching)

    def kill(self) -> None:
        self._is_killed = True
        kill_group(self._process.pid)

    async def close(self) -> None:
        """Its input ends, as it does for a program whose editor was closed; then it is killed."""
        self._input.close()
        await asyncio.wait({self._watching}, timeout=STOP_S)
        await self.ended()

    async def ended(self) -> str:
        """Kills what is left of it; how it ended, in words."""
        self.kill()
        await self.wait()
        children.reap_orphans()
        await children.end_all_adopted()  # what it left in kernel sessions of their own
        code = self._process.returncode or 0
        how = f"signal {_signal(-code)}" if code < 0 else f"exit code {code}"
        said = "\n".join(self._errors)
        return f"{self._name} ended ({how})" + (f": {said}" if said else "")

    async def _start(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        loop = asyncio.get_running_loop()
        with ExitStack() as theirs:  # the child has these ends then
            ends: list[tuple[int, int]] = []
            for _ in range(3):
                read_end, write_end = os.pipe()
                theirs.callback(os.close, read_end if not ends else write_end)
                ends.append((read_end, write_end))
            (stdin, ours_in), (ours_out, stdout), (ours_err, stderr) = ends
            into, _ = await loop.connect_write_pipe(
                lambda: self._input, os.fdopen(ours_in, "wb", buffering=0)
            )
            self._pipes.append(into)
            for reader, end in ((self.reader, ours_out), (self._error_reader, ours_err)):
                pipe, _ = await loop.connect_read_pipe(
                    partial(asyncio.StreamReaderProtocol, reader),
                    os.fdopen(end, "rb", buffering=0),
                )
                self._pipes.append(pipe)
            self._process = await children.start(
                *argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
            )
        self._watching = asyncio.create_task(self._watch(), name="an agent's process")

    async def _watch(self) -> None:
        errors = asyncio.create_task(self._read_errors())
        try:
            await self._process.wait()
            # The pipes are at their ends now, unless something that it left behind holds them.
            await asyncio.wait({errors}, timeout=DRAIN_S)
        finally:
            errors.cancel()
            self._close_pipes()

    async def _read_errors(self) -> None:
        while True:
            try:
                line = await self._error_reader.readline()
            except ValueError:  # a line beyond all bounds; the rest of it follows
                continue
            if not line:
                return
            if text := line.decode(errors="replace").strip():
                self._errors.append(text[:ERROR_LINE_CHARS_MAX])

    def _close_pipes(self) -> None:
        """What was read before stays to be taken, and then there is an end."""
        for pipe in self._pipes:
            pipe.close()
        self._input.close()


class _Input(asyncio.Protocol):
    """The end of a pipe that is written to."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._may_write.set()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    async def send(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)
            await self._may_write.wait()
        if self._transport is None:
            raise ConnectionResetError("the agent reads no more")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
