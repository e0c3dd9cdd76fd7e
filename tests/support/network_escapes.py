"""Tried from inside of a fence with a list of hosts: ways to another host than the proxy.

A program: `python network_escapes.py PORT` prints a JSON object: by name, `refused` or what was
gained. PORT is the proxy's; another server listens on it at 127.0.0.2.
"""

import ctypes
import errno
import json
import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable

REFUSALS = (errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)
ELSEWHERE = "127.0.0.2"
PORT = int(sys.argv[1]) if __name__ == "__main__" else 0
ESCAPES: dict[str, Callable[[], object]] = {}


def escape(attempt: Callable[[], object]) -> Callable[[], object]:
    ESCAPES[attempt.__name__] = attempt
    return attempt


def said(one: socket.socket) -> bytes:
    """Of the server that must not be reached; the proxy says nothing unasked."""
    one.settimeout(20)
    one.sendall(b"GET / HTTP/1.0\r\n\r\n")
    return one.recv(100)


@escape
def reach_another_host_on_the_proxys_port() -> object:
    with socket.create_connection((ELSEWHERE, PORT), 20) as one:
        return said(one)


@escape
def reach_it_without_waiting() -> object:
    with socket.socket() as one:
        one.setblocking(False)
        number = one.connect_ex((ELSEWHERE, PORT))
        if number in (0, errno.EINPROGRESS):
            select.select([], [one], [], 20)
            one.setblocking(True)
            return said(one)
        raise OSError(number, os.strerror(number))


@escape
def reach_it_from_a_second_thread() -> object:
    outcome: list[object] = []

    def tried() -> None:
        try:
            outcome.append(reach_another_host_on_the_proxys_port())
        except OSError as error:
            outcome.append(error)

    thread = threading.Thread(target=tried)
    thread.start()
    thread.join()
    if isinstance(outcome[0], OSError):
        raise outcome[0]
    return outcome[0]


@escape
def reach_it_as_ipv6() -> object:
    with socket.socket(socket.AF_INET6) as one:
        one.connect((f"::ffff:{ELSEWHERE}", PORT))
        return said(one)


@escape
def reach_it_with_the_first_data() -> object:
    with socket.socket() as one:
        one.sendto(b"GET / HTTP/1.0\r\n\r\n", 0x20000000, (ELSEWHERE, PORT))
        return one.recv(100)


@escape
def reach_it_by_multipath() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as one:
        one.connect((ELSEWHERE, PORT))
        return said(one)


@escape
def send_it_a_datagram() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        return one.sendto(b"x", (ELSEWHERE, PORT))


@escape
def reach_another_port_of_this_host() -> object:
    with socket.create_connection(("127.0.0.1", PORT + 1 if PORT < 65535 else 1), 20):
        return "connected"


@escape
def let_others_in() -> object:
    with socket.socket() as one:
        one.listen()
        return one.getsockname()


@escape
def change_the_address_while_it_is_judged() -> object:
    """One thread connects, another writes the two addresses in turn over each other."""
    libc = ctypes.CDLL(None, use_errno=True)
    good = struct.pack("=H", socket.AF_INET) + struct.pack("!H", PORT)
    both = [good + socket.inet_aton(host) + bytes(8) for host in ("127.0.0.1", ELSEWHERE)]
    address = ctypes.create_string_buffer(both[0], 16)
    is_over = threading.Event()

    def flip() -> None:
        while not is_over.is_set():
            for one in both:
                ctypes.memmove(address, one, 16)

    flipping = threading.Thread(target=flip)
    flipping.start()
    try:
        for _ in range(300):
            with socket.socket() as one:
                if (
                    libc.connect(one.fileno(), address, 16) == 0
                    and one.getpeername()[0] == ELSEWHERE
                ):
                    return "connected"
    finally:
        is_over.set()
        flipping.join()
    raise PermissionError(errno.EACCES, "never elsewhere")


def outcome(attempt: Callable[[], object]) -> str:
    try:
        gained = attempt()
    except OSError as error:
        return "refused" if error.errno in REFUSALS else f"failed: {error}"
    return f"gained: {gained!r}"[:200]


if __name__ == "__main__":
    print(json.dumps({name: outcome(attempt) for name, attempt in ESCAPES.items()}))
