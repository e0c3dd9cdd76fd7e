"""What this system can do to confine a session: tried, in a process that is then gone."""

import ctypes
import errno
import os
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from trunkline.execution.fence import landlock, masks, seccomp
from trunkline.execution.fence.connects import Connects
from trunkline.execution.fence.profile import Mounts, Profile, private
from trunkline.execution.process import family

_FILES, _CALLS, _CONNECTS = 1, 2, 4
_TRIED_S_MAX = 5.0


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What works here."""

    landlock_abi: int = 0
    files: bool = False
    calls: bool = False
    connects: bool = False
    """Whether each `connect` of a command can be judged."""
    masks: bool = False
    """Whether folders can be hidden from a program that is not confined otherwise."""
    mounts: bool = False
    """Whether sessions can have mounts of their own (`masks.py`)."""
    counts: bool = False
    """Whether the kernel bounds how many processes a session has (`groups.py`)."""
    counts_memory: bool = False
    is_root: bool = False
    why_not: str = ""
    """What stands in the way, where nothing works."""

    @property
    def signals(self) -> bool:
        return self.files and self.landlock_abi >= landlock.ABI_SCOPES


def look(abi_max: int = landlock.ABI_KNOWN) -> Found:
    """Forks: to be called where this process has one thread. Takes some milliseconds. `abi_max`:
    as if the kernel knew no more of Landlock."""
    is_root = os.geteuid() == 0 if hasattr(os, "geteuid") else False
    if sys.platform != "linux":
        return Found(is_root=is_root, why_not=f"{sys.platform} has nothing that is known here")
    version = min(landlock.abi(), abi_max)
    works = _in_a_process(partial(_tried, version))
    return Found(
        landlock_abi=version,
        files=bool(works & _FILES),
        calls=bool(works & _CALLS),
        connects=bool(works & _CONNECTS),
        masks=bool(_in_a_process(_masks_hold)),
        mounts=bool(works & _FILES and _in_a_process(_mounts_hold)),
        is_root=is_root,
        why_not="" if works & _FILES else _reason(version),
    )


def _in_a_process(attempt: Callable[[], int]) -> int:
    """What it finds out, in a process that is then gone."""
    pid = os.fork()
    if pid == 0:
        os._exit(attempt())
    _, status = os.waitpid(pid, 0)
    works = os.waitstatus_to_exitcode(status)
    return works if works in range(8) else 0


def _masks_hold() -> int:
    try:
        masks.mask(["/etc"], ["/etc/ssl"])
        return not Path("/etc/passwd").exists()
    except BaseException:
        return 0


def _mounts_hold() -> int:
    """Of `/etc` alone a part is there, and what was not asked for cannot be written."""
    try:
        mounts = Mounts(hidden=["/etc"], kept=["/etc/ssl"], folders=["/usr"], private=private([]))
        masks.own(Profile(mounts=mounts, temp="/var"))
        is_closed = bool(os.statvfs("/").f_flag & os.ST_RDONLY)
        return is_closed and not Path("/etc/passwd").exists()
    except BaseException:
        return 0


def _reason(version: int) -> str:
    if version:
        return "the kernel has Landlock, and it does not hold"
    return "the kernel has no Landlock (Linux 5.13 or newer has, where it is switched on)"


def _tried(version: int) -> int:
    """In a process of its own: confined, it must not reach what it reached before."""
    works = 0
    try:
        family.show_memory()  # a daemon hides its own; a session reads that of commands
        machine = seccomp.machine()
        if machine is not None and _connects_are_judged(machine):
            works |= _CONNECTS
        if version:
            rules = landlock.Ruleset(version)
            rules.allow_reading(["/usr"])
            rules.apply()
            works |= _FILES if _is_refused("/etc/passwd") else 0
        if machine is not None:
            seccomp.apply(seccomp.command_filter(machine, "off", keeps_sizes=True))
            works |= _CALLS if _ptrace_is_refused() else 0
    except BaseException:
        return works
    return works


def _connects_are_judged(machine: str) -> bool:
    """One that is allowed must come about, and one elsewhere on the same port must not."""
    outcomes: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connects = Connects(Profile(network="list", proxy_port=port))

        def tried() -> None:
            packed = seccomp.command_filter(machine, "list", keeps_sizes=True)
            connects.answer(seccomp.apply_asking(packed))
            for host in ("127.0.0.1", "127.0.0.2"):
                with socket.socket() as one:
                    outcomes.append(one.connect_ex((host, port)))

        thread = threading.Thread(target=tried, daemon=True)
        thread.start()
        thread.join(_TRIED_S_MAX)
    return outcomes == [0, errno.EACCES]


def _is_refused(path: str) -> bool:
    try:
        Path(path).open("rb").close()
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def _ptrace_is_refused() -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    refused = libc.ptrace(0x4206, 1, None, None) < 0  # PTRACE_SEIZE of the first process
    return bool(refused) and ctypes.get_errno() in (errno.EPERM, errno.EACCES)
