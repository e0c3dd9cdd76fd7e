"""The crowd: a thousand lines with one event under way each, the next when the last has arrived.

Thousands of sockets that each carry a few bytes: what costs here is the calls, not the bytes, so a
turn of the loop reads what has come since the last one and answers it at once.
"""

import gc
import select
import time

from bench.commands import MARK, LoadResult, OneEach, StreamSpec
from bench.generator.links import Line, LinkError, Reader, token_frame
from bench.processes import cpu_s

BUFFER_BYTES = 65536
# As in `load.py`: a loop that wakes for every few bytes would keep its core full, and the server
# would pay for waking it. A thousand lines at 50,000 events/s take 20 ms for a round.
TURN_S = 0.001
EVENTS_MAX = 8192  # of one look: more than there are sockets


def run_one_each(
    command: OneEach, lines: list[Line], streams: list[StreamSpec], readers: list[Reader]
) -> LoadResult:
    """Warm up, measure, drain."""
    if not len(lines) == len(streams) == len(readers):
        raise LinkError("every line must have one session and one reader")
    crowd = _Crowd(lines, streams, readers)
    gc.collect()
    gc.disable()
    try:
        crowd.begin()
        crowd.go_on(time.perf_counter() + command.warm_s)
        before, busy_before, started = crowd.received, time.process_time(), time.perf_counter()
        server_before = cpu_s(command.server_pids)
        crowd.go_on(started + command.measure_s)
        after, busy_after, ended = crowd.received, time.process_time(), time.perf_counter()
        server_after = cpu_s(command.server_pids)
        crowd.drain(command.drain_quiet_s)
    finally:
        gc.enable()
        crowd.close()
    return LoadResult(
        deliveries_per_s=(after - before) / (ended - started),
        lost=crowd.under_way,
        generator_busy=(busy_after - busy_before) / (ended - started),
        server_busy=(server_after - server_before) / (ended - started),
    )


class _Crowd:
    def __init__(self, lines: list[Line], streams: list[StreamSpec], readers: list[Reader]) -> None:
        self._poll = select.epoll()
        self._lines = {line.sock.fileno(): line for line in lines}
        self._frames: dict[int, tuple[Reader, Line, bytes]] = {}
        for reader in readers:
            spec = streams[reader.stream]
            line = lines[spec.line]
            self._frames[reader.sock.fileno()] = (reader, line, token_frame(line, spec))
        for fd in (*self._lines, *self._frames):
            self._poll.register(fd, select.EPOLLIN)
        self._buffer = bytearray(BUFFER_BYTES)
        self.received = 0
        self.under_way = 0

    def close(self) -> None:
        self._poll.close()

    def begin(self) -> None:
        for _, line, frame in self._frames.values():
            line.send_now(frame)
            self.under_way += 1

    def go_on(self, until: float) -> None:
        while (now := time.perf_counter()) < until:
            self._turn(answering=True)
            _rest_of_turn(now)

    def drain(self, quiet_s: float) -> None:
        quiet_since = time.perf_counter()
        while self.under_way and (now := time.perf_counter()) < quiet_since + quiet_s:
            if self._turn(answering=False):
                quiet_since = now
            _rest_of_turn(now)

    def _turn(self, *, answering: bool) -> int:
        """What has come; how many events that were."""
        buffer, total = self._buffer, 0
        for fd, _ in self._poll.poll(0, EVENTS_MAX):
            found = self._frames.get(fd)
            if found is None:
                self._lines[fd].drain()
                continue
            reader, line, frame = found
            size = reader.sock.recv_into(buffer)
            if not size:
                raise LinkError(f"the server closed a reader after {self.received} events of all")
            count = buffer.count(MARK, 0, size)
            if not count:
                continue  # a heartbeat, or the rest of an event
            if count > 1:
                raise LinkError(f"a reader got {count} events where one was under way")
            total += 1
            if answering:
                line.send_now(frame)
        self.received += total
        self.under_way -= 0 if answering else total
        return total


def _rest_of_turn(started: float) -> None:
    if (rest := started + TURN_S - time.perf_counter()) > 0:
        time.sleep(rest)
