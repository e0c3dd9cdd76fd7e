"""The crowd and the herd: a thousand machines that each say a word, and what a restart costs them.

Each side has its core to itself: it is started, measured and ended before the next.
"""

from bench import budgets
from bench.commands import (
    Done,
    HerdResult,
    Latency,
    LatencyResult,
    LoadResult,
    OneEach,
    StillOpen,
    Verify,
)
from bench.generator.client import GeneratorClient
from bench.results import Metric, Results
from bench.scenarios import VERIFY_S_MAX, Sizes, add_load
from bench.sides.base import CrowdSide, close_all, running
from bench.sides.crowd import CrowdedTrunkline
from bench.sides.passthrough import Passthrough

_RATE_SHARE_MIN = 0.98


def crowd(side: CrowdSide, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """Events per second with one under way on each line."""
    side.open_crowd(generator, sizes.crowd_lines, 1)
    command = OneEach(budgets.WARM_S, sizes.load_s, budgets.DRAIN_QUIET_S, _pids(side))
    result = generator.ask(command, LoadResult)
    generator.ask(StillOpen(), Done)
    close_all(generator)
    add_load(results, Metric.CROWD, side.name, result)


def crowd_latency(
    side: CrowdSide, generator: GeneratorClient, sizes: Sizes, results: Results
) -> None:
    """From a line to its reader at a steady rate over all of them."""
    side.open_crowd(generator, sizes.crowd_lines, 1)
    asked = sizes.crowd_events_per_s
    command = Latency(asked, budgets.WARM_S, sizes.latency_s, budgets.LATENCY_WINDOW_S)
    result = generator.ask(command, LatencyResult)
    close_all(generator)
    results.add(Metric.CROWD_P50, side.name, result.p50_ms)
    results.add(Metric.CROWD_P99, side.name, result.p99_ms)
    if result.events_per_s < asked * _RATE_SHARE_MIN:
        results.notes.append(
            f"latency in a crowd, {side.name}: a round had {result.events_per_s:,.0f} events/s, "
            f"not {asked:,}: the generator could not send more"
        )


def herd(side: CrowdSide, generator: GeneratorClient, sizes: Sizes, results: Results) -> None:
    """All back after a kill. The pass-through shows what opening so many takes by itself."""
    lines, readers = sizes.herd_lines, budgets.HERD_READERS_PER_LINE
    if isinstance(side, Passthrough):
        command = side.come(lines, readers)
    elif isinstance(side, CrowdedTrunkline):
        side.open_crowd(generator, lines, readers)
        generator.ask(Verify(budgets.HERD_EVENTS, VERIFY_S_MAX), Done)
        command = side.herd(lines, readers, budgets.HERD_MISSED_EVENTS)
        running(side).kill()
        close_all(generator)
        side.launch()
        command.server_pids = side.pids()
    else:
        return
    result = generator.ask(command, HerdResult)
    if not isinstance(side, Passthrough):
        # They are not only let in: what a line says now, all its readers get.
        generator.ask(Verify(1, VERIFY_S_MAX), Done)
    close_all(generator)
    samples = results.add(Metric.HERD, side.name, max(result.lines_s, result.readers_s))
    samples.server_busy.append(result.server_busy)
    samples.generator_busy.append(result.generator_busy)
    results.add(Metric.HERD_LINES, side.name, result.lines_s)


def _pids(side: CrowdSide) -> list[int]:
    return side.pids() if isinstance(side, CrowdedTrunkline) else [running(side).pid]
