"""Starting, pinning, watching and ending the processes of a run, and nothing but those.

Every child is pinned before it runs its first instruction, so that its threads are pinned too.
"""

import os
import resource
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.budgets import SERVER_START_S_MAX, SERVER_STOP_S_MAX

LOG_TAIL_CHARS = 1500
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


class StartError(Exception):
    """A server of a side did not come up."""


def pinned(core: int) -> Callable[[], None]:
    """For `preexec_fn`: one core, and as many open files as allowed."""

    def prepare() -> None:
        os.sched_setaffinity(0, _cores(core))
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    return prepare


def pin(pid: int, core: int) -> None:
    """One that runs already, with what it has started."""
    for one in (pid, *_children(pid)):
        os.sched_setaffinity(one, _cores(core))


def _cores(core: int) -> set[int]:
    """That one, where it may be used."""
    allowed = os.sched_getaffinity(0)
    return {core} & allowed or allowed


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Server:
    """One server process on the servers' core, with its log in its own folder."""

    def __init__(
        self, command: list[str], folder: Path, core: int, env: Mapping[str, str] | None = None
    ) -> None:
        self._log = folder / "server.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=None if env is None else dict(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=pinned(core),
            )

    def wait_ready(self, url: str, look_s: float = 0.05) -> None:
        """Until any answer below 500 comes, or the server ends, or its time is over."""
        until = time.monotonic() + SERVER_START_S_MAX
        while time.monotonic() < until:
            if self._process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(url, timeout=2):
                    return
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    return
            except OSError:
                pass
            time.sleep(look_s)
        tail = self.log_tail()
        self.stop()
        raise StartError(f"no answer from the server; its last words: {tail}")

    def log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-LOG_TAIL_CHARS:]

    def stop(self) -> None:
        if self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(SERVER_STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(SERVER_STOP_S_MAX)

    def kill(self) -> None:
        """As a crash would, in the middle of whatever it does."""
        self._process.kill()
        self._process.wait(SERVER_STOP_S_MAX)

    def rss_kib(self) -> int:
        """Of the process and its children: nginx does its work in one."""
        return sum(_statm_kib(pid) for pid in (self.pid, *_children(self.pid)))

    @property
    def pid(self) -> int:
        return self._process.pid


def _statm_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_KIB


def cpu_s(pids: list[int]) -> float:
    """Processor time that these processes and what they started have used so far, all threads."""
    return sum(_cpu_s(pid) for pid in pids)


def _cpu_s(pid: int) -> float:
    """What its children have used goes over to it when they end."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = _children(pid)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS_PER_S + cpu_s(children)


def _children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
