"""Throughput: write whole buffers of ready frames, count marker bytes, keep a bounded window.

The window is per session and by its slowest reader: no side can be flooded, and none waits.
After the measurement everything under way must arrive: what does not is counted as lost, and one
event too many is an error.
"""

import gc
import select
import time
from dataclasses import dataclass

from bench.commands import MARK, NEW_ID, NEW_ID_HEAD, Load, LoadResult, StreamSpec
from bench.generator.batches import BatchFeed
from bench.generator.frames import masked
from bench.generator.links import Line, LinkError, Reader, token_frame
from bench.processes import cpu_s

BUFFER_BYTES = 1 << 20
# The loop turns at this pace instead of waking for every few bytes: a server that writes event by
# event would otherwise keep the generator's core full, and pay for waking it. At 4,096 events a
# window and 10 sessions, one turn may still carry 40 million events a second.
TURN_S = 0.001
# Topping up in eighths of the window makes few large writes and still never lets it run empty.
TOP_UP_SHARE = 8


class Block:
    """What one line sends over and over: rows of one event of each of its sessions. Ids of events
    are made new each time by one replacement, however many there are."""

    def __init__(self, line: Line, streams: list[StreamSpec]) -> None:
        rows = [[token_frame(line, spec, NEW_ID_HEAD) for spec in streams]]
        self.row_bytes = sum(map(len, rows[0]))
        while len(rows) < BUFFER_BYTES // self.row_bytes:
            rows.append([token_frame(line, spec, NEW_ID_HEAD) for spec in streams])
        self._template = b"".join(frame for row in rows for frame in row)
        self.size = len(self._template)
        at = streams[0].frame_head.find(NEW_ID)
        self._key = line.mask[at % 4 :] + line.mask[: at % 4]
        self._has_ids = at >= 0
        self._number = -1
        self._bytes = memoryview(self._template)

    def after(self, sent_bytes: int, allowed: int) -> memoryview:
        """What comes next, up to the end of the block."""
        number, at = divmod(sent_bytes, self.size)
        if self._has_ids and number != self._number:
            self._number = number
            head = f"{number:0{len(NEW_ID_HEAD)}x}"
            old, new = (masked(one.encode(), self._key) for one in (NEW_ID_HEAD, head))
            self._bytes = memoryview(self._template.replace(old, new))
        return self._bytes[at : at + allowed]


@dataclass
class Feed:
    """One line's block, and how far its readers have got with it."""

    line: Line
    block: Block
    first_reader: int
    end_reader: int
    sent_bytes: int = 0

    @property
    def sent_rows(self) -> int:
        """Whole ones."""
        return self.sent_bytes // self.block.row_bytes

    def top_up(self, received: list[int], window: int, least: int) -> None:
        """Write up to the window, or as much as the socket takes."""
        row_bytes = self.block.row_bytes
        acked_bytes = min(received[self.first_reader : self.end_reader]) * row_bytes
        allowed = window * row_bytes - (self.sent_bytes - acked_bytes)
        if allowed < least * row_bytes:
            return
        while allowed > 0:
            chunk = self.block.after(self.sent_bytes, allowed)
            try:
                sent = self.line.sock.send(chunk)
            except BlockingIOError:
                return
            self.sent_bytes += sent
            allowed -= sent
            if sent < len(chunk):
                return

    def finish_row(self) -> bool:
        """Complete a row that was cut in the middle; false while the socket is full."""
        row_bytes = self.block.row_bytes
        rest = -self.sent_bytes % row_bytes
        if rest:
            try:
                self.sent_bytes += self.line.sock.send(self.block.after(self.sent_bytes, rest))
            except BlockingIOError:
                return False
        return self.sent_bytes % row_bytes == 0


def run_load(
    command: Load, lines: list[Line], streams: list[StreamSpec], readers: list[Reader]
) -> LoadResult:
    """Warm up, measure, drain. `readers` are ordered by stream, streams by line."""
    feeds = _feeds(lines, streams, readers)
    received = [reader.early.count(MARK) for reader in readers]
    buffer = bytearray(BUFFER_BYTES)
    poll = select.epoll()
    by_fd = {reader.sock.fileno(): at for at, reader in enumerate(readers)}
    socks = {reader.sock.fileno(): reader.sock for reader in readers}
    for fd in by_fd:
        poll.register(fd, select.EPOLLIN)
    for line in lines:
        poll.register(line.sock.fileno(), select.EPOLLIN)
    lines_by_fd = {line.sock.fileno(): line for line in lines}
    least = command.window_events // TOP_UP_SHARE

    def turn() -> int:
        """Read what is there, and how many events that were."""
        before = sum(received)
        for fd, _ in poll.poll(0):
            at = by_fd.get(fd)
            if at is None:
                lines_by_fd[fd].drain()
                continue
            size = socks[fd].recv_into(buffer)
            if not size:
                raise LinkError(f"the server closed a reader after {received[at]} events")
            received[at] += buffer.count(MARK, 0, size)
        return sum(received) - before

    def feed_until(until: float) -> None:
        while (now := time.perf_counter()) < until:
            for feed in feeds:
                feed.top_up(received, command.window_events, least)
            turn()
            _rest_of_turn(now)

    def drain() -> None:
        quiet_since = time.perf_counter()
        while (now := time.perf_counter()) < quiet_since + command.drain_quiet_s:
            if all(feed.finish_row() for feed in feeds) and not _lost(feeds, received):
                return
            if turn():
                quiet_since = now
            _rest_of_turn(now)

    gc.collect()
    gc.disable()
    try:
        feed_until(time.perf_counter() + command.warm_s)
        before, busy_before, started = sum(received), time.process_time(), time.perf_counter()
        server_before = cpu_s(command.server_pids)
        feed_until(started + command.measure_s)
        after, busy_after, ended = sum(received), time.process_time(), time.perf_counter()
        server_after = cpu_s(command.server_pids)
        drain()
    finally:
        gc.enable()
        poll.close()
    return LoadResult(
        deliveries_per_s=(after - before) / (ended - started),
        lost=_lost(feeds, received),
        generator_busy=(busy_after - busy_before) / (ended - started),
        server_busy=(server_after - server_before) / (ended - started),
    )


def _rest_of_turn(started: float) -> None:
    if (rest := started + TURN_S - time.perf_counter()) > 0:
        time.sleep(rest)


def _feeds(
    lines: list[Line], streams: list[StreamSpec], readers: list[Reader]
) -> list[Feed | BatchFeed]:
    feeds: list[Feed | BatchFeed] = []
    for number, line in enumerate(lines):
        mine = [at for at, stream in enumerate(streams) if stream.line == number]
        places = [at for at, reader in enumerate(readers) if reader.stream in mine]
        if places != list(range(places[0], places[-1] + 1)):
            raise LinkError("readers must be ordered by line")
        own, ends = [streams[at] for at in mine], (places[0], places[-1] + 1)
        if line.batch_rows:
            feeds.append(BatchFeed(line, own, *ends))
        else:
            feeds.append(Feed(line, Block(line, own), *ends))
    return feeds


def _lost(feeds: list[Feed | BatchFeed], received: list[int]) -> int:
    lost = 0
    for feed in feeds:
        sent = feed.sent_rows
        for count in received[feed.first_reader : feed.end_reader]:
            if count > sent:
                raise LinkError(f"a reader got {count} events of {sent} sent")
            lost += sent - count
    return lost
