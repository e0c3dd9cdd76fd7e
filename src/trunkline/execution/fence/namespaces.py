"""Mounts of a process's own: the system calls for it, and nothing of what is hidden or why.

No root is needed where the system lets everybody make user namespaces. A user namespace has one
user, so root, who would lose there what it may do with files of others, makes none.
"""

import ctypes
import os
import stat
from pathlib import Path

from trunkline.execution.fence import capabilities

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _BIND, _REC, _SLAVE = (*(1, 2, 4, 4096, 16384), 1 << 19)
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_TREE_CLONE, _TREE_CLOEXEC = 1, 0o2000000
_AT_EMPTY_PATH, _AT_RECURSIVE = 0x1000, 0x8000
_FROM_EMPTY_PATH, _TO_EMPTY_PATH = 0x4, 0x40
_ATTR_READ_ONLY = 1
_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4

_libc = ctypes.CDLL(None, use_errno=True)


def enter(*, user: bool, ipc: bool = False) -> None:
    """Of this process, which has one thread, and of all that it starts. `user`: by a user namespace
    with this user. `ipc`: no System V shared memory is common either. Raises OSError."""
    kinds = _CLONE_NEWNS | (_CLONE_NEWUSER if user else 0) | (_CLONE_NEWIPC if ipc else 0)
    uid, gid = os.geteuid(), os.getegid()
    _checked(_libc.unshare(kinds))
    if user:
        _map(uid, gid)
    _mount("none", "/", flags=_REC | _SLAVE)  # what happens in there stays in there


def _map(uid: int, gid: int) -> None:
    """A process that hides its memory does not own what /proc has of it; for this moment it does
    not hide it."""
    was_dumpable = _libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
    _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    finally:
        _libc.prctl(_PR_SET_DUMPABLE, was_dumpable, 0, 0, 0)


def leave_as_is() -> None:
    """From now on nobody in there can change the mounts. Raises OSError."""
    capabilities.drop()
    if os.geteuid() != 0:
        capabilities.drop_all()


def folder_in_memory(path: str, options: str, *, is_read_only: bool = False) -> None:
    flags = _NO_SUID | _NO_DEVICES | (_READ_ONLY if is_read_only else 0)
    _mount("tmpfs", path, "tmpfs", flags, options)


def empty_file(path: str) -> None:
    _mount("/dev/null", path, flags=_BIND)


def clone(path: str) -> int:
    """A handle of what is there, with what is mounted in it. Raises OSError, also for a path with a
    link in it: whoever writes beside it may have put that there."""
    handle = opened(path)
    try:
        flags = _TREE_CLONE | _TREE_CLOEXEC | _AT_EMPTY_PATH | _AT_RECURSIVE
        return _checked(_libc.syscall(_OPEN_TREE, handle, b"", ctypes.c_uint(flags)))
    finally:
        os.close(handle)


def attach(cloned: int, target: int) -> None:
    """Over what `target` is a handle of. Raises OSError."""
    flags = ctypes.c_uint(_FROM_EMPTY_PATH | _TO_EMPTY_PATH)
    _checked(_libc.syscall(_MOVE_MOUNT, cloned, b"", target, b"", flags))


def opened(path: str) -> int:
    """A handle of just that, and of no link. Raises OSError."""
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    is_link = stat.S_ISLNK(os.fstat(handle).st_mode)
    if is_link or os.readlink(f"/proc/self/fd/{handle}") != path:  # noqa: PTH115
        os.close(handle)
        raise FileNotFoundError(f"{path} is somewhere else")
    return handle


def make_read_only(path: str, *, below: bool = False) -> None:
    """What is mounted there; `below`: with all that is mounted in it. Raises OSError."""
    attributes = (ctypes.c_uint64 * 4)(_ATTR_READ_ONLY, 0, 0, 0)
    flags = ctypes.c_uint(_AT_RECURSIVE if below else 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _checked(_libc.syscall(_MOUNT_SETATTR, -100, path.encode(), flags, attributes, size))


def _mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    given = [one.encode() if one else None for one in (source, target, kind)]
    _checked(_libc.mount(*given, ctypes.c_ulong(flags), options.encode() if options else None))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)
