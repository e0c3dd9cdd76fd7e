"""The suite's handle on the generator process: one command out, one answer back, in bounded time.

The only part of this package that runs in the suite's own process.
"""

import os
import select
import subprocess
import sys
import time
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from bench.budgets import COMMAND_S_MAX, GENERATOR_CORE
from bench.commands import AnyResult, Command, Failed
from bench.processes import pinned

READ_BYTES = 1 << 20
STOP_S_MAX = 10.0
Result = TypeVar("Result")


class GeneratorError(Exception):
    """A command failed; the message says what the server or the generator did."""


class GeneratorClient:
    """A context manager around the process."""

    def __init__(self, core: int = GENERATOR_CORE) -> None:
        self._core = core
        self._decoder = msgspec.json.Decoder(AnyResult)
        self._process = self._started()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def ask(self, command: Command, expected: type[Result]) -> Result:
        """Send a command and wait for its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(command) + b"\n")
        self._process.stdin.flush()
        result = self._decoder.decode(self._read_line())
        if isinstance(result, Failed):
            raise GeneratorError(result.reason)
        if not isinstance(result, expected):
            raise GeneratorError(f"unexpected answer {result!r}")
        return result

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        until = time.monotonic() + COMMAND_S_MAX
        line = b""
        while not line.endswith(b"\n"):
            ready = select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]
            heard = os.read(fd, READ_BYTES) if ready else b""
            if not heard:
                # A late answer would be taken for that to the next command: start afresh.
                self._stop()
                self._process = self._started()
                raise GeneratorError("the generator ended or did not answer in time")
            line += heard
        return line

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "bench.generator"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=pinned(self._core),
        )

    def _stop(self) -> None:
        """Closing its input ends it, unless it hangs."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_S_MAX)
