"""What a run has measured: a few numbers per metric and side, and what went wrong.

Filled by the suite, read by the report; knows nothing about how a number came about.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from statistics import median


class Metric(Enum):
    """What is measured; the value is the heading and unit in the report."""

    RELAY = "events/s relayed, 10 sessions, one reader each"
    WIRES = "events/s relayed on each wire, 10 sessions, one reader each"
    FANOUT = "deliveries/s, 10 sessions, ten readers each"
    CROWD = "events/s in a crowd: 1,000 lines with a session and a reader each, one event under way"
    CROWD_P50 = "latency in that crowd at 20,000 events/s, p50, ms"
    CROWD_P99 = "latency in that crowd at 20,000 events/s, p99, ms"
    HERD = "500 lines and 2,000 readers that come back at once after a kill, all of them back, s"
    HERD_LINES = "of these, the lines back, s"
    LATENCY_P50 = "latency at 2,000 events/s, p50, ms"
    LATENCY_P99 = "latency at 2,000 events/s, p99, ms"
    LATENCY_P99_TYPICAL = "latency at 2,000 events/s, p99 of a typical quarter second, ms"
    REPLAY = "replay of 500 events, ms"
    LAST_PAGE = "last page of a session with 100,000 events, after a restart, ms"
    JOURNAL_START = "start after a kill, ms"
    COMMIT = "a commit of one event of each session, ms"
    FOLD = "the fold behind it, for each event, µs"
    DISK = "a session with one short turn, KiB"
    IDLE_LINE = "memory per idle line, KiB"
    IDLE_READER = "memory per idle reader, KiB"
    SESSIONS_FIRST = "resident memory after the first tenth of sessions that came and went, MiB"
    SESSIONS_LAST = "resident memory after all sessions that came and went, MiB"
    SESSIONS_GROWTH = "growth of resident memory after a fifth of sessions that came and went, MiB"
    SESSION_START = "start of a session, from the order to ready, ms"
    SESSION_READY_MEMORY = "memory of a session's own when it is ready, MiB"
    SESSION_MEMORY = "memory of a session's own after a turn, MiB"
    SESSION_LATER_MEMORY = "memory of a session's own after ten turns, MiB"
    SESSION_MCP_MEMORY = "memory of a session's own with one stdio MCP server, after a turn, MiB"
    FENCE_START = "what the fence adds to the start of a session, on the processor, ms"
    FENCE_COMMAND = "what the fence adds to a command, ms"
    FIRST_WORD = "from the model's first byte to the reader's first event, ms"
    RUNTIME_FIRST_WORD = "from a message to the first word of its answer, each runtime, ms"
    RUNTIME_MEMORY = "memory of a runtime's program and what it started, one session, MiB"
    TURN = "a turn with a scripted model and one tool call, ms"
    CHECKPOINT = "checkpoint of a step with its writes, 5 to 50 messages, µs"
    RECALL_ENGLISH = "memories found among the five best, English questions, %"
    RECALL_CHINESE = "memories found among the five best, Chinese questions, %"
    MEMORY_NEAREST = "the nearest of 100,000 memories by meaning, ms"
    MEMORY_SEARCH = "a whole search among 100,000 memories, ms"
    PAGE_TASK = "the page's longest task, 1,000 events/s a session for a minute, ms"
    PAGE_HEAP = "growth of the page's heap in that minute, for each session, MiB"
    PAGE_NODES = "elements of the page after that minute"
    PAGE_OPEN = "a session of 10,000 events, from the address to its last row, ms"
    PAGE_SCROLL = "the page's longest task while that session is scrolled through, ms"
    STARTUP = "start of a command, on the processor, ms"


@dataclass
class Samples:
    """The rounds of one metric on one side."""

    values: list[float] = field(default_factory=list)
    server_busy: list[float] = field(default_factory=list)
    generator_busy: list[float] = field(default_factory=list)
    lost: int = 0

    @property
    def per_busy_second(self) -> float:
        """The median per second that the server had its core: what other work took is left out."""
        pairs = zip(self.values, self.server_busy, strict=True)
        return median(value / busy for value, busy in pairs if busy) if self.server_busy else 0.0

    @property
    def busy_time(self) -> float:
        """Of a time: the median of what the server used of its core in it."""
        return median(
            value * busy for value, busy in zip(self.values, self.server_busy, strict=True)
        )

    @property
    def middle(self) -> float:
        return median(self.values)


@dataclass
class Results:
    """Everything of one run."""

    samples: dict[Metric, dict[str, Samples]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Samples))
    )
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    idle_connections: int = 0
    sessions_passed: int = 0

    def add(self, metric: Metric, side: str, value: float) -> Samples:
        """Note one round's number; gives the samples, for what else that round showed."""
        samples = self.samples[metric][side]
        samples.values.append(value)
        return samples

    def of(self, metric: Metric, side: str) -> Samples | None:
        """None when that side was not measured, or never with success."""
        return self.samples.get(metric, {}).get(side)
