"""The results as Markdown: targets first, then one table per metric, then how it was measured.

Pure text out of `Results`; no measuring, no files.
"""

from dataclasses import dataclass

from bench import budgets
from bench.memories.scenario import POSTGRES as MEMORIES_POSTGRES
from bench.memories.scenario import SQLITE as MEMORIES_SQLITE
from bench.node.runtimes import BY_HAND, RUNTIMES
from bench.results import Metric, Results, Samples
from bench.sides.wires import AGP, SEMIBOT, YEAFT

OURS = "trunkline"
REFERENCE = "nchan"
FASTEST = "nchan, silenced"
CEILING = "pass-through"
BARE = "bare LangGraph"
SQLITE = "AsyncSqliteSaver"
NO_FSYNC = "AsyncSqliteSaver, no fsync"

_RATES = (Metric.RELAY, Metric.WIRES, Metric.FANOUT)


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
        _added(results, Metric.LATENCY_P99, budgets.LATENCY_P99_MS_MAX),
        _at_most(results, Metric.LATENCY_P99_TYPICAL, budgets.LATENCY_P99_MS_MAX),
        _at_most(results, Metric.IDLE_LINE, budgets.IDLE_KIB_PER_CONNECTION_MAX),
        _at_most(results, Metric.IDLE_READER, budgets.IDLE_KIB_PER_CONNECTION_MAX),
        _at_most(results, Metric.SESSIONS_GROWTH, budgets.SESSIONS_GROWTH_MIB_MAX),
        _at_most(results, Metric.REPLAY, budgets.REPLAY_MS_MAX),
        _at_most(results, Metric.SESSION_START, budgets.SESSION_START_MS_MAX),
        _at_most(results, Metric.SESSION_READY_MEMORY, budgets.SESSION_MIB_MAX),
        _at_most(results, Metric.SESSION_MEMORY, budgets.SESSION_MIB_MAX),
        _at_most(results, Metric.SESSION_LATER_MEMORY, budgets.SESSION_MIB_MAX),
        _at_most(results, Metric.FENCE_START, budgets.FENCE_START_MS_MAX),
        _at_most(results, Metric.FENCE_COMMAND, budgets.FENCE_COMMAND_MS_MAX),
        _at_most(results, Metric.FIRST_WORD, budgets.FIRST_WORD_MS_MAX),
        *_added_to_programs(results),
        _no_slower(results, Metric.TURN, budgets.TURN_RATIO_TO_BARE_MAX, BARE),
        _no_slower(results, Metric.CHECKPOINT, budgets.CHECKPOINT_RATIO_TO_SQLITE_MAX, SQLITE),
        _no_slower(results, Metric.CHECKPOINT, budgets.CHECKPOINT_RATIO_TO_SQLITE_MAX, NO_FSYNC),
        _at_most(results, Metric.MEMORY_NEAREST, budgets.MEMORY_NEAREST_MS_MAX, MEMORIES_SQLITE),
        _at_most(results, Metric.MEMORY_NEAREST, budgets.MEMORY_NEAREST_MS_MAX, MEMORIES_POSTGRES),
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
        if metric in results.samples:
            parts += [f"## {metric.value[0].upper()}{metric.value[1:]}", _table(results, metric)]
    parts += ["## How to read this", _legend(results)]
    if results.failures:
        parts += ["## What failed", "\n".join(f"- {line}" for line in results.failures)]
    return "\n\n".join(parts) + "\n"


def _targets(results: Results) -> str:
    rows = ["| target | seen | met |", "| --- | --- | --- |"]
    words = {True: "yes", False: "**no**", None: "not measured"}
    rows += [f"| {one.asks} | {one.seen} | {words[one.met]} |" for one in verdicts(results)]
    return "\n".join(rows)


def _at_least(results: Results, metric: Metric, ratio_min: float, peer: str) -> Verdict:
    asks = f"{metric.value}: ≥ {ratio_min:g} × {peer}"
    ours, reference = results.of(metric, OURS), results.of(metric, peer)
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


def _table(results: Results, metric: Metric) -> str:
    one = SEMIBOT if metric is Metric.WIRES else OURS
    ours = results.of(metric, one)
    rates = metric in _RATES
    head = f"| side | median | spread | {one} is |"
    rule = "| --- | --- | --- | --- |"
    if rates:
        head += " server busy | per busy second | generator busy | events lost |"
        rule += " --- | --- | --- | --- |"
    rows = [head, rule]
    for side, samples in results.samples[metric].items():
        row = f"| {side} | {_number(samples.middle)} | {_spread(samples)} |"
        row += f" {_compared(ours, samples, side)} |"
        if rates:
            row += f" {_share(samples.server_busy)} | {_number(samples.per_busy_second)} |"
            row += f" {_share(samples.generator_busy)} | {samples.lost:,} |"
        rows.append(row)
    return "\n".join(rows)


def _compared(ours: Samples | None, other: Samples, side: str) -> str:
    if ours is None or side in (OURS, SEMIBOT, CEILING) or not other.middle:
        return ""
    return f"{ours.middle / other.middle:.2f} ×"


def _legend(results: Results) -> str:
    lines = [
        "- **pass-through** is the generator's own ceiling: a peer that forwards raw bytes "
        "unread. Its latency is the floor of sockets, kernel and generator; what a side adds to "
        "it is the difference.",
        "- **nchan** has one worker, one publisher connection per session, no access log, no "
        f"pings, a buffer of {budgets.WINDOW_EVENTS:,} messages in memory, nothing durable. Its "
        "WebSocket publisher answers every message. **nchan, silenced** is the same with a "
        "publisher that also subscribes to an empty channel, which stops these answers: the "
        "fastest set-up found.",
        "- **trunkline** takes the wire as documented, one frame an event, with the rate limit of "
        "1000 messages a minute off. **trunkline, as its daemon sends** has the limit on and takes "
        "the path of our own daemon: events numbered (`seq`), "
        f"{budgets.DAEMON_BATCH_ROWS * budgets.SESSIONS:,} in one frame (`batch`), frames at least "
        f"{budgets.DAEMON_GAP_S * 1000:g} ms apart, acknowledged after each commit.",
        "- **aiohttp** receives the same frames as Trunkline and awaits one write per event and "
        "reader.",
        "- **per busy second** divides by the share of its core that the server got: where other "
        "work shared the machine, it says more than the median beside it.",
        "- The **wires** run on one Trunkline server, in turn: **Semibot** is `sse_event` to SSE, "
        "**Yeaft** an agent's `claude_output` to Yeaft web clients, byte for byte, **AGP** a "
        "device's `session.update` to SSE. Each event has the same text; the second Yeaft row has "
        "the fields beside it that Claude Code writes, so that an event is read, and kept as it "
        "came, four times as large: no target is set for it. On AGP, which drops "
        "repeats, each has an id of its own.",
        f"- At most {budgets.WINDOW_EVENTS:,} events per session are under way, "
        f"{budgets.WIRE_WINDOW_EVENTS:,} where wires are compared. Only what "
        "arrived is counted; an event that Trunkline loses would make it miss its target.",
        f"- Idle memory is the growth of resident memory over {results.idle_connections:,} "
        f"connections after {budgets.IDLE_WARM_CONNECTIONS} to warm up; readers share a session "
        f"by {budgets.IDLE_READERS_PER_SESSION}, and what the server keeps per machine and "
        "session is included.",
        "- Latency runs from the write on the line to the read at the reader. Where the "
        "pass-through's p99 is milliseconds, the host was taking its processors back; the p99 of "
        "a typical quarter second is the median over such windows. Replay runs from the request "
        "to the last event.",
        "- Checkpoints: every saver is given the same calls, recorded from a real graph; a step "
        "is its `put` and the `put_writes` that follow it. **AsyncSqliteSaver** waits for the "
        "disk at each commit; Trunkline's files and **AsyncSqliteSaver, no fsync** survive a "
        "killed process, and a power cut may cost them the last steps. **InMemorySaver** keeps "
        "nothing.",
        "- Memories: the questions of `bench/memories/pairs.tsv`, each with the one memory that "
        "answers it, among all of the table's. Most share no word with it, and the built-in "
        "model knows words, not sentences. Beside 100,000 memories of one owner, **by meaning** "
        "is the query's vector and the index of vectors, **a whole search** full text too.",
    ]
    if results.sessions_passed:
        lines.append(
            f"- Sessions that came and went: {results.sessions_passed:,}, each made, used for one "
            f"turn and closed before the next. Resident memory is the lowest of "
            f"{budgets.PASSED_SAMPLES} looks over the twentieth before; its growth is counted from "
            "the first fifth to the last session."
        )
    lines += [f"- {note}" for note in results.notes]
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def _spread(samples: Samples) -> str:
    return f"{_number(min(samples.values))} – {_number(max(samples.values))}"


def _share(values: list[float]) -> str:
    return f"{sorted(values)[len(values) // 2]:.0%}" if values else ""
