"""The warm fork server: imports once what sessions need, then makes a process of it for each.

A program of its own: `python -m trunkline.execution.process.fork_server FD MODULE:FUNCTION
LEVEL FORM`, where FD is its end of a socketpair with the daemon and the last two say how sessions
log. It has one thread and no event loop, because
it forks. Every process below a session that loses its parent ends up here and is killed; when the
daemon's end of the socketpair closes, everything is.
"""

import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import msgspec

from trunkline.execution import logs
from trunkline.execution.process import family

DEFAULT_TARGET = "trunkline.execution.session.semigraph_process:main"
_READ_BYTES = 64 * 1024
_STRAYS_PAUSE_S = 0.005

Target = Callable[[str], None]


class _Message(msgspec.Struct, tag_field="type", kw_only=True, omit_defaults=True):
    """JSON lines over the socketpair with the daemon."""


class Spawn(_Message, tag="spawn"):
    """A new process for a session, which connects to `socket_path`. `target`: another program than
    the server's own, `module:function`, which is imported in the new process."""

    id: int
    socket_path: str
    target: str = ""


class Kill(_Message, tag="kill"):
    """SIGKILL, by the only one who knows that this number is still that process."""

    pid: int


class Ready(_Message, tag="ready"):
    """Everything is imported. `threads` should be 1: a fork copies no other."""

    threads: int


class Failed(_Message, tag="failed"):
    """The target cannot be imported; the server ends."""

    message: str


class Spawned(_Message, tag="spawned"):
    id: int
    pid: int


class Refused(_Message, tag="refused"):
    """The machine has no room for another process."""

    id: int
    message: str


class Exited(_Message, tag="exited"):
    """A session's process has ended: one of the two says how."""

    pid: int
    exit_code: int | None = None
    signal: int | None = None


Down = Spawn | Kill
Up = Ready | Failed | Spawned | Refused | Exited

_decode_down: Callable[[bytes], Down] = msgspec.json.Decoder(Down).decode
decode_up: Callable[[bytes], Up] = msgspec.json.Decoder(Up).decode


def line(message: Down | Up) -> bytes:
    return msgspec.json.encode(message) + b"\n"


class ForkServer:
    """Serves one daemon until it is gone."""

    def __init__(self, daemon: socket.socket, target: Target) -> None:
        self._daemon = daemon
        self._target = target
        self._sessions: set[int] = set()
        self._unread = b""
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def serve(self) -> None:
        """Returns when the daemon is gone, and every process of ours with it."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._daemon, selectors.EVENT_READ, self._take)
            selector.register(self._woken, selectors.EVENT_READ, self._reap)
            try:
                while True:
                    for key, _ in selector.select():
                        key.data()
            except (EOFError, ConnectionError):
                self._end_all()

    def _take(self) -> None:
        data = self._daemon.recv(_READ_BYTES)
        if not data:
            raise EOFError
        *lines, self._unread = (self._unread + data).split(b"\n")
        for text in lines:
            message = _decode_down(text)
            if isinstance(message, Spawn):
                self._spawn(message)
            elif message.pid in self._sessions:
                family.kill(message.pid)

    def _tell(self, message: Up) -> None:
        self._daemon.sendall(line(message))

    def _spawn(self, request: Spawn) -> None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            self._tell(Refused(id=request.id, message=f"fork: {error.strerror}"))
            return
        if pid == 0:
            self._become_session(request, server)
        self._sessions.add(pid)
        self._tell(Spawned(id=request.id, pid=pid))

    def _become_session(self, request: Spawn, server: int) -> NoReturn:
        """In the new process: nothing of the server's stays but what it imported."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (self._daemon, self._woken, self._waker):
                end.close()
            os.setsid()
            family.die_with(server)
            # What this session orphans stays with it, so that we know whose it is.
            family.adopt_orphans()
            family.be_first_to_go()
            family.hide_memory()  # it will hold keys, and its tools run as the same user
            gc.enable()
            target = load(request.target) if request.target else self._target
            target(request.socket_path)
            status = 0
        except SystemExit as error:
            status = _status_of(error)
        except BaseException:
            traceback.print_exc()
        finally:
            # Not `sys.exit`: what the server registered for its own end is not ours to run.
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while self._woken.recv(_READ_BYTES):
                pass
        for pid, status in _ended_children():
            if pid in self._sessions:
                self._sessions.discard(pid)
                self._tell(_exit_of(pid, status))
                if not family.IS_LINUX:
                    family.kill_group(pid)
        # Living sessions keep their orphans, so what came to us was left by one that has ended.
        # Each stray's death wakes us again, with those that it leaves.
        family.end_strays(self._sessions)

    def _end_all(self) -> None:
        signal.set_wakeup_fd(-1)
        for pid in self._sessions:
            family.kill(pid)
        # Looked at again and again: whoever ends may leave us others, at any moment.
        while family.end_strays(set()):
            time.sleep(_STRAYS_PAUSE_S)


def _ended_children() -> list[tuple[int, int]]:
    ended = []
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended.append(found)
    return ended


def _exit_of(pid: int, status: int) -> Exited:
    if os.WIFSIGNALED(status):
        return Exited(pid=pid, signal=os.WTERMSIG(status))
    return Exited(pid=pid, exit_code=os.waitstatus_to_exitcode(status))


def _status_of(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def load(target: str) -> Target:
    """The function to run, when its module's `preload`, if it has one, is done."""
    module_name, _, function = target.partition(":")
    module = importlib.import_module(module_name)
    getattr(module, "preload", lambda: None)()
    found: Target = getattr(module, function)
    return found


def main(arguments: list[str]) -> int:
    handle, target_name, level, form = arguments
    logs.configure(json_logs=form == "json", level=level)
    daemon = socket.socket(fileno=int(handle))
    os.set_inheritable(daemon.fileno(), False)
    family.adopt_orphans()
    gc.disable()  # a collection would write to every page that the sessions share
    try:
        target = load(target_name)
    except Exception as error:
        traceback.print_exc()
        daemon.sendall(line(Failed(message=f"{type(error).__name__}: {error}")))
        return 1
    gc.collect()
    gc.freeze()
    server = ForkServer(daemon, target)
    with suppress(ConnectionError):
        daemon.sendall(line(Ready(threads=_threads())))
    server.serve()
    return 0


def _threads() -> int:
    return len(list(Path("/proc/self/task").iterdir())) if family.IS_LINUX else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
