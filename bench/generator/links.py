"""The generator's two kinds of connection: a `Line` takes events in, a `Reader` gets them.

Opened step by step under a deadline; non-blocking from then on, for the epoll loops.
"""

import os
import re
import select
import socket
import time
from dataclasses import dataclass

from bench.commands import MARK, NEW_ID, NEW_ID_HEAD, TOKEN, LineSpec, Step, StreamSpec
from bench.generator.frames import ZERO_MASK, get_request, text_frame, upgrade_request

HOST = "127.0.0.1"
OPEN_S_MAX = 10.0
HEAD_BYTES_MAX = 65536
DRAIN_BYTES = 262144
FIRST_ID_HEAD = "0" * len(NEW_ID_HEAD)
HEARD_BYTES_KEPT = 16384  # what a server says to ten sessions when they begin


class LinkError(Exception):
    """A server closed, refused or lost something; the measurement is void."""


@dataclass
class Line:
    """One WebSocket. What the server said last is kept, for steps and for error messages."""

    sock: socket.socket
    mask: bytes
    heard: bytes = b""
    heartbeat: bytes = b""
    events: int = 0
    """Counts the events that were made for it, for their ids."""
    batch_rows: int = 0
    gap_s: float = 0.0

    def frame(self, text: str) -> bytes:
        return text_frame(text.encode(), self.mask)

    def send_now(self, frame: bytes) -> None:
        """For single frames, where the socket nearly always has room."""
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[self.sock.send(rest) :]
            except BlockingIOError:
                self.drain()
                self._wait(select.POLLOUT, "the server stopped reading a line")

    def drain(self) -> None:
        """Read away what the server says on the line, and notice when it hangs up."""
        while True:
            try:
                heard = self.sock.recv(DRAIN_BYTES)
            except BlockingIOError:
                return
            if not heard:
                raise LinkError(f"the server closed a line after saying {self.heard[-300:]!r}")
            self.heard = (self.heard + heard)[-HEARD_BYTES_KEPT:]
            if len(heard) < DRAIN_BYTES:
                return

    def exchange(self, steps: list[Step]) -> None:
        for step in steps:
            found = self._await(step.awaits.encode())
            if step.says:
                said = found[1].decode() if found.re.groups else ""
                self.send_now(self.frame(step.says.replace("$1", said)))

    def _await(self, pattern: bytes) -> re.Match[bytes]:
        until = time.monotonic() + OPEN_S_MAX
        while (found := re.search(pattern, self.heard)) is None:
            if time.monotonic() > until:
                raise LinkError(f"no {pattern!r} came, only {self.heard[-300:]!r}")
            self._wait(select.POLLIN, f"no {pattern!r} came, only {self.heard[-300:]!r}")
            self.drain()
        return found

    def _wait(self, event: int, problem: str) -> None:
        ready = select.poll()  # unlike select(), it takes any file descriptor
        ready.register(self.sock, event)
        if not ready.poll(OPEN_S_MAX * 1000):
            raise LinkError(problem)


@dataclass
class Reader:
    """One reader. `early` is what came before it was first read from."""

    sock: socket.socket
    stream: int
    early: bytes
    chunked: bool = False
    framed: bool = False
    """It reads WebSocket frames, not SSE."""

    def drain(self) -> None:
        """Read away what has come, and notice when the server hangs up."""
        try:
            while heard := self.sock.recv(DRAIN_BYTES):
                if len(heard) < DRAIN_BYTES:
                    return
        except BlockingIOError:
            return
        raise LinkError("the server closed a reader")


def open_line(port: int, spec: LineSpec) -> Line:
    """Handshake, first frames, and the server's word that the line is live."""
    mask = os.urandom(4) if spec.masked else ZERO_MASK
    line = _open_socket(port, spec.path, mask, spec.handshake)
    line.batch_rows, line.gap_s = spec.batch_rows, spec.gap_s
    if spec.heartbeat:
        line.heartbeat = line.frame(spec.heartbeat)
    return line


def open_reader(port: int, spec: StreamSpec, stream: int) -> Reader:
    """Ask for the stream and wait for the answer, so that nothing is published unheard."""
    if spec.handshake is not None:
        line = _open_socket(port, spec.path, os.urandom(4), spec.handshake)
        return Reader(line.sock, stream, b"", framed=True)
    sock = socket.create_connection((HOST, port), timeout=OPEN_S_MAX)
    sock.sendall(get_request(spec.path, port, spec.headers))
    head, early = _read_head(sock)
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise LinkError(f"no stream: {head[:200]!r}")
    sock.setblocking(False)
    chunked = b"transfer-encoding: chunked" in head.lower()
    return Reader(sock, stream, early, chunked=chunked)


def _open_socket(port: int, path: str, mask: bytes, handshake: list[Step]) -> Line:
    sock = socket.create_connection((HOST, port), timeout=OPEN_S_MAX)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request, accept = upgrade_request(path, port)
    sock.sendall(request)
    head, rest = _read_head(sock)
    if b" 101 " not in head.split(b"\r\n", 1)[0] or accept not in head:
        raise LinkError(f"no upgrade: {head[:200]!r}")
    sock.setblocking(False)
    line = Line(sock, mask, rest)
    line.exchange(handshake)
    return line


def event_frame(line: Line, spec: StreamSpec, content: str, id_head: str = FIRST_ID_HEAD) -> bytes:
    """One event with this content, as the line of this side carries it."""
    line.events += 1
    text = f"{spec.frame_head}{content}{MARK.decode()}{spec.frame_tail}"
    new_id = f"{id_head}{NEW_ID[len(id_head) : -12]}{line.events:012x}"
    return line.frame(text.replace(NEW_ID, new_id))


def token_frame(line: Line, spec: StreamSpec, id_head: str = FIRST_ID_HEAD) -> bytes:
    """The event that throughput is measured with."""
    return event_frame(line, spec, TOKEN, id_head)


def _read_head(sock: socket.socket) -> tuple[bytes, bytes]:
    head = b""
    while b"\r\n\r\n" not in head:
        heard = sock.recv(DRAIN_BYTES)
        if not heard or len(head) > HEAD_BYTES_MAX:
            raise LinkError(f"the server hung up: {head[:200]!r}")
        head += heard
    first, _, rest = head.partition(b"\r\n\r\n")
    return first, rest
