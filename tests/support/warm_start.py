"""`trunkline` without the second that it takes to load: forked from a process that has loaded it.

`python -m tests.support.warm_start` is that process. It is told on its input what to run, one JSON
object a line, and answers with one line each; `Warm` is the handle on it. What runs in the fork is
the program itself, with the arguments, the environment and the files that it is given.
"""

import asyncio
import atexit
import functools
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.eventually import WAIT_S


class Warm:
    """The process that forks. One call at a time; each is answered at once, except for `wait`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_start"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        self._turn = threading.Lock()
        atexit.register(self._stop)

    def ask(self, **request: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._turn:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

    def _stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@functools.cache
def warm() -> Warm:
    """One for all tests of this process, started when it is first needed."""
    return Warm()


class WarmProcess:
    """A forked program, with what tests need of `asyncio.subprocess.Process`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ended: int | None = None

    @classmethod
    async def start(
        cls, arguments: Sequence[str], env: Mapping[str, str], log: Path
    ) -> "WarmProcess":
        return cls(
            await asyncio.to_thread(_started, arguments, env, Path.cwd(), os.devnull, log, log)
        )

    @property
    def returncode(self) -> int | None:
        """None while it runs."""
        if self._ended is None:
            self._ended = warm().ask(poll=self.pid)
        return self._ended

    async def wait(self) -> int:
        while self.returncode is None:
            await asyncio.sleep(0.01)
        assert self._ended is not None
        return self._ended

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(
    arguments: Sequence[str], env: Mapping[str, str], cwd: Path, text: str = ""
) -> "subprocess.CompletedProcess[str]":
    """As `subprocess.run`: a command to its end, with `text` as its input."""
    with tempfile.TemporaryDirectory() as folder:
        given, out, err = (Path(folder, name) for name in ("in", "out", "err"))
        given.write_text(text, encoding="utf-8")
        process = WarmProcess(_started(arguments, env, cwd, given, out, err))
        until = time.monotonic() + WAIT_S
        while process.returncode is None:
            if time.monotonic() > until:
                process.kill()
                raise AssertionError(f"{arguments} did not end within {WAIT_S:.0f} s")
            time.sleep(0.005)
        return subprocess.CompletedProcess(
            list(arguments),
            process.returncode,
            out.read_text(encoding="utf-8"),
            err.read_text(encoding="utf-8"),
        )


def _started(
    arguments: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    given: Path | str,
    out: Path,
    err: Path,
) -> int:
    """Its pid."""
    request = {"arguments": list(arguments), "env": dict(env), "cwd": str(cwd)}
    files = [str(given), str(out), str(err)]
    pid: int = warm().ask(start={**request, "files": files})
    return pid


def _load() -> None:
    import alembic.command
    import alembic.config  # noqa: F401 - what a first start loads to make its tables

    import trunkline.client
    import trunkline.control.server  # noqa: F401
    from trunkline.cli.tree import COMMANDS

    for place in COMMANDS.values():
        importlib.import_module(f"trunkline.cli.{place.module}")

    gc.collect()
    gc.freeze()


def _run(arguments: list[str], env: dict[str, str], cwd: str, files: list[str]) -> int:
    """In the fork: becomes the program; gives its exit code."""
    from trunkline.cli.main import main

    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, file in enumerate(files):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND if number else os.O_RDONLY
        os.dup2(os.open(file, flags, 0o600), number)
    sys.argv = ["trunkline", *arguments]
    # As in a terminal: what runs the tests may have been started in the background, without it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _fork(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        code = _run(**request)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _poll(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def main() -> None:
    _load()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = _fork(request["start"]) if "start" in request else _poll(request["poll"])
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
