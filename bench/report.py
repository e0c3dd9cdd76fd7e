"""The results as Markdown: targets first, then one table per metric, then how it was measured.

Pure text out of `Results`; no measuring, no files.
"""

from dataclasses import dataclass

from bench import budgets, startup
from bench.legend import legend
from bench.memories.scenario import POSTGRES as MEMORIES_POSTGRES
from bench.memories.scenario import SQLITE as MEMORIES_SQLITE
from bench.node.runtimes import BY_HAND, RUNTIMES
from bench.results import Metric, Results, Samples
from bench.sides.crowd import OnPostgres
from bench.sides.wires import AGP, SEMIBOT, YEAFT
from bench.stored import commits, disk, journal_start

OURS = "trunkline"
ON_POSTGRES = OnPostgres.name
REFERENCE = "nchan"
FASTEST = "nchan, silenced"
CEILING = "pass-through"
BARE = "bare LangGraph"
SQLITE = "AsyncSqliteSaver"
NO_FSYNC = "AsyncSqliteSaver, no fsync"

_TIMES = (Metric.HERD, Metric.JOURNAL_START)  # that a server works through
_RATES = (Metric.RELAY, Metric.WIRES, Metric.FANOUT, Metric.CROWD)


@dataclass(frozen=True)
class Verdict:
    """One target: what it asks, what was seen, whether that is enough (None: not measured)."""

    asks: str
    seen: str
    met: bool | None


def verdicts(results: Results) -> list[Verdict]:
    """Every target; against nchan and SQLite also what no target asks, their fastest set-up."""
    return [
        _at_least(results, Metric.RELAY, budgets.RELAY_RATIO_TO_NCHAN_MIN, REFERENCE),
        _at_least(results, Metric.RELAY, budgets.RELAY_RATIO_TO_NCHAN_MIN, FASTEST),
        _at_least(results, Metric.FANOUT, budgets.FANOUT_RATIO_TO_NCHAN_MIN, REFERENCE),
        _at_least(results, Metric.FANOUT, budgets.FANOUT_RATIO_TO_NCHAN_MIN, FASTEST),
        _no_slower_wire(results, YEAFT, budgets.WIRE_RATIO_TO_SEMIBOT_MAX),
        _no_slower_wire(results, AGP, budgets.WIRE_RATIO_TO_SEMIBOT_MAX),
        _at_least(results, Metric.CROWD, budgets.CROWD_RATIO_TO_NCHAN_MIN, REFERENCE),
        _at_least(results, Metric.CROWD, budgets.CROWD_RATIO_TO_NCHAN_MIN, FASTEST),
        _at_least(
            results,
            Metric.CROWD,
            budgets.CROWD_POSTGRES_RATIO_TO_NCHAN_MIN,
            REFERENCE,
            ON_POSTGRES,
        ),
        _at_least(
            results, Metric.CROWD, budgets.CROWD_POSTGRES_RATIO_TO_NCHAN_MIN, FASTEST, ON_POSTGRES
        ),
        _at_most(results, Metric.CROWD_P99, budgets.CROWD_LATENCY_P99_MS_MAX),
        _at_most(results, Metric.HERD, budgets.HERD_S_MAX),
        _at_most(results, Metric.HERD, budgets.HERD_S_MAX, ON_POSTGRES),
        _added(results, Metric.LATENCY_P99, budgets.LATENCY_P99_MS_MAX),
        _at_most(results, Metric.LATENCY_P99_TYPICAL, budgets.LATENCY_P99_MS_MAX),
        _at_most(results, Metric.IDLE_LINE, budgets.IDLE_LINE_KIB_MAX),
        _at_most(results, Metric.IDLE_READER, budgets.IDLE_READER_KIB_MAX),
        _at_most(results, Metric.SESSIONS_GROWTH, budgets.SESSIONS_GROWTH_MIB_MAX),
        _at_most(results, Metric.REPLAY, budgets.REPLAY_MS_MAX),
        _full_journal(results),
        _on_disk(results),
        _at_most(results, Metric.LAST_PAGE, budgets.LAST_PAGE_MS_MAX),
        _at_most(results, Metric.SESSION_START, budgets.SESSION_START_MS_MAX),
        _at_most(results, Metric.SESSION_READY_MEMORY, budgets.SESSION_MIB_MAX),
        _at_most(results, Metric.SESSION_MEMORY, budgets.SESSION_MIB_MAX),
        _at_most(results, Metric.SESSION_LATER_MEMORY, budgets.SESSION_MIB_MAX),
        _at_most(results, Metric.SESSION_MCP_MEMORY, budgets.SESSION_MCP_MIB_MAX),
        _at_most(results, Metric.FENCE_START, budgets.FENCE_START_MS_MAX),
        _at_most(results, Metric.FENCE_COMMAND, budgets.FENCE_COMMAND_MS_MAX),
        _at_most(results, Metric.FIRST_WORD, budgets.FIRST_WORD_MS_MAX),
        *_added_to_programs(results),
        _no_slower(results, Metric.TURN, budgets.TURN_RATIO_TO_BARE_MAX, BARE),
        _no_slower(results, Metric.CHECKPOINT, budgets.CHECKPOINT_RATIO_TO_SQLITE_MAX, SQLITE),
        _no_slower(results, Metric.CHECKPOINT, budgets.CHECKPOINT_RATIO_TO_SQLITE_MAX, NO_FSYNC),
        _at_most(results, Metric.MEMORY_NEAREST, budgets.MEMORY_NEAREST_MS_MAX, MEMORIES_SQLITE),
        _at_most(results, Metric.MEMORY_NEAREST, budgets.MEMORY_NEAREST_MS_MAX, MEMORIES_POSTGRES),
        *(
            _at_most(results, metric, most, side)
            for metric, most in (
                (Metric.PAGE_TASK, budgets.PAGE_TASK_MS_MAX),
                (Metric.PAGE_HEAP, budgets.PAGE_HEAP_MIB_MAX),
            )
            for side in ("1 session", f"{budgets.PAGE_SESSIONS} sessions")
        ),
        _at_most(results, Metric.PAGE_OPEN, budgets.PAGE_OPEN_MS_MAX),
        _at_most(results, Metric.PAGE_SCROLL, budgets.PAGE_TASK_MS_MAX),
        _start(results, startup.HELP, budgets.HELP_START_MS_MAX),
        _start(results, startup.CHAT, budgets.CHAT_START_MS_MAX),
    ]


def render(results: Results, facts: list[str], rounds: int) -> str:
    """The whole page."""
    parts = [
        "# Benchmark results",
        "Written by `make bench`; do not edit. Loopback only; the server on one core, the load "
        f"generator on another. Rounds: {rounds}, sides interleaved, medians. "
        "Trunkline commits every event to its durable log before delivery; the others keep "
        "nothing.",
        "\n".join(f"- {fact}" for fact in facts),
        "## Targets",
        _targets(results),
    ]
    for metric in Metric:
        if metric in results.samples and metric is not Metric.FOLD:  # beside the commits
            table = _curve(results) if metric is Metric.COMMIT else _table(results, metric)
            parts += [f"## {metric.value[0].upper()}{metric.value[1:]}", table]
    parts += ["## How to read this", legend(results)]
    if results.failures:
        parts += ["## What failed", "\n".join(f"- {line}" for line in results.failures)]
    return "\n\n".join(parts) + "\n"


def _targets(results: Results) -> str:
    rows = ["| target | seen | met |", "| --- | --- | --- |"]
    words = {True: "yes", False: "**no**", None: "not measured"}
    rows += [f"| {one.asks} | {one.seen} | {words[one.met]} |" for one in verdicts(results)]
    return "\n".join(rows)


def _at_least(
    results: Results, metric: Metric, ratio_min: float, peer: str, side: str = OURS
) -> Verdict:
    asks = f"{metric.value}: ≥ {ratio_min:g} × {peer}" + (f", {side}" if side != OURS else "")
    ours, reference = results.of(metric, side), results.of(metric, peer)
    if ours is None or reference is None:
        return Verdict(asks, "–", None)
    ratio = ours.middle / reference.middle
    if ours.lost:
        return Verdict(asks, f"{ratio:.2f} ×, but {ours.lost:,} events lost", False)
    return Verdict(asks, f"{ratio:.2f} ×", ratio >= ratio_min)


def _no_slower_wire(results: Results, wire: str, ratio_max: float) -> Verdict:
    """How many times as fast the Semibot wire is."""
    asks = f"{Metric.WIRES.value}: {SEMIBOT} ≤ {ratio_max:g} × {wire}"
    theirs, semibot = results.of(Metric.WIRES, wire), results.of(Metric.WIRES, SEMIBOT)
    if theirs is None or semibot is None:
        return Verdict(asks, "–", None)
    ratio = semibot.middle / theirs.middle
    if theirs.lost:
        return Verdict(asks, f"{ratio:.2f} ×, but {theirs.lost:,} events lost", False)
    return Verdict(asks, f"{ratio:.2f} ×", ratio <= ratio_max)


def _no_slower(results: Results, metric: Metric, ratio_max: float, peer: str) -> Verdict:
    asks = f"{metric.value}: ≤ {ratio_max:g} × {peer}"
    ours, reference = results.of(metric, OURS), results.of(metric, peer)
    if ours is None or reference is None:
        return Verdict(asks, "–", None)
    ratio = ours.middle / reference.middle
    return Verdict(asks, f"{ratio:.2f} ×", ratio <= ratio_max)


def _added(results: Results, metric: Metric, most: float) -> Verdict:
    """What Trunkline adds to the latency that sockets, kernel and generator have by themselves."""
    asks = f"added {metric.value}: ≤ {most:g}"
    ours, floor = results.of(metric, OURS), results.of(metric, CEILING)
    if ours is None or floor is None:
        return Verdict(asks, "–", None)
    added = max(0.0, ours.middle - floor.middle)
    seen = f"{added:.2f} ({ours.middle:.2f} − {floor.middle:.2f} of pass-through)"
    return Verdict(asks, seen, added <= most)


def _full_journal(results: Results) -> Verdict:
    """The whole start; that with an empty journal only says how much of it the journal is."""
    asks = f"a full journal, {Metric.JOURNAL_START.value}: ≤ {budgets.JOURNAL_START_MS_MAX:g}"
    full = results.of(Metric.JOURNAL_START, journal_start.FULL)
    empty = results.of(Metric.JOURNAL_START, journal_start.EMPTY)
    if full is None:
        return Verdict(asks, "–", None)
    seen = f"{full.middle:.0f}"
    if empty is not None:
        seen += f" ({empty.middle:.0f} with nothing in it)"
    return Verdict(asks, seen, full.middle <= budgets.JOURNAL_START_MS_MAX)


def _on_disk(results: Results) -> Verdict:
    most = budgets.DISK_RATIO_TO_EVENTS_MAX
    asks = f"a session with one turn that writes a note, on the disk: ≤ {most:g} × its events"
    events = results.of(Metric.DISK, disk.row(disk.NOTE, disk.EVENTS))
    file = results.of(Metric.DISK, disk.row(disk.NOTE, disk.FILE))
    if events is None or file is None:
        return Verdict(asks, "–", None)
    ratio = file.middle / events.middle
    seen = f"{ratio:.2f} × ({file.middle:.1f} KiB for {events.middle:.1f})"
    return Verdict(asks, seen, ratio <= most)


def _added_to_programs(results: Results) -> list[Verdict]:
    """What Trunkline adds to each program that was measured by hand as well."""
    metric, most = Metric.RUNTIME_FIRST_WORD, budgets.RUNTIME_ADDED_MS_MAX
    found = []
    for runtime in RUNTIMES:
        asks = f"added to {runtime.name}, {metric.value}: ≤ {most:g}"
        ours, by_hand = results.of(metric, runtime.name), results.of(metric, runtime.name + BY_HAND)
        if ours is None or by_hand is None:
            found.append(Verdict(asks, "–", None))
            continue
        added = ours.middle - by_hand.middle
        seen = f"{added:.1f} ({ours.middle:.1f} − {by_hand.middle:.1f} by hand)"
        found.append(Verdict(asks, seen, added <= most))
    return found


def _at_most(results: Results, metric: Metric, most: float, side: str = OURS) -> Verdict:
    asks = f"{metric.value}: ≤ {most:g}" + (f", {side}" if side != OURS else "")
    ours = results.of(metric, side)
    if ours is None:
        return Verdict(asks, "–", None)
    floor = results.of(metric, CEILING)
    seen = f"{ours.middle:.2f}" + (f" (floor {floor.middle:.2f})" if floor else "")
    return Verdict(asks, seen, ours.middle <= most)


def _start(results: Results, command: str, most: float) -> Verdict:
    """With the ratio to what Python alone takes, which says more on another machine."""
    asks = f"{Metric.STARTUP.value}: {command} ≤ {most:g}"
    ours, bare = results.of(Metric.STARTUP, command), results.of(Metric.STARTUP, startup.BARE)
    if ours is None or bare is None:
        return Verdict(asks, "–", None)
    ratio = ours.middle / bare.middle
    return Verdict(asks, f"{ours.middle:.1f} ({ratio:.1f} × {startup.BARE})", ours.middle <= most)


def _table(results: Results, metric: Metric) -> str:
    one = SEMIBOT if metric is Metric.WIRES else OURS
    ours = results.of(metric, one)
    head, rule = f"| side | median | spread | {one} is |", "| --- | --- | --- | --- |"
    if metric in _RATES:
        head += " server busy | per busy second | generator busy | events lost |"
        rule += " --- | --- | --- | --- |"
    elif metric in _TIMES:
        head += " server busy | on its processor | generator busy |"
        rule += " --- | --- | --- |"
    rows = [head, rule]
    for side, samples in results.samples[metric].items():
        row = f"| {side} | {_number(samples.middle)} | {_spread(samples)} |"
        row += f" {_compared(ours, samples, side)} |"
        if metric in _RATES:
            row += f" {_share(samples.server_busy)} | {_number(samples.per_busy_second)} |"
            row += f" {_share(samples.generator_busy)} | {samples.lost:,} |"
        elif metric in _TIMES:
            row += f" {_share(samples.server_busy)} | {_number(samples.busy_time)} |"
            row += f" {_share(samples.generator_busy)} |"
        rows.append(row)
    return "\n".join(rows)


def _curve(results: Results) -> str:
    """What a commit takes as its sessions become more, and what that is for each event."""
    rows = [
        "| store | sessions | a commit, ms | spread | for each event, µs | the fold, µs an event |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for engine in (commits.SQLITE, commits.POSTGRES):
        for sessions in budgets.COMMIT_SESSIONS:
            name = commits.row(engine, sessions)
            seen, fold = results.of(Metric.COMMIT, name), results.of(Metric.FOLD, name)
            if seen is not None and fold is not None:
                each_us = 1000 * seen.middle / sessions
                rows.append(
                    f"| {engine} | {sessions:,} | {seen.middle:.2f} | {_spread(seen)} "
                    f"| {each_us:.2f} | {fold.middle:.2f} |"
                )
    return "\n".join(rows)


def _compared(ours: Samples | None, other: Samples, side: str) -> str:
    if ours is None or side in (OURS, SEMIBOT, CEILING) or not other.middle:
        return ""
    return f"{ours.middle / other.middle:.2f} ×"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def _spread(samples: Samples) -> str:
    return f"{_number(min(samples.values))} – {_number(max(samples.values))}"


def _share(values: list[float]) -> str:
    return f"{sorted(values)[len(values) // 2]:.0%}" if values else ""
