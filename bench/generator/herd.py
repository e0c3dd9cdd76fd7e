"""The herd: lines and readers that come back all at once, each through its own few steps.

A line is back when its handshake is through, a reader when it has the events that it missed. All
of them are under way together, in one epoll loop; none waits for another.
"""

import errno
import os
import re
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.commands import MARK, Herd, HerdResult, LineSpec, Step, StreamSpec
from bench.generator.frames import ZERO_MASK, get_request, upgrade_request
from bench.generator.links import DRAIN_BYTES, HOST, Line, LinkError, Reader
from bench.processes import cpu_s

POLL_S = 0.05
EVENTS_MAX = 8192
_HEAD_END = b"\r\n\r\n"


@dataclass
class _Coming:
    """One connection on its way. It is driven by what it hears: `_steps` yields where it waits."""

    sock: socket.socket
    request: bytes
    heard: bytes = b""
    is_back: bool = False
    steps: Iterator[None] = field(default_factory=lambda: iter(()))

    def written(self) -> None:
        """The connection stands: the request is small enough to go in one piece."""
        if problem := self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise LinkError(f"a connection failed: {os.strerror(problem)}")
        self.sock.send(self.request)

    def read(self) -> None:
        heard = self.sock.recv(DRAIN_BYTES)
        if not heard:
            raise LinkError(f"the server hung up after {self.heard[-300:]!r}")
        self.heard += heard
        self.is_back = self.is_back or next(self.steps, True) is True


def run_herd(command: Herd) -> tuple[HerdResult, list[Line], list[Reader]]:
    """What was opened is left open, and every reader has read all that it was sent."""
    lines: list[Line] = []
    readers: list[Reader] = []
    coming: list[_Coming] = []
    started, busy = time.perf_counter(), time.process_time()
    server_busy = cpu_s(command.server_pids)
    for line_spec in command.lines:
        one, line = _line(command.port, line_spec)
        coming.append(one)
        lines.append(line)
    for number, spec in enumerate(command.streams):
        for _ in range(command.readers_per_stream):
            one, reader = _reader(command, spec, number)
            coming.append(one)
            readers.append(reader)
    try:
        back_s = _run(coming, started, command.seconds_max)
    except BaseException:
        for one in coming:
            one.sock.close()
        raise
    took_s = time.perf_counter() - started
    result = HerdResult(
        lines_s=max(back_s[: len(lines)]),
        readers_s=max(back_s[len(lines) :]),
        generator_busy=(time.process_time() - busy) / took_s,
        server_busy=(cpu_s(command.server_pids) - server_busy) / took_s,
    )
    return result, lines, readers


def _run(coming: list[_Coming], started: float, seconds_max: float) -> list[float]:
    """When each of them was back."""
    poll = select.epoll()
    by_fd = {one.sock.fileno(): at for at, one in enumerate(coming)}
    for fd in by_fd:
        poll.register(fd, select.EPOLLOUT)
    back_s = [0.0] * len(coming)
    missing = len(coming)
    try:
        while missing:
            if time.perf_counter() > started + seconds_max:
                raise LinkError(f"{missing} of {len(coming)} were not back in {seconds_max:g} s")
            for fd, event in poll.poll(POLL_S, EVENTS_MAX):
                one = coming[by_fd[fd]]
                if event & select.EPOLLOUT:
                    one.written()
                    poll.modify(fd, select.EPOLLIN)
                    continue
                was_back = one.is_back
                one.read()
                if one.is_back and not was_back:
                    back_s[by_fd[fd]] = time.perf_counter() - started
                    missing -= 1
    finally:
        poll.close()
    return back_s


def _line(port: int, spec: LineSpec) -> tuple[_Coming, Line]:
    sock = _connecting(port)
    request, accept = upgrade_request(spec.path, port)
    line = Line(sock, os.urandom(4) if spec.masked else ZERO_MASK)
    if spec.heartbeat:
        line.heartbeat = line.frame(spec.heartbeat)
    one = _Coming(sock, request)
    one.steps = _line_steps(one, line, accept, spec.handshake)
    return one, line


def _line_steps(one: _Coming, line: Line, accept: bytes, handshake: list[Step]) -> Iterator[None]:
    while _HEAD_END not in one.heard:
        yield
    head, _, one.heard = one.heard.partition(_HEAD_END)
    if b" 101 " not in head.split(b"\r\n", 1)[0] or accept not in head:
        raise LinkError(f"no upgrade: {head[:200]!r}")
    for step in handshake:
        while re.search(step.awaits.encode(), one.heard) is None:
            yield
        if step.says:
            line.send_now(line.frame(step.says))


def _reader(command: Herd, spec: StreamSpec, number: int) -> tuple[_Coming, Reader]:
    sock = _connecting(command.port)
    one = _Coming(sock, get_request(spec.path, command.port, spec.headers))
    reader = Reader(sock, number, b"")
    one.steps = _reader_steps(one, reader, command.missed_events)
    return one, reader


def _reader_steps(one: _Coming, reader: Reader, missed: int) -> Iterator[None]:
    while _HEAD_END not in one.heard:
        yield
    head, _, one.heard = one.heard.partition(_HEAD_END)
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise LinkError(f"no stream: {head[:200]!r}")
    reader.chunked = b"transfer-encoding: chunked" in head.lower()
    while (count := one.heard.count(MARK)) < missed or not _is_whole(one.heard):
        yield
    if count > missed:
        raise LinkError(f"a reader got {count} events where it had missed {missed}")


def _is_whole(heard: bytes) -> bool:
    """Of events, nothing is still to come: what is read next begins with a new one."""
    return not heard or heard.endswith((b"\n\n", b"\n\r\n"))


def _connecting(port: int) -> socket.socket:
    sock = socket.socket()
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    problem = sock.connect_ex((HOST, port))
    if problem not in (0, errno.EINPROGRESS):
        raise LinkError(f"a connection failed: {os.strerror(problem)}")
    return sock
