"""What an attempt to leave a fence is made of: its targets, what it calls, what came of it.

Runs inside of a fence, with no imports of ours.
"""

import ctypes
import errno
import os
from collections.abc import Callable
from pathlib import Path

REFUSALS = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV),
    *(errno.ENOSYS, errno.EAFNOSUPPORT),
)
libc = ctypes.CDLL(None, use_errno=True)
IS_ARM = os.uname().machine == "aarch64"

TARGETS: dict[str, str] = {}
ESCAPES: dict[str, Callable[[], object]] = {}


def escape(attempt: Callable[[], object]) -> Callable[[], object]:
    ESCAPES[attempt.__name__] = attempt
    return attempt


def at(name: str) -> Path:
    return Path(TARGETS[name])


def pid(name: str) -> int:
    return int(TARGETS[name])


def call(x86: int, arm: int, *arguments: object) -> int:
    result = libc.syscall(arm if IS_ARM else x86, *arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)


def outcome(attempt: Callable[[], object]) -> str:
    try:
        gained = attempt()
    except OSError as error:
        if error.errno == errno.ENOENT:
            return "not there"
        refused = error.errno in REFUSALS
        return "refused" if refused else f"failed: {error}"
    return f"gained: {gained!r}"[:200]
