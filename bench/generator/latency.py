"""Latency at a steady rate: each event carries the time it was written, readers subtract it.

One process holds both ends, so one clock is read twice. The loop never sleeps: a sleeping
generator would measure the scheduler's wake-up instead of the server.
"""

import gc
import re
import select
import time
from statistics import median

from bench.commands import MARK, Latency, LatencyResult, StreamSpec
from bench.generator.links import Line, LinkError, Reader, event_frame

STAMP_DIGITS = 19
_STAMP = re.compile(rb"(\d{%d})%s" % (STAMP_DIGITS, re.escape(MARK)))
ARRIVAL_NS_MAX = 10_000_000_000  # in which nothing arrives any more
READ_BYTES = 262144


def run_latency(
    command: Latency, lines: list[Line], streams: list[StreamSpec], readers: list[Reader]
) -> LatencyResult:
    """Send round robin over the streams at the rate; one sample per reader and event. What is due
    is also sent between two reads: a thousand readers that have news must not hold it up."""
    period_ns = 1_000_000_000 // command.events_per_s
    warm = int(command.warm_s * command.events_per_s)
    total = warm + int(command.measure_s * command.events_per_s)
    readers_per_stream = len(readers) // len(streams)
    poll = select.epoll()
    by_fd = {reader.sock.fileno(): reader for reader in readers}
    tails = dict.fromkeys(by_fd, b"")
    for fd in by_fd:
        poll.register(fd, select.EPOLLIN)
    lines_by_fd = {line.sock.fileno(): line for line in lines}
    for fd in lines_by_fd:
        poll.register(fd, select.EPOLLIN)
    delays_ns: list[int] = []
    expected = total * readers_per_stream
    sent = 0
    clock = time.perf_counter_ns
    started = last_sent = clock()
    give_up = started + total * period_ns + ARRIVAL_NS_MAX

    def send_due() -> None:
        nonlocal sent, last_sent
        if sent < total and (now := clock()) >= started + sent * period_ns:
            spec = streams[sent % len(streams)]
            line = lines[spec.line]
            line.send_now(event_frame(line, spec, f"{now:0{STAMP_DIGITS}d}"))
            sent += 1
            last_sent = now

    gc.collect()
    gc.disable()
    try:
        while len(delays_ns) < expected and clock() < give_up:
            send_due()
            for fd, _ in poll.poll(0):
                send_due()
                if fd in lines_by_fd:
                    lines_by_fd[fd].drain()
                    continue
                heard = by_fd[fd].sock.recv(READ_BYTES)
                now = clock()
                if not heard:
                    raise LinkError("the server closed a reader")
                data = tails[fd] + heard
                if stamps := _STAMP.findall(data):  # not only a heartbeat
                    delays_ns.extend(now - int(stamp) for stamp in stamps)
                    give_up = max(give_up, now + ARRIVAL_NS_MAX)
                tails[fd] = data[data.rfind(MARK) + 1 :]
    finally:
        gc.enable()
        poll.close()
    if len(delays_ns) != expected:
        raise LinkError(f"{expected - len(delays_ns)} of {expected} events did not arrive")
    delays_ns = delays_ns[warm * readers_per_stream :]
    window = int(command.window_s * command.events_per_s) * readers_per_stream
    typical_ns = median(
        _at_share(sorted(delays_ns[at : at + window]), 0.99)
        for at in range(0, len(delays_ns), window)
    )
    delays_ns.sort()
    return LatencyResult(
        samples=len(delays_ns),
        p50_ms=_at_share(delays_ns, 0.50) / 1e6,
        p99_ms=_at_share(delays_ns, 0.99) / 1e6,
        typical_p99_ms=typical_ns / 1e6,
        max_ms=delays_ns[-1] / 1e6,
        events_per_s=(sent - 1) * 1e9 / (last_sent - started),
    )


def _at_share(ordered: list[int], share: float) -> int:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
