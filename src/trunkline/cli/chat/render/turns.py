"""Turns that run: since when, and what they took."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from trunkline.cli.chat.render.notices import Usage
from trunkline.cli.chat.render.values import Data, number

_ENDED_KEPT = 200


class Moment(NamedTuple):
    """By the clock here, and by the one of the machine, where an event said it."""

    here: float
    there_ms: float | None


class Clock:
    """How long things took: as the events say, so that what is read again later says it too; what
    still runs, as the clock here says."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self.seconds = seconds
        self._event_ms: float | None = None
        self._read_at = 0.0

    def read(self, data: Data) -> None:
        """An event that is being shown."""
        self._event_ms = number(data.get("ts"))
        self._read_at = self.seconds()

    def now(self) -> Moment:
        return Moment(self._read_at, self._event_ms)

    def since(self, moment: Moment) -> float:
        """Up to the last event, and from there on as time goes by here."""
        passed = self.seconds() - self._read_at
        if self._event_ms is None or moment.there_ms is None:
            return self._read_at - moment.here + passed
        return (self._event_ms - moment.there_ms) / 1000 + passed


@dataclass
class Turn:
    name: str
    began: Moment | None
    usage: Usage = field(default_factory=Usage)


class Turns:
    """By name. `is_lost`: events were lost, so that the whole text at the end decides."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[str, Turn] = {}
        self._ended: deque[str] = deque(maxlen=_ENDED_KEPT)
        self.is_lost = False

    def begin(self, data: Data) -> None:
        """An event of a turn: it runs, also if nobody here has seen its beginning."""
        name = data.get("turn_id")
        if isinstance(name, str) and name not in self._ended and name not in self._running:
            self._running[name] = Turn(name, self._clock.now())

    def used(self, data: Data) -> None:
        if turn := self._find(data):
            turn.usage.add(data)

    def end(self, data: Data) -> Turn | None:
        """None for one that had ended before: the first end counts."""
        name = data.get("turn_id")
        if isinstance(name, str) and name in self._ended:
            return None
        turn = self._find(data) or Turn(str(name), None)
        self._running.pop(turn.name, None)
        self._ended.append(turn.name)
        return turn

    def seconds(self, turn: Turn) -> float | None:
        return None if turn.began is None else self._clock.since(turn.began)

    def since(self) -> float | None:
        """How long the oldest has run; None if none does."""
        oldest = next(iter(self._running.values()), None)
        return None if oldest is None else self.seconds(oldest)

    def _find(self, data: Data) -> Turn | None:
        """One without a name is of the oldest that runs."""
        name = data.get("turn_id")
        if isinstance(name, str):
            return self._running.get(name)
        return next(iter(self._running.values()), None)
