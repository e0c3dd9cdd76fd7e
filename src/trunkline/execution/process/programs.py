"""Programs that a process of ours starts: run to their end within bounds, ended with all they left.

A session adopts what its commands leave behind (`family.py`), and the event loop waits only for
what was started here: the others are reaped by hand. What a program is for is its caller's.
"""

import asyncio
import codecs
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar, TypeVarTuple

import msgspec

from trunkline import limits
from trunkline.execution.process import family
from trunkline.execution.process.family import kill_group

COMMAND_OUTPUT_BYTES_MAX = (
    64 * limits.MIB
)  # read of one command, which is ended when it prints more
COMMAND_WATCH_S = 1.0  # between two looks at what a command uses
COMMAND_DRAIN_S = 0.5  # for output of a command that has ended, if something still holds the pipe

ENDING_ROUNDS_MAX = 200
ENDING_PAUSE_S = 0.01

_CHUNK_BYTES = 64 * 1024

_A = TypeVarTuple("_A")
_R = TypeVar("_R")


class Program(Protocol):
    """A program that was started here."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int: ...


class Confined(Protocol):
    """Whoever starts the commands of a session with less than the session may."""

    async def problem(self) -> str | None:
        """Why what runs must end now, if it must."""

    @property
    def limits_told(self) -> str:
        """What commands may reach, for whoever ran into it."""

    async def start(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """As `subprocess.Popen`. Raises OSError."""

    async def call(self, function: Callable[[*_A], _R], *arguments: *_A) -> _R:
        """In a thread that has no more files than commands have."""


class _Awaited:
    """A program that another thread of this process started; the loop is told of its end."""

    def __init__(self, started: subprocess.Popen[bytes], confined: Confined) -> None:
        self._started = started
        self._confined = confined
        self.ended_for = ""
        """Why it was ended for using too much."""
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._handle = os.pidfd_open(started.pid)
        self._loop.add_reader(self._handle, self._end)
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(COMMAND_WATCH_S)
            if problem := await self._confined.problem():
                self.ended_for = problem
                kill_group(self.pid)

    @property
    def pid(self) -> int:
        return self._started.pid

    @property
    def returncode(self) -> int | None:
        return self._started.returncode

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def _end(self) -> None:
        status = self._started.poll()
        if status is not None:
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
            self._watching.cancel()
            self._ended.set_result(status)


class Children:
    """Knows the programs that were started through it; their exit status is the loop's."""

    def __init__(self) -> None:
        self._started: set[Program] = set()
        self._starting = 0
        self.confined: Confined | None = None
        """Starts commands, where there is a fence."""

    async def start(self, *argv: str, **options: Any) -> asyncio.subprocess.Process:
        """As `asyncio.create_subprocess_exec`."""
        self._starting += 1
        try:
            process = await asyncio.create_subprocess_exec(*argv, **options)
            self._started.add(process)
        finally:
            self._starting -= 1
        return process

    async def start_command(self, argv: Sequence[str], **options: Any) -> Program:
        """A program that a session's agent chose, inside of the fence if there is one. It has no
        pipes of the loop's: its ends are descriptors."""
        if self.confined is None:
            return await self.start(*argv, **options)
        self._starting += 1
        try:
            process = _Awaited(await self.confined.start(argv, **options), self.confined)
            self._started.add(process)
        finally:
            self._starting -= 1
        return process

    async def call(self, function: Callable[[*_A], _R], *arguments: *_A) -> _R:
        """As `asyncio.to_thread`, for what a session's agent wants done with files: inside of the
        fence if there is one. What a path leads to may change after it was looked at."""
        if self.confined is None:
            return await asyncio.to_thread(function, *arguments)
        return await self.confined.call(function, *arguments)

    def reap_orphans(self) -> None:
        """Lets the dead go that nobody waits for; the living, and what was started here, stay."""
        self._started = {one for one in self._started if one.returncode is None}
        if self._starting:
            return  # a child without a name here may be one that is being started
        for pid in family.children() - {one.pid for one in self._started}:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def end_adopted(self) -> bool:
        """Kills what a program that was started here has left behind, where this process adopts
        such; True if there was any, which may leave others in turn."""
        if not family.adopts() or self._starting:
            return False
        return family.end_strays({one.pid for one in self._started})

    async def end_all_adopted(self) -> None:
        """Until there are none, or none can be got hold of: what dies leaves others to us."""
        for _ in range(ENDING_ROUNDS_MAX):
            if not self.end_adopted():
                return
            await asyncio.sleep(ENDING_PAUSE_S)


children = Children()
"""Of this process."""


async def ended(process: asyncio.subprocess.Process, within_s: float) -> None:
    """Waits for a program that was told to end; kills one that does not."""
    try:
        async with asyncio.timeout(within_s):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended. `exit_code` is negative for a signal, as in `subprocess`."""

    exit_code: int
    timed_out: bool
    flooded: bool
    """It printed more than it may, and was ended for that."""
    ended_for: str = ""
    """What else it used too much of, in words."""
    refused: str = ""
    """It failed, and spoke of a permission that it lacks, or the like: what it may do here."""


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float | None,
    take: Callable[[str], None],
    output_bytes_max: int = COMMAND_OUTPUT_BYTES_MAX,
    is_there: Callable[[], None] = lambda: None,
) -> Finished:
    """Runs it with no input; `take` gets what it prints, errors included, as it comes. `is_there`
    is called when it runs.

    When it ends, runs out of time or is cancelled, everything it started ends too, also what it
    left in the background. Raises OSError when the program cannot be started.
    """
    async with _output_pipe() as (reader, write_end):
        try:
            process = await children.start_command(
                argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        is_there()
        refusals = _Refusals(take)
        pump = asyncio.create_task(_pump(reader, refusals.take, output_bytes_max, process.pid))
        timed_out = False
        try:
            async with asyncio.timeout(timeout_s):
                await process.wait()
        except TimeoutError:
            timed_out = True
        except BaseException:
            pump.cancel()
            raise
        finally:
            kill_group(process.pid)
            await process.wait()
            if isinstance(process, _Awaited) and process.ended_for:
                await children.end_all_adopted()
            children.reap_orphans()
        # The pipe is at its end now, unless a program that escaped its session holds it open.
        await asyncio.wait({pump}, timeout=COMMAND_DRAIN_S)
        pump.cancel()
        await asyncio.wait({pump})
        flooded = not pump.cancelled() and pump.result()
    assert process.returncode is not None
    ended_for = process.ended_for if isinstance(process, _Awaited) else ""
    confined = children.confined
    was_refused = confined is not None and process.returncode != 0 and refusals.seen
    return Finished(
        exit_code=process.returncode,
        timed_out=timed_out,
        flooded=flooded,
        ended_for=ended_for,
        refused=confined.limits_told if confined is not None and was_refused else "",
    )


_REFUSED = re.compile(
    r"permission denied|operation not permitted|read-only file system|EACCES|EPERM|EROFS",
    re.IGNORECASE,
)
_ABSENT = re.compile("no such file", re.IGNORECASE)
_PERHAPS_OWN = re.compile(r"/tmp/|/dev/shm/")  # noqa: S108 - looked for, not used
"""Where a session may have a folder of its own, in which nothing is that others have there."""
_ABOUT_CHARS = 300  # before that, for the path


class _Refusals:
    """Hands on what is printed, and notes whether it speaks of a refusal."""

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._last = ""
        self.seen = False

    def take(self, text: str) -> None:
        if not self.seen:
            known = self._last + text  # a message may come in pieces
            self.seen = _REFUSED.search(known) is not None or _is_absent(known)
            self._last = known[-_ABOUT_CHARS:]
        self._take(text)


def _is_absent(text: str) -> bool:
    for found in _ABSENT.finditer(text):
        at = found.start()
        if _PERHAPS_OWN.search(text, max(0, at - _ABOUT_CHARS), at):
            return True
    return False


async def _pump(
    reader: asyncio.StreamReader, take: Callable[[str], None], bytes_max: int, leader: int
) -> bool:
    """Hands on what is printed, until the end or too much of it; says whether it was too much."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    count = 0
    while chunk := await reader.read(_CHUNK_BYTES):
        count += len(chunk)
        take(decoder.decode(chunk))
        if count > bytes_max:
            kill_group(leader)
            return True
    take(decoder.decode(b"", final=True))
    return False


@asynccontextmanager
async def _output_pipe() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """A pipe of our own: the loop then sees a process end although its children hold the pipe.

    The caller closes the write end.
    """
    read_end, write_end = os.pipe()
    reader = asyncio.StreamReader(limit=_CHUNK_BYTES)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
    )
    try:
        yield reader, write_end
    finally:
        transport.close()


def ending(finished: Finished, timeout_s: float) -> str:
    """How it ended, in words; empty for a command that simply succeeded."""
    if finished.timed_out:
        return f"ended after {timeout_s:g} s: it took too long"
    if finished.flooded:
        return "ended: it printed too much"
    if finished.ended_for:
        return f"ended: {finished.ended_for}"
    if finished.exit_code < 0:
        return f"ended by signal {_signal_name(-finished.exit_code)}"
    if finished.refused:
        return f"exit code {finished.exit_code}; {finished.refused}"
    return f"exit code {finished.exit_code}" if finished.exit_code else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
