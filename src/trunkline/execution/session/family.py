"""A process and those below it: who belongs to whom, and how nobody is left behind.

Used by the daemon, by the fork server and by sessions' tools. Linux only; elsewhere each function
says so by its result and the families are held together by process groups alone.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

IS_LINUX = sys.platform == "linux"

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_OOM_SCORE = b"300"


def adopt_orphans() -> bool:
    """From now on a process below this one that loses its parent becomes our child."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """The kernel kills this process when its parent ends, however that ends."""
    if _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)  # it ended before the kernel was told to watch it


def hide_memory() -> None:
    """Other programs of the same user may not look into this process: it holds a token."""
    _prctl(_PR_SET_DUMPABLE, 0)


def be_first_to_go() -> None:
    """When memory runs out, a session's process is ended before the daemon that serves them all."""
    if IS_LINUX:
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_bytes(_OOM_SCORE)


def children() -> set[int]:
    """The direct children of this process, the dead that nobody has reaped yet included."""
    if not IS_LINUX:
        return set()
    own = os.getpid()
    return {pid for pid in _all() if _parent(pid) == own}


def is_in_our_session(pid: int) -> bool:
    """Whether it is in this process's kernel session. Nobody can join one from outside."""
    try:
        return os.getsid(pid) == os.getsid(0)
    except OSError:
        return False


def kill(pid: int) -> None:
    """Only for our own children: until we reap one, its number is nobody else's."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def end_strays(own: set[int]) -> bool:
    """Kills and reaps every child but `own`; True if there were any.

    What a stray leaves behind becomes our child in turn, so this is called until it says False.
    """
    strays = children() - own
    for pid in strays:
        kill(pid)
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return bool(strays)


def oom_kills() -> int:
    """How often this machine has killed a process to get its memory."""
    if not IS_LINUX:
        return 0
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _prctl(option: int, value: int) -> bool:
    return IS_LINUX and ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0


def _all() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent(pid: int) -> int | None:
    try:
        text = Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The parent follows the state, which follows the program's name in parentheses.
    return int(text.rpartition(")")[2].split()[1])
