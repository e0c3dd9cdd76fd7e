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
    LATENCY_P50 = "latency at 2,000 events/s, p50, ms"
    LATENCY_P99 = "latency at 2,000 events/s, p99, ms"
    LATENCY_P99_TYPICAL = "latency at 2,000 events/s, p99 of a typical quarter second, ms"
    REPLAY = "replay of 500 events, ms"
    IDLE_LINE = "memory per idle line, KiB"
    IDLE_READER = "memory per idle reader, KiB"
    SESSIONS_FIRST = "resident memory after the first tenth of sessions that came and went, MiB"
    SESSIONS_LAST = "resident memory after all sessions that came and went, MiB"
    SESSIONS_GROWTH = "growth of resident memory after a fifth of sessions that came and went, MiB"
    SESSION_START = "start of a session, from the order to ready, ms"
    SESSION_READY_MEMORY = "memory of a session's own when it is ready, MiB"
    SESSION_MEMORY = "memory of a session's own after a turn, MiB"
    SESSION_LATER_MEMORY = "memory of a session's own after ten turns, MiB"
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
