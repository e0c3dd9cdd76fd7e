"""Seccomp: which system calls a thread may make, where Landlock has no say.

A filter is a small program for the kernel, put together here for x86-64 and arm64. What is refused
fails with EPERM, as if there were no right to it. It holds for all that the thread starts.
"""

import ctypes
import errno
import functools
import os
import platform
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

Network = Literal["open", "off", "list"]

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_LD, _JEQ, _JGE, _JSET, _AND, _RET = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _ERRNO, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_NR, _ARCH, _ARGS = 0, 4, 16
_X32 = 0x40000000  # a second numbering on x86-64, which nothing of ours uses

_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_TYPE_MASK, _STREAM, _SEQPACKET, _TCP = 0xF, 1, 5, 6
_MSG_FASTOPEN = 0x20000000
_TIOCSTI = 0x5412
_NAMESPACES = 0x7E020080  # every CLONE_NEW…

# Of the kernel, by name: x86-64, arm64. None where an architecture has no such call.
_NUMBERS: Final[Mapping[str, tuple[int, int | None]]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "ioperm": (173, None),
    "iopl": (172, None),
    "setns": (308, 268),
    "unshare": (272, 97),
    "clone": (56, 220),
    "clone3": (435, 435),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "ioctl": (16, 29),
    "prlimit64": (302, 261),
    "truncate": (76, 45),
    "connect": (42, 203),
    "listen": (50, 201),
}
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_NEVER = tuple(_NUMBERS)[: list(_NUMBERS).index("setns")]
"""What no program of a session has any business with: other processes' memory, the kernel's keys
and rings, mounts, modules, clocks."""

_Code = list[tuple[int, int, int, int]]


class _Filter:
    """A filter in the making."""

    def __init__(self, machine: str) -> None:
        self._column, architecture = _ARCHITECTURES[machine]
        self._code: _Code = [
            (_LD, 0, 0, _ARCH),
            (_JEQ, 1, 0, architecture),
            _refused(errno.ENOSYS),
            (_LD, 0, 0, _NR),
        ]
        if machine == "x86_64":
            self._code += [(_JGE, 0, 1, _X32), _refused(errno.ENOSYS)]

    def on(self, name: str, body: _Code) -> None:
        """What is done at that call: a body ends in a refusal, or falls through."""
        number = _NUMBERS[name][self._column]
        if number is not None:
            self._code += [(_JEQ, 0, len(body) + 1, number), *body, (_LD, 0, 0, _NR)]

    def refuse(self, names: Sequence[str], number: int = errno.EPERM) -> None:
        for name in names:
            self.on(name, [_refused(number)])

    def packed(self) -> bytes:
        code = [*self._code, (_RET, 0, 0, _ALLOW)]
        return b"".join(struct.pack("=HBBI", *one) for one in code)


def _refused(number: int = errno.EPERM) -> tuple[int, int, int, int]:
    return (_RET, 0, 0, _ERRNO | number)


def _argument(index: int) -> tuple[int, int, int, int]:
    return (_LD, 0, 0, _ARGS + 8 * index)


def _if_bits(index: int, mask: int) -> _Code:
    return [_argument(index), (_JSET, 0, 1, mask), _refused()]


def _unless(index: int, value: int) -> _Code:
    return [_argument(index), (_JEQ, 1, 0, value), _refused()]


@functools.cache
def session_filter(machine: str, *, guards: bool = False) -> bytes:
    """Of a session's own process, and of the MCP servers that it starts. `guards`: it connects the
    sockets of its commands, and takes hold of them for that (`connects.py`)."""
    made = _Filter(machine)
    made.refuse([name for name in _NEVER if not (guards and name == "pidfd_getfd")])
    return made.packed()


@functools.cache
def command_filter(
    machine: str, network: Network, *, keeps_sizes: bool, sockets: bool = False
) -> bytes:
    """Of the commands of a session. `keeps_sizes`: whether Landlock already guards against making
    files shorter by name. `sockets`: whether some of Unix may be connected to. With these, and with
    the network `list`, whoever applied it is asked at each `connect`: a filter does not see where
    that leads."""
    made = _Filter(machine)
    made.refuse(_NEVER)
    made.refuse(["setns"])
    made.refuse(["clone3"], errno.ENOSYS)  # its flags cannot be seen; libraries then use `clone`
    for name in ("unshare", "clone"):
        made.on(name, _if_bits(0, _NAMESPACES))
    made.on("socket", [*(_unix_sockets() if sockets else []), *_sockets(network)])
    made.on("socketpair", _pairs())
    made.on("ioctl", [_argument(1), (_JEQ, 0, 1, _TIOCSTI), _refused()])
    made.on("prlimit64", _unless(0, 0))
    if network == "list" or sockets:
        made.on("connect", [(_RET, 0, 0, _ASK)])
    if network == "list":
        made.refuse(["listen"])  # nor do others get in
        made.on("sendto", _if_bits(3, _MSG_FASTOPEN))
        made.on("sendmsg", _if_bits(2, _MSG_FASTOPEN))
        made.on("sendmmsg", _if_bits(3, _MSG_FASTOPEN))
    if not keeps_sizes:
        made.refuse(["truncate"])
    return made.packed()


def _unix_sockets() -> _Code:
    """Of the kinds that say nothing to anybody before they are connected."""
    return [
        _argument(0),
        (_JEQ, 0, 6, _AF_UNIX),
        _argument(1),
        (_AND, 0, 0, _TYPE_MASK),
        (_JEQ, 1, 0, _STREAM),
        (_JEQ, 0, 1, _SEQPACKET),
        (_RET, 0, 0, _ALLOW),
        _refused(),
    ]


def _sockets(network: Network) -> _Code:
    """Unix sockets lead to other programs of the same user, whatever Landlock says of files."""
    code: _Code = [
        _argument(0),
        (_JEQ, 0, 3, _AF_NETLINK),  # which tells addresses and routes, with the protocol 0 alone
        _argument(2),
        (_JEQ, 1, 0, 0),
        _refused(),
        _argument(0),
    ]
    if network == "off":
        return [*code, *_only_family(_AF_NETLINK)]
    code += _only_family(_AF_NETLINK, _AF_INET, _AF_INET6)
    if network == "open":
        return code
    tcp: _Code = [
        (_JEQ, 7, 0, _AF_NETLINK),
        _argument(1),
        (_AND, 0, 0, _TYPE_MASK),
        (_JEQ, 0, 3, _STREAM),
        _argument(2),
        (_JEQ, 2, 0, 0),
        (_JEQ, 1, 0, _TCP),
        _refused(),
    ]
    return code + tcp


def _only_family(*families: int) -> _Code:
    last = len(families) - 1
    return [(_JEQ, last - at + 1, 0, family) for at, family in enumerate(families)] + [_refused()]


def _pairs() -> _Code:
    """A datagram socket can be sent elsewhere than to its other end."""
    return [
        _argument(1),
        (_AND, 0, 0, _TYPE_MASK),
        (_JEQ, 2, 0, _STREAM),
        (_JEQ, 1, 0, _SEQPACKET),
        _refused(),
    ]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


_libc = ctypes.CDLL(None, use_errno=True)


def machine() -> str | None:
    """This architecture, where there are filters for it."""
    name = platform.machine()
    return name if name in _ARCHITECTURES else None


def apply(packed: bytes) -> None:
    """To the calling thread, and to all that it starts. Raises OSError."""
    program, _held = _program(packed)
    _checked(_libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0))


def apply_asking(packed: bytes) -> int:
    """As `apply`, for a filter that asks: the descriptor on which it does. Raises OSError."""
    program, _held = _program(packed)
    call = ctypes.c_long(_SECCOMP[platform.machine()])
    flags = ctypes.c_uint(_NEW_LISTENER)
    return _checked(_libc.syscall(call, _SET_MODE_FILTER, flags, ctypes.byref(program)))


def _program(packed: bytes) -> tuple[_Program, Any]:
    """With what must live as long."""
    held = ctypes.create_string_buffer(packed, len(packed))
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    return _Program(len(packed) // 8, ctypes.cast(held, ctypes.c_void_p)), held


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
