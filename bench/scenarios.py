"""The scenarios: what is opened, what is asked of the generator, which numbers come of it.

Each takes a running side and adds its numbers to the results; the suite says when and how often.
"""

import time
from dataclasses import dataclass

from bench import budgets
from bench.commands import (
    Done,
    Latency,
    LatencyResult,
    Load,
    LoadResult,
    ReplayResult,
    StillOpen,
    Verify,
)
from bench.generator.client import GeneratorClient
from bench.results import Metric, Results
from bench.sides.base import Side, close_all, running
from bench.sides.trunkline import DaemonPath, Trunkline

VERIFY_EVENTS = 100
VERIFY_READERS = 2
VERIFY_S_MAX = 15.0


@dataclass(frozen=True)
class Sizes:
    """How long and how much: the full run, or the quick one."""

    rounds: int = budgets.ROUNDS
    load_s: float = budgets.LOAD_S
    latency_s: float = budgets.LATENCY_S
    crowd_lines: int = budgets.CROWD_LINES
    crowd_events_per_s: int = budgets.CROWD_LATENCY_EVENTS_PER_S
    herd_lines: int = budgets.HERD_LINES
    idle_connections: int = budgets.IDLE_CONNECTIONS
    replay_times: int = budgets.REPLAY_TIMES
    passed_sessions: int = budgets.PASSED_SESSIONS


QUICK = Sizes(
    rounds=budgets.QUICK_ROUNDS,
    load_s=budgets.QUICK_LOAD_S,
    latency_s=budgets.QUICK_LATENCY_S,
    crowd_lines=budgets.QUICK_CROWD_LINES,
    crowd_events_per_s=budgets.QUICK_CROWD_LATENCY_EVENTS_PER_S,
    herd_lines=budgets.QUICK_CROWD_LINES // 2,
    idle_connections=budgets.QUICK_IDLE_CONNECTIONS,
    replay_times=budgets.QUICK_REPLAY_TIMES,
    passed_sessions=budgets.QUICK_PASSED_SESSIONS,
)


def verify(side: Side, generator: GeneratorClient) -> None:
    """No numbers: raises unless every reader gets what was sent."""
    side.open(generator, budgets.SESSIONS, VERIFY_READERS)
    generator.ask(Verify(VERIFY_EVENTS, VERIFY_S_MAX), Done)
    close_all(generator)


def relay(side: Side, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """Events per second with one reader per session."""
    _load(side, generator, sizes, results, Metric.RELAY, 1)


def wires(side: Side, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """As `relay`, on each wire that Trunkline has; the other sides have none."""
    if not isinstance(side, Trunkline) or isinstance(side, DaemonPath):
        return
    for wire in side.wires():
        wire.open(generator, budgets.SESSIONS)
        generator.ask(Verify(VERIFY_EVENTS, VERIFY_S_MAX), Done)
        close_all(generator)
        wire.open(generator, budgets.SESSIONS)
        window = budgets.WIRE_WINDOW_EVENTS
        _measure_load(side, wire.name, generator, sizes, results, Metric.WIRES, window)


def fanout(side: Side, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """Deliveries per second with ten readers per session."""
    _load(side, generator, sizes, results, Metric.FANOUT, budgets.FANOUT_READERS)


def latency(side: Side, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """From the write on the line to the read at the reader, at a steady rate. Not on the daemon's
    path: it waits for company at purpose, and its batches are no measure of a single event."""
    if isinstance(side, DaemonPath):
        return
    side.open(generator, budgets.SESSIONS, 1)
    command = Latency(
        budgets.LATENCY_EVENTS_PER_S, budgets.WARM_S, sizes.latency_s, budgets.LATENCY_WINDOW_S
    )
    result = generator.ask(command, LatencyResult)
    close_all(generator)
    results.add(Metric.LATENCY_P50, side.name, result.p50_ms)
    results.add(Metric.LATENCY_P99, side.name, result.p99_ms)
    results.add(Metric.LATENCY_P99_TYPICAL, side.name, result.typical_p99_ms)


def replay(side: Side, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """The median time of a replay; sides without replay are left out."""
    command = side.replay(generator, sizes.replay_times)
    if command is None:
        return
    result = generator.ask(command, ReplayResult)
    close_all(generator)
    ordered = sorted(result.times_ms)
    results.add(Metric.REPLAY, side.name, ordered[len(ordered) // 2])


def idle_lines(side: Side, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """Resident memory of the server per line that only sends heartbeats."""
    _idle(side, generator, sizes, results, Metric.IDLE_LINE)


def idle_readers(side: Side, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """Resident memory of the server per reader that waits."""
    _idle(side, generator, sizes, results, Metric.IDLE_READER)


def _load(
    side: Side,
    generator: GeneratorClient,
    sizes: Sizes,
    results: Results,
    metric: Metric,
    readers: int,
) -> None:
    side.open(generator, budgets.SESSIONS, readers)
    _measure_load(side, side.name, generator, sizes, results, metric)


def _measure_load(
    side: Side,
    name: str,
    generator: GeneratorClient,
    sizes: Sizes,
    results: Results,
    metric: Metric,
    window: int = budgets.WINDOW_EVENTS,
) -> None:
    command = Load(
        window,
        budgets.WARM_S,
        sizes.load_s,
        budgets.DRAIN_QUIET_S,
        [running(side).pid],
    )
    result = generator.ask(command, LoadResult)
    close_all(generator)
    add_load(results, metric, name, result)


def add_load(results: Results, metric: Metric, name: str, result: LoadResult) -> None:
    """A rate, and what shows that it is the server's."""
    samples = results.add(metric, name, result.deliveries_per_s)
    samples.server_busy.append(result.server_busy)
    samples.generator_busy.append(result.generator_busy)
    samples.lost += result.lost


def _idle(
    side: Side, generator: GeneratorClient, sizes: Sizes, results: Results, metric: Metric
) -> None:
    open_more = side.open_idle_lines if metric is Metric.IDLE_LINE else side.open_idle_readers
    until = time.monotonic() + budgets.IDLE_OPEN_S_MAX
    open_more(generator, budgets.IDLE_WARM_CONNECTIONS)
    time.sleep(budgets.IDLE_SETTLE_S)
    server = running(side)
    before_kib = server.rss_kib()
    opened = 0
    while opened < sizes.idle_connections and time.monotonic() < until:
        open_more(generator, budgets.IDLE_LINES_PER_STEP)
        opened += budgets.IDLE_LINES_PER_STEP
    time.sleep(budgets.IDLE_SETTLE_S)
    kib = (server.rss_kib() - before_kib) / opened
    generator.ask(StillOpen(), Done)
    close_all(generator)
    if opened < sizes.idle_connections:
        results.notes.append(f"{metric.value}: {side.name} got only {opened} open in its time")
    results.add(metric, side.name, kib)
