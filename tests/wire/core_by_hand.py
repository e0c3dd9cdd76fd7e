"""The core as the pure side of a machine's wire sees it: sessions and their turns, in plain dicts.

`run` does a wire's actions as the edge would, and keeps what came of them.
"""

import json
from typing import Any

from trunkline.wire import actions
from trunkline.wire.actions import Action

Json = dict[str, Any]


class CoreByHand:
    def __init__(self, *session_ids: str) -> None:
        self._open: dict[str, dict[str, None]] = {one: {} for one in session_ids}
        self._past: set[tuple[str, str]] = set()
        self._closed: set[str] = set()
        self.late: dict[str, list[str]] = {}
        self.done: list[Action] = []
        """Every action, in its order."""
        self.events: list[Json] = []
        """What is in the logs."""

    # As the wire asks

    def has_ended(self, session_id: str, turn_id: str) -> bool:
        return turn_id not in self._open.get(session_id, {})

    def is_past(self, session_id: str, turn_id: str) -> bool:
        return (session_id, turn_id) in self._past and session_id in self._open

    def open_turns(self, session_id: str) -> dict[str, None] | None:
        return self._open.get(session_id)

    def late_turns(self, session_id: str) -> list[str]:
        return self.late.get(session_id, [])

    def open_sessions(self) -> list[str]:
        return list(self._open)

    # As a test says

    def open(self, session_id: str, turn_id: str) -> None:
        self._open.setdefault(session_id, {})[turn_id] = None

    def end(self, session_id: str, turn_id: str) -> None:
        """A turn ends, from whomever."""
        if self._open.get(session_id, {}).pop(turn_id, turn_id) is None:
            self._past.add((session_id, turn_id))

    def close(self, session_id: str) -> None:
        """It ends here; the machine has yet to be done with it."""
        self._closed.add(session_id)

    def release(self, session_id: str) -> None:
        """The session is none of this machine's any more."""
        self._open.pop(session_id, None)

    def write(self, session_id: str, lines: list[str]) -> None:
        for line in lines:
            event = json.loads(line)
            self.events.append(event)
            if event["type"].startswith("execution_") and event.get("turn_id"):
                self.end(session_id, event["turn_id"])

    def run(self, out: list[Action]) -> list[Action]:
        """Does them, and returns them."""
        some = out[:]
        out.clear()
        self.done += some
        for action in some:
            match action:
                case actions.Write():
                    self.write(action.session_id, [action.line])
                case actions.Finish():
                    event = {"type": action.kind, "turn_id": action.turn_id, **action.fields}
                    self.events.append(event)
                    self.end(action.session_id, action.turn_id)
                    if action.is_late:
                        self.late.setdefault(action.session_id, []).append(action.turn_id)
                case actions.Settled():
                    late = self.late.get(action.session_id, [])
                    self.late[action.session_id] = [one for one in late if one != action.turn_id]
                case actions.Stopped() if action.session_id in self._closed:
                    self.release(action.session_id)
                case actions.NotStarted():
                    for turn_id in list(self._open.get(action.session_id, ())):
                        end = {"type": "execution_error", "turn_id": turn_id, "code": action.code}
                        self.events.append({**end, "error": action.why})
                        self.end(action.session_id, turn_id)
        return some

    def of(self, kind: type[Action]) -> list[Any]:
        return [one for one in self.done if isinstance(one, kind)]

    @property
    def ends(self) -> list[Json]:
        return [one for one in self.events if one["type"].startswith("execution_")]

    @property
    def resumed(self) -> list[list[str]]:
        """What the core was told, at each return, that the machine has."""
        return [one.turns for one in self.of(actions.Resumed)]
