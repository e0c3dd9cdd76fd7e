"""The generator's two kinds of connection: a `Line` takes events in, a `Reader` gets them.

Opened with blocking calls under a deadline, then switched to non-blocking for the epoll loops.
"""

import os
import select
import socket
from dataclasses import dataclass

from bench.commands import EVENT_HEAD, EVENT_TAIL, MARK, TOKEN, LineSpec, StreamSpec
from bench.generator.frames import ZERO_MASK, get_request, text_frame, upgrade_request

HOST = "127.0.0.1"
OPEN_S_MAX = 10.0
HEAD_BYTES_MAX = 65536
DRAIN_BYTES = 262144


class LinkError(Exception):
    """A server closed, refused or lost something; the measurement is void."""


@dataclass
class Line:
    """One WebSocket. `last_heard` is kept for the error message when the server hangs up."""

    sock: socket.socket
    spec: LineSpec
    mask: bytes
    heartbeat: bytes = b""
    last_heard: bytes = b""

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
                room = select.poll()  # unlike select(), it takes any file descriptor
                room.register(self.sock, select.POLLOUT)
                if not room.poll(OPEN_S_MAX * 1000):
                    raise LinkError("the server stopped reading a line") from None

    def drain(self) -> None:
        """Read away what the server says on the line, and notice when it hangs up."""
        while True:
            try:
                heard = self.sock.recv(DRAIN_BYTES)
            except BlockingIOError:
                return
            if not heard:
                raise LinkError(f"the server closed a line after saying {self.last_heard!r}")
            self.last_heard = heard[-300:]
            if len(heard) < DRAIN_BYTES:
                return


@dataclass
class Reader:
    """One SSE reader. `early` is what came together with the response head."""

    sock: socket.socket
    stream: int
    chunked: bool
    early: bytes

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
    sock = socket.create_connection((HOST, port), timeout=OPEN_S_MAX)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request, accept = upgrade_request(spec.path, port)
    sock.sendall(request)
    head, rest = _read_head(sock)
    if b" 101 " not in head.split(b"\r\n", 1)[0] or accept not in head:
        raise LinkError(f"no upgrade: {head[:200]!r}")
    line = Line(sock, spec, mask)
    for text in spec.hello:
        sock.sendall(line.frame(text))
    awaited = spec.awaits.encode()
    while awaited not in rest:
        heard = sock.recv(DRAIN_BYTES)
        if not heard or len(rest) > HEAD_BYTES_MAX:
            raise LinkError(f"the line did not become live: {rest[:300]!r}")
        rest += heard
    if spec.heartbeat:
        line.heartbeat = line.frame(spec.heartbeat)
    sock.setblocking(False)
    return line


def open_reader(port: int, spec: StreamSpec, stream: int) -> Reader:
    """Ask for the stream and wait for the response head, so that nothing is published unheard."""
    sock = socket.create_connection((HOST, port), timeout=OPEN_S_MAX)
    sock.sendall(get_request(spec.path, port, spec.headers))
    head, early = _read_head(sock)
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise LinkError(f"no stream: {head[:200]!r}")
    sock.setblocking(False)
    chunked = b"transfer-encoding: chunked" in head.lower()
    return Reader(sock, stream, chunked, early)


def event_frame(line: Line, spec: StreamSpec, content: str) -> bytes:
    """One event with this content, as the line of this side carries it."""
    return line.frame(f"{spec.frame_head}{content}{MARK.decode()}{spec.frame_tail}")


def token_frame(line: Line, spec: StreamSpec) -> bytes:
    """The event that throughput is measured with."""
    return event_frame(line, spec, TOKEN)


def event_text(content: str) -> str:
    """What a reader must find after `data: ` for that content."""
    return f"{EVENT_HEAD}{content}{MARK.decode()}{EVENT_TAIL}"


def _read_head(sock: socket.socket) -> tuple[bytes, bytes]:
    head = b""
    while b"\r\n\r\n" not in head:
        heard = sock.recv(DRAIN_BYTES)
        if not heard or len(head) > HEAD_BYTES_MAX:
            raise LinkError(f"the server hung up: {head[:200]!r}")
        head += heard
    first, _, rest = head.partition(b"\r\n\r\n")
    return first, rest
