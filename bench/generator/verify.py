"""Is it a relay at all: every reader gets every event, unchanged, in order, once.

Runs before the measurements, so that a fast side that drops or mixes up events is not praised.
"""

import re
import select
import time

from bench.commands import CONTENT, MARK, StreamSpec, Verify
from bench.generator.batches import batch_frame
from bench.generator.frames import unchunked, unframed
from bench.generator.links import Line, LinkError, Reader, event_frame

READ_BYTES = 262144
_DATA = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)


def run_verify(
    command: Verify, lines: list[Line], streams: list[StreamSpec], readers: list[Reader]
) -> None:
    """Publish numbered events and compare what comes; raises `LinkError` on a difference."""
    heard = [reader.early for reader in readers]
    by_fd = {reader.sock.fileno(): at for at, reader in enumerate(readers)}
    poll = select.epoll()
    for fd in by_fd:
        poll.register(fd, select.EPOLLIN)
    until = time.perf_counter() + command.timeout_s
    contents = [f"{number:08d}" for number in range(command.events_per_stream)]
    missing = len(readers) * len(contents) - sum(early.count(MARK) for early in heard)
    for number, content in enumerate(contents, 1):
        for at, line in enumerate(lines):
            mine = [spec for spec in streams if spec.line == at]
            if line.batch_rows:
                line.send_now(batch_frame(line, mine, content, number))
            else:
                for spec in mine:
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
    for reader, raw in zip(readers, heard, strict=True):
        if reader.framed:
            texts = unframed(raw)
        else:
            texts = _DATA.findall(unchunked(raw) if reader.chunked else raw)
        _compare([one for one in texts if MARK in one], streams[reader.stream], contents)


def _compare(got: list[bytes], spec: StreamSpec, contents: list[str]) -> None:
    if len(got) != len(contents):
        raise LinkError(f"a reader got {len(got)} events, not the {len(contents)} sent")
    for text, content in zip(got, contents, strict=True):
        marked = re.escape(content + MARK.decode())
        if not re.fullmatch(spec.event.replace(CONTENT, marked).encode(), text):
            raise LinkError(f"a reader got {text!r} for the event {content}")
