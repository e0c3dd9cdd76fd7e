"""Where commands connect to that may not connect everywhere: with a list of hosts to this machine's
proxy, with access to some Unix sockets to these.

Landlock knows ports and no hosts, and a filter of system calls sees no addresses. So the kernel
asks here at each `connect` of such a command. What is allowed is done here, on the command's own
socket and to an address of ours: what a command writes into its memory later changes nothing.
"""

import ctypes
import errno
import fcntl
import os
import select
import socket
import stat
import struct
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

import structlog

from trunkline.execution.fence.profile import Profile

_log = structlog.get_logger(__name__)

_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_ASKED = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_PIDFD_GETFD = 438
_HOST = "127.0.0.1"
_ADDRESS_BYTES_MAX = 128
WAITING_MAX = 16  # connections that a command waits for at once; more wait for these

_libc = ctypes.CDLL(None, use_errno=True)


class Connects:
    """Answers from a thread of its own, which has to be one that may connect: made before the
    thread that is confined, told its descriptor by that."""

    def __init__(self, allowed: Profile) -> None:
        self._port = allowed.proxy_port
        self._is_open = allowed.network == "open"
        self._sockets = dict(_taken_hold_of(allowed.sockets))
        """By path, a handle of what was there: another may be put in its place."""
        self._waiting = ThreadPoolExecutor(WAITING_MAX, "connect")
        self._listeners: SimpleQueue[int] = SimpleQueue()
        threading.Thread(target=self._serve, name="connects", daemon=True).start()

    def answer(self, listener: int) -> None:
        """From now on, for all who are under that filter."""
        self._listeners.put(listener)

    def _serve(self) -> None:
        listener = self._listeners.get()
        asked = select.poll()
        asked.register(listener, select.POLLIN)
        while not any(events & select.POLLHUP for _, events in asked.poll()):
            try:
                request = fcntl.ioctl(listener, _RECEIVE, bytes(_ASKED.size))
            except OSError:
                continue  # whoever asked is gone, or a signal came
            asked_id, thread_id, _, _, _, _, descriptor, address, length, *_ = _ASKED.unpack(
                request
            )
            asked_for = (listener, asked_id, thread_id, descriptor, address, length)
            if self._sockets or self._is_open:
                self._waiting.submit(self._judge, *asked_for)
            else:
                self._judge(*asked_for)  # our proxy is there at once

    def _judge(
        self, listener: int, asked_id: int, thread_id: int, descriptor: int, address: int, size: int
    ) -> None:
        try:
            failure = self._connected(listener, asked_id, thread_id, descriptor, address, size)
        except OSError as error:
            failure = error.errno or errno.EACCES
        except Exception:
            _log.exception("a connection could not be judged")
            failure = errno.EACCES
        with suppress(OSError):  # nobody waits for it any more
            fcntl.ioctl(listener, _SEND, _ANSWER.pack(asked_id, 0, -failure, 0))

    def _connected(
        self, listener: int, asked_id: int, thread_id: int, descriptor: int, address: int, size: int
    ) -> int:
        """The number of the error, or 0. Raises OSError."""
        wanted = _memory(thread_id, address, min(size, _ADDRESS_BYTES_MAX))
        theirs = _socket_of(thread_id, descriptor & 0xFFFFFFFF)
        try:
            # Whoever asked still waits: what was read is theirs, and not a later process's.
            fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", asked_id))
            if theirs.family == socket.AF_UNIX:
                return self._to_socket(theirs, wanted)
            if self._is_open:
                return _connect(theirs, wanted)
            ours = struct.pack("=H", socket.AF_INET) + struct.pack("!H", self._port)
            is_ours = wanted[:8] == ours + socket.inet_aton(_HOST)
            if not is_ours or theirs.family != socket.AF_INET:
                return errno.EACCES
            return theirs.connect_ex((_HOST, self._port))
        finally:
            theirs.close()

    def _to_socket(self, theirs: socket.socket, wanted: bytes) -> int:
        path = os.fsdecode(wanted[2:].partition(b"\0")[0])
        handle = self._sockets.get(os.path.realpath(path)) if path.startswith("/") else None
        if handle is None:
            return errno.EACCES
        return theirs.connect_ex(f"/proc/self/fd/{handle}")


def _taken_hold_of(paths: Sequence[str]) -> Iterator[tuple[str, int]]:
    for path in paths:
        try:
            handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # gone since it was asked for
        is_that = os.readlink(f"/proc/self/fd/{handle}") == path  # noqa: PTH115
        if is_that and stat.S_ISSOCK(os.fstat(handle).st_mode):
            yield path, handle
        else:
            os.close(handle)


def _connect(theirs: socket.socket, address: bytes) -> int:
    """To wherever that is, in the kind of network that the socket is for."""
    result = _libc.connect(theirs.fileno(), address, len(address))
    return ctypes.get_errno() if result < 0 else 0


def _memory(thread_id: int, address: int, size: int) -> bytes:
    with Path(f"/proc/{thread_id}/mem").open("rb", buffering=0) as memory:
        return os.pread(memory.fileno(), size, address)


def _socket_of(thread_id: int, descriptor: int) -> socket.socket:
    """Another handle of it: flags and state are shared."""
    process = os.pidfd_open(_process_of(thread_id))
    try:
        found = _libc.syscall(ctypes.c_long(_PIDFD_GETFD), process, descriptor, 0)
        if found < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(process)
    try:
        return socket.socket(fileno=found)
    except OSError:
        os.close(found)
        raise


def _process_of(thread_id: int) -> int:
    """Only a process can be taken hold of, and any of its threads may ask."""
    for line in Path(f"/proc/{thread_id}/status").read_text().splitlines():
        if line.startswith("Tgid:"):
            return int(line.removeprefix("Tgid:"))
    raise ProcessLookupError(errno.ESRCH, "no such process")
