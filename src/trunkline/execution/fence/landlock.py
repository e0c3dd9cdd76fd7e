"""Landlock: the kernel's fence around the files, signals and ports of a thread.

Three system calls, the same numbers on every architecture. What a thread is confined by holds for
all that it starts, for ever; another layer can only take more away. Rules are bound to what a path
is when it is named, so folders are made first.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_CONNECT_TCP = 1 << 1
_SCOPE_ABSTRACT, _SCOPE_SIGNAL = 1 << 0, 1 << 1
_ABI_REFER, ABI_TRUNCATE, _ABI_PORTS, _ABI_IOCTL, ABI_SCOPES = 2, 3, 4, 5, 6
ABI_KNOWN = ABI_SCOPES  # newer ones add what is not used here

_FS_FIRST = (1 << 13) - 1  # what the first version knows
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
"""Rights that a file can have; the others are a folder's."""

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Which version this kernel has; 0 for none. Asked, never guessed from files."""
    found = int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG)))
    return max(found, 0)


class Ruleset:
    """What is allowed; all else of what it handles is not. Closed when it was applied."""

    def __init__(self, version: int, *, files: bool = True, ports: bool = False) -> None:
        """`files`: whether these are confined at all. `ports`: whether no port of TCP is connected
        to. Signals and abstract sockets are confined wherever the kernel can. Raises OSError."""
        self._handled = _handled_files(version) if files else 0
        net = _CONNECT_TCP if ports and version >= _ABI_PORTS else 0
        scoped = _SCOPE_ABSTRACT | _SCOPE_SIGNAL if version >= ABI_SCOPES else 0
        words = [self._handled]
        if version >= _ABI_PORTS:
            words.append(net)
        if version >= ABI_SCOPES:
            words.append(scoped)
        attributes = struct.pack(f"={len(words)}Q", *words)
        self._handle = _checked(
            _libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
        )

    def allow_reading(self, paths: Iterable[str], *, is_real: bool = False) -> None:
        """`is_real`: nothing for a path with a link in it."""
        for path in paths:
            self._allow(path, _READ, is_real=is_real)

    def allow_listing(self, paths: Iterable[str]) -> None:
        """The names in them, and in folders below."""
        for path in paths:
            self._allow(path, _READ_DIR)

    def allow_writing(self, paths: Iterable[str]) -> None:
        """All that can be done with files, but no devices are made. Nothing for a path with a link
        in it: whoever writes beside it may have put that there."""
        for path in paths:
            self._allow(path, self._handled & ~(_MAKE_CHAR | _MAKE_BLOCK), is_real=True)

    def allow_devices(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._allow(path, self._handled & ~(_MAKE_CHAR | _MAKE_BLOCK))

    def _allow(self, path: str, rights: int, *, is_real: bool = False) -> None:
        """Nothing where there is nothing: a path that is not there cannot be named later."""
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if is_real and os.readlink(f"/proc/self/fd/{handle}") != path:  # noqa: PTH115
                return
            self._add(struct.pack("=Qi", rights & self._handled, handle))
        except OSError as error:
            if error.errno == errno.EBADFD:
                return  # a pipe or the like, which is no file
            if error.errno != errno.EINVAL:
                raise
            files = rights & self._handled & _OF_FILES
            self._add(struct.pack("=Qi", files, handle))
        finally:
            os.close(handle)

    def _add(self, rule: bytes) -> None:
        _checked(_libc.syscall(_ADD, self._handle, _PATH_BENEATH, rule, ctypes.c_uint32(0)))

    def apply(self) -> None:
        """To the calling thread, and to all that it starts. Raises OSError."""
        try:
            _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
            _checked(_libc.syscall(_RESTRICT, self._handle, ctypes.c_uint32(0)))
        finally:
            self.close()

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _handled_files(version: int) -> int:
    known = _FS_FIRST
    for since, right in (
        (_ABI_REFER, _REFER),
        (ABI_TRUNCATE, _TRUNCATE),
        (_ABI_IOCTL, _IOCTL_DEV),
    ):
        if version >= since:
            known |= right
    return known


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
