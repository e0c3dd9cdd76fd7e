"""What a machine that numbers its events has said and nobody has acknowledged, as our daemon keeps
it: where it is full, the oldest that nobody waits for go, and their numbers are skipped."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from trunkline.execution.ws.events import Event


class Said(NamedTuple):
    seq: int
    turn_id: str
    line: str


class SimOutbox:
    def __init__(self, events_max: int | None) -> None:
        """`events_max`: of one session; None: it has room for all."""
        self._max = events_max
        self._said: dict[str, list[Said]] = {}
        self._seqs: dict[str, int] = {}
        self.dropped = 0

    def clear(self) -> None:
        """It was not on a disk."""
        self._said.clear()
        self._seqs.clear()

    def open(self, session_id: str, acked: int) -> None:
        """The control plane has seen numbers up to `acked`: those of here go on there."""
        self._seqs[session_id] = max(self._seqs.get(session_id, 0), acked)

    def add(self, session_id: str, turn_id: str, event: dict[str, Any]) -> Said:
        self._seqs[session_id] = seq = self._seqs.get(session_id, 0) + 1
        one = Said(seq, turn_id, json.dumps(event))
        said = self._said.setdefault(session_id, [])
        said.append(one)
        if self._max is not None and len(said) > self._max:
            self._shrink(session_id, self._max)
        return one

    def _shrink(self, session_id: str, left_max: int) -> None:
        left, over = [], len(self._said[session_id]) - left_max
        for one in self._said[session_id]:
            if over > 0 and not Event(one.line).is_kept:
                over -= 1
                self.dropped += 1
            else:
                left.append(one)
        self._said[session_id] = left

    def acked(self, acked: dict[str, int]) -> None:
        for session_id, seq in acked.items():
            if session_id in self._said:
                self._said[session_id] = [one for one in self._said[session_id] if one.seq > seq]

    def turns(self) -> set[str]:
        """Whose last words may not have arrived."""
        return {one.turn_id for said in self._said.values() for one in said}

    def __iter__(self) -> Iterator[tuple[str, Said]]:
        for session_id, said in self._said.items():
            for one in list(said):
                yield session_id, one
