"""A process and those below it: who belongs to whom, and how none is left running.

Used by the daemon, by the fork server and by sessions' tools. What only Linux has says so by its
result elsewhere; there process groups alone hold a family together.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil

IS_LINUX = sys.platform == "linux"

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_OOM_SCORE = b"300"
_KILL_ROUNDS_MAX = 5


def adopt_orphans() -> bool:
    """From now on a process below this one that loses its parent becomes our child."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def adopts() -> bool:
    """Whether this process is one that orphans below it come to."""
    found = ctypes.c_int(0)
    is_told = (
        IS_LINUX
        and ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(found), 0, 0, 0) == 0
    )
    return is_told and found.value == 1


def die_with(parent: int) -> None:
    """The kernel kills this process when its parent ends, however that ends."""
    if _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)  # it ended before the kernel was told to watch it


def end_with(parent: int) -> None:
    """As `die_with`, but this process is told to end, and ends first what it has started."""
    if _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def hide_memory() -> None:
    """Other programs of the same user may not look into this process: it holds a token."""
    _prctl(_PR_SET_DUMPABLE, 0)


def show_memory() -> None:
    """The opposite: for a process that is about to look into itself, as into one of its commands,
    and then ends."""
    _prctl(_PR_SET_DUMPABLE, 1)


def be_first_to_go() -> None:
    """When memory runs out, a session's process is ended before the daemon that serves them all."""
    if IS_LINUX:
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_bytes(_OOM_SCORE)


def oom_kills() -> int:
    """How often this machine has killed a process to get its memory."""
    if not IS_LINUX:
        return 0
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def children() -> set[int]:
    """The direct children of this process, those that ended and were not reaped yet included."""
    return {child.pid for child in psutil.Process().children()}


def is_in_our_session(pid: int) -> bool:
    """Whether it is in this process's kernel session. Nobody can join one from outside."""
    return _session_of(pid) == os.getsid(0)


def kill(pid: int) -> None:
    """SIGKILL, if it is there. Until we reap a child of ours, its number is nobody else's."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_group(leader: int) -> None:
    """Ends the leader's whole kernel session at once. A program that made one of its own escapes.

    The group is killed in one step. A shell with job control puts its background jobs in groups of
    their own, which share the session: those are looked for, again while any is found, because
    one may have forked in between.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for _ in range(_KILL_ROUNDS_MAX):
        members = session_members(leader)
        for pid in members:
            kill(pid)
        if not members:
            return


def end_strays(own: set[int]) -> bool:
    """Kills and reaps every child but `own`; True if there were any.

    What a stray leaves behind becomes our child in turn, so this is called until it says False.
    """
    strays = children() - own if IS_LINUX else set()
    for pid in strays:
        kill(pid)
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return bool(strays)


def session_members(leader: int) -> list[int]:
    """The processes of a kernel session, without those that have ended and wait to be reaped."""
    return [pid for pid in psutil.pids() if _session_of(pid) == leader and _is_running(pid)]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return False


def _prctl(option: int, value: int) -> bool:
    return IS_LINUX and ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0
