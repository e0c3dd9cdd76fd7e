"""Calls that run, by their id."""

from itertools import count

from trunkline.cli.chat.render.calls import Call
from trunkline.cli.chat.render.layout import Line, safe
from trunkline.cli.chat.render.turns import Clock
from trunkline.cli.chat.render.values import Data, word


class Running:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: dict[str, Call] = {}
        self._numbers = count()

    def by_id(self, data: Data) -> Call | None:
        return self._calls.get(word(data.get("tool_call_id")))

    def find(self, data: Data) -> Call | None:
        """By its id, else the newest of that name."""
        if data.get("tool_call_id"):
            return self.by_id(data)
        named = [one for one in self._calls.values() if one.name == name_of(data)]
        return named[-1] if named else None

    def begin(self, data: Data, who: Line, *, is_skill: bool) -> Call:
        name = name_of(data)
        call = Call(
            name=name,
            given=data.get("tool_input", data.get("arguments", data.get("input"))),
            who=who,
            turn=str(data.get("turn_id")),
            began=self._clock.now(),
            title=word(data.get("title")),
            skill=safe(name) if is_skill else "",
        )
        self._calls[word(data.get("tool_call_id")) or f"\n{next(self._numbers)}"] = call
        return call

    def finish(self, call: Call) -> None:
        call.over(self._clock.since(call.began))
        self._calls = {name: one for name, one in self._calls.items() if one is not call}

    def of_turn(self, turn: str) -> list[Call]:
        return [one for one in self._calls.values() if one.turn in (turn, "None")]

    def live(self, mark: str, width: int) -> list[Line]:
        return [
            line
            for call in self._calls.values()
            for line in call.live(mark, self._clock.since(call.began), width)
        ]


def name_of(data: Data) -> str:
    names = (word(data.get(field)) for field in ("tool_name", "skill_name", "name"))
    return next(filter(None, names), "?")
