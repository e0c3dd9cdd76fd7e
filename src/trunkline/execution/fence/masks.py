"""Folders that a program does not see, although it may write wherever its maker decided.

In a user and mount namespace of its own, as bubblewrap makes them: empty folders lie over what is
hidden, and on those, what the program needs of it. Nothing has to be installed, and no root; some
systems and most containers do not allow it, so it is tried first (`probe.py`).
"""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

from trunkline.execution.fence import capabilities

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT, _BIND, _REC, _SLAVE = (
    *(1, 2, 4, 32, 4096, 16384),
    1 << 19,
)
# ssh refuses what is included there and belongs to nobody that it knows, as root's files do inside.
_SSH_SNIPPETS = "/etc/ssh/ssh_config.d"

_libc = ctypes.CDLL(None, use_errno=True)


def mask(hidden: Sequence[str], kept: Sequence[str]) -> None:
    """Of this process, which has one thread, and of all that it starts. `kept`: what stays of
    what is hidden. Full paths without links. Raises OSError; then the process may see anything
    between all and nothing of it."""
    user, group = os.geteuid(), os.getegid()
    _checked(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount("none", "/", flags=_REC | _SLAVE)  # what happens in there stays in there
    there = [one for one in hidden if Path(one).is_dir()]
    files = [one for one in hidden if Path(one).is_file() and not _below(one, there)]
    folders = [one for one in there if not _below(one, there)]
    needed = [one for one in sorted(kept) if _below(one, folders) and Path(one).is_dir()]
    links = [(one, os.readlink(one)) for one in needed if Path(one).is_symlink()]  # noqa: PTH115
    handles = [(one, _opened(one)) for one in needed if not Path(one).is_symlink()]
    for folder in folders:
        _mount("tmpfs", folder, "tmpfs", _NO_SUID | _NO_DEVICES, "mode=0700,size=1m")
    for place, handle in handles:
        Path(place).mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{handle}", place, flags=_BIND | _REC)
        os.close(handle)
    for place, target in links:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).symlink_to(target)
    for folder in folders:
        _mount("none", folder, flags=_REMOUNT | _BIND | _READ_ONLY | _NO_SUID | _NO_DEVICES)
    for file in files:
        _mount("/dev/null", file, flags=_BIND)
    if Path(_SSH_SNIPPETS).is_dir():
        _mount("tmpfs", _SSH_SNIPPETS, "tmpfs", _READ_ONLY, "mode=0755,size=4k")
    capabilities.drop()  # whoever is root in there could take the masks off again


def _opened(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    given = [one.encode() if one else None for one in (source, target, kind)]
    _checked(_libc.mount(*given, ctypes.c_ulong(flags), options.encode() if options else None))


def _checked(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
