"""What this system can do to confine a session: tried, in a process that is then gone."""

import ctypes
import errno
import os
import sys
from pathlib import Path

import msgspec

from trunkline.execution.fence import landlock, seccomp

_FILES, _CALLS = 1, 2
_UNSHARE_ANY = 0


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What works here."""

    landlock_abi: int = 0
    files: bool = False
    calls: bool = False
    is_root: bool = False
    why_not: str = ""
    """What stands in the way, where nothing works."""

    @property
    def signals(self) -> bool:
        return self.files and self.landlock_abi >= landlock.ABI_SCOPES

    @property
    def ports(self) -> bool:
        return self.files and self.landlock_abi >= landlock.ABI_PORTS


def look() -> Found:
    """Forks: to be called where this process has one thread. Takes some milliseconds."""
    is_root = os.geteuid() == 0 if hasattr(os, "geteuid") else False
    if sys.platform != "linux":
        return Found(is_root=is_root, why_not=f"{sys.platform} has nothing that is known here")
    version = landlock.abi()
    pid = os.fork()
    if pid == 0:
        os._exit(_tried(version))
    _, status = os.waitpid(pid, 0)
    works = os.waitstatus_to_exitcode(status)
    works = works if works in range(4) else 0
    return Found(
        landlock_abi=version,
        files=bool(works & _FILES),
        calls=bool(works & _CALLS),
        is_root=is_root,
        why_not="" if works & _FILES else _reason(version),
    )


def _reason(version: int) -> str:
    if version:
        return "the kernel has Landlock, and it does not hold"
    return "the kernel has no Landlock (Linux 5.13 or newer has, where it is switched on)"


def _tried(version: int) -> int:
    """In a process of its own: confined, it must not reach what it reached before."""
    works = 0
    try:
        if version:
            rules = landlock.Ruleset(version)
            rules.allow_reading(["/usr"])
            rules.apply()
            works |= _FILES if _is_refused("/etc/passwd") else 0
        machine = seccomp.machine()
        if machine is not None:
            seccomp.apply(seccomp.command_filter(machine, "off", keeps_sizes=True))
            works |= _CALLS if _ptrace_is_refused() else 0
    except BaseException:
        return works
    return works


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
