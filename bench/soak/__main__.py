"""`make soak`, or `python -m bench.soak --minutes 15`: the crowd at a steady rate, and a row a
minute of what the server takes.

Trunkline on SQLite, as by default: nothing is cut off. Exit codes: 0 all was flat, 1 something was
not or failed, 2 usage.
"""

import argparse
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import budgets
from bench.commands import EVENT_HEAD, EVENT_TAIL, MARK, Latency, LatencyResult
from bench.generator.client import GeneratorClient
from bench.generator.latency import STAMP_DIGITS
from bench.sides.base import close_all, running, stop
from bench.sides.crowd import CrowdedTrunkline
from bench.soak.verdict import Minute, problems
from bench.suite import FAILURES
from trunkline import limits

SPAN_S = 5.0  # of one command to the generator, which keeps lines alive between two
SPANS_PER_MINUTE = round(60 / SPAN_S)
_EVENT_BYTES = len(EVENT_HEAD) + STAMP_DIGITS + len(MARK) + len(EVENT_TAIL)
_HEAD = (
    "| minute | events | text, MiB | resident, MiB | log's file, MiB | write-ahead log, MiB "
    "| journal, MiB | p50, ms | p99, ms |\n" + "| --- " * 9 + "|"
)


def main() -> int:
    options = _parse()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    side = CrowdedTrunkline()
    minutes: list[Minute] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, GeneratorClient() as generator:
        try:
            side.start(Path(folder))
            side.open_crowd(generator, options.lines, 1)
            print(_HEAD, flush=True)
            watch = _Watch(side, Path(folder) / "data" / "log.db", options.rate)
            for number in range(options.minutes):
                minutes.append(watch.minute(generator))
                print(_row(number + 1, minutes[-1]), flush=True)
            close_all(generator)
        except FAILURES as error:
            print(f"the soak broke off: {error}", file=sys.stderr)
            return 1
        finally:
            stop(side)
    found = problems(minutes)
    print("\n".join(found) or "flat")
    return 1 if found else 0


class _Watch:
    """Loads the server and looks at it from outside."""

    def __init__(self, side: CrowdedTrunkline, path: Path, rate: int) -> None:
        self._side = side
        self._path = path
        self._rate = rate
        self._events = 0

    def minute(self, generator: GeneratorClient) -> Minute:
        spans: list[LatencyResult] = []
        memory_mib: list[float] = []
        journal_mib: list[float] = []
        wal_mib: list[float] = []
        until = time.monotonic() + 60
        while len(spans) < SPANS_PER_MINUTE and time.monotonic() < until:
            command = Latency(self._rate, 0.0, SPAN_S, budgets.LATENCY_WINDOW_S)
            spans.append(generator.ask(command, LatencyResult))
            self._events += spans[-1].samples
            memory_mib.append(running(self._side).rss_kib() / 1024)
            journal_mib.append(self._journal_bytes() / limits.MIB)
            wal_mib.append(_size(Path(f"{self._path}-wal")))
        spans.sort(key=lambda one: one.typical_p99_ms)
        middle = spans[len(spans) // 2]
        return Minute(
            events=self._events,
            event_mib=self._events * _EVENT_BYTES / limits.MIB,
            memory_mib=min(memory_mib),
            file_mib=_size(self._path),
            wal_mib=max(wal_mib),
            journal_mib=max(journal_mib),
            p50_ms=middle.p50_ms,
            p99_ms=middle.typical_p99_ms,
        )

    def _journal_bytes(self) -> int:
        connection = sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)
        try:
            query = "SELECT coalesce(sum(length(body)), 0) FROM journal"
            return int(connection.execute(query).fetchone()[0])
        finally:
            connection.close()


def _size(path: Path) -> float:
    return path.stat().st_size / limits.MIB if path.exists() else 0.0


def _row(number: int, one: Minute) -> str:
    return (
        f"| {number} | {one.events:,} | {one.event_mib:.1f} | {one.memory_mib:.1f} "
        f"| {one.file_mib:.1f} | {one.wal_mib:.1f} | {one.journal_mib:.2f} | {one.p50_ms:.2f} "
        f"| {one.p99_ms:.2f} |"
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.soak",
        description="The crowd at a steady rate: memory, file sizes and latency must be flat.",
    )
    parser.add_argument("--minutes", type=_within(1, 24 * 60), default=15)
    parser.add_argument("--lines", type=_within(1, 4_000), default=budgets.CROWD_LINES)
    parser.add_argument(
        "--rate", type=_within(100, 50_000), default=budgets.SOAK_EVENTS_PER_S, help="events/s"
    )
    return parser.parse_args()


def _within(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not least <= (number := int(text)) <= most:
            raise argparse.ArgumentTypeError(f"must be {least:,} to {most:,}")
        return number

    return read


if __name__ == "__main__":
    sys.exit(main())
