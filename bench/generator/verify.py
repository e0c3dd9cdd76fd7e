"""Is it a relay at all: every reader gets every event, unchanged, in order, once.

Runs before the measurements, so that a fast side that drops or mixes up events is not praised.
"""

import re
import select
import time

from bench.commands import MARK, StreamSpec, Verify
from bench.generator.frames import unchunked
from bench.generator.links import Line, LinkError, Reader, event_frame, event_text

READ_BYTES = 262144
_DATA = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)


def run_verify(
    command: Verify, lines: list[Line], streams: list[StreamSpec], readers: list[Reader]
) -> None:
    """Publish numbered events and compare, byte for byte; raises `LinkError` on a difference."""
    heard = [reader.early for reader in readers]
    by_fd = {reader.sock.fileno(): at for at, reader in enumerate(readers)}
    poll = select.epoll()
    for fd in by_fd:
        poll.register(fd, select.EPOLLIN)
    until = time.perf_counter() + command.timeout_s
    contents = [f"{number:08d}" for number in range(command.events_per_stream)]
    missing = len(readers) * len(contents) - sum(early.count(MARK) for early in heard)
    for content in contents:
        for spec in streams:
            line = lines[spec.line]
            line.send_now(event_frame(line, spec, content))
    while missing > 0 and time.perf_counter() < until:
        for line in lines:
            line.drain()
        for fd, _ in poll.poll(0.05):
            at = by_fd[fd]
            data = readers[at].sock.recv(READ_BYTES)
            if not data:
                raise LinkError("the server closed a reader")
            heard[at] += data
            missing -= data.count(MARK)
    poll.close()
    expected = [event_text(content).encode() for content in contents]
    for reader, raw in zip(readers, heard, strict=True):
        body = unchunked(raw) if reader.chunked else raw
        got = [data for data in _DATA.findall(body) if MARK in data]
        if got != expected:
            raise LinkError(f"a reader got {len(got)} events, not the {len(expected)} sent")
