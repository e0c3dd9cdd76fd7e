"""What root may beyond its files: given up by a session that runs as root.

Without this root reads the memory and environment of other processes past Landlock, raises its own
limits and changes the kernel. What is left is what installing and building in a folder needs.
"""

import ctypes
import os
import struct

_PR_CAPBSET_DROP = 24
_CAPSET = {"x86_64": 126, "aarch64": 91}
_VERSION_3 = 0x20080522
_LAST = 40
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service, net_raw, audit_write
_KEPT = (0, 1, 3, 4, 5, 6, 7, 10, 13, 29)

_libc = ctypes.CDLL(None, use_errno=True)


def drop() -> None:
    """Of the calling thread and all that it starts, for ever. Raises OSError. Nothing happens for
    a user that has none."""
    if os.geteuid() != 0:
        return
    for number in range(_LAST + 1):
        if number not in _KEPT:
            _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # unknown to an old kernel: not there
    _keep(sum(1 << number for number in _KEPT))


def drop_all() -> None:
    """What a user has in a user namespace of its own: until it starts another program. Raises
    OSError."""
    _keep(0)


def _keep(kept: int) -> None:
    low, high = kept & 0xFFFFFFFF, kept >> 32
    data = struct.pack("=6I", low, low, 0, high, high, 0)
    call = _CAPSET.get(os.uname().machine)
    if call is None:
        return
    if _libc.syscall(call, struct.pack("=Ii", _VERSION_3, 0), data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
