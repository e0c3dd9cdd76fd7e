"""Who speaks: the session itself, a person of a group, a sub-agent. Each says and thinks one thing
at a time, whatever the others do meanwhile."""

from dataclasses import dataclass, field

from trunkline.cli.chat.questions import speaker
from trunkline.cli.chat.render.blocks import Blocks
from trunkline.cli.chat.render.layout import Line, safe
from trunkline.cli.chat.render.turns import Moment
from trunkline.cli.chat.render.values import Data, count, mapping, word
from trunkline.cli.human import cut

_NEVER = Moment(0.0, None)
_NAME_CELLS_MAX = 24
_PALETTE = ("magenta", "cyan", "green", "yellow", "blue")


@dataclass
class Lane:
    """`name`: empty for the session itself, whose words are shown as they come."""

    name: str = ""
    style: str = ""
    is_agent: bool = False
    turn: str = ""
    parent: str = ""
    blocks: Blocks = field(default_factory=Blocks)
    said: str = ""
    """All that was said in this turn."""
    since_last: str = ""
    """What was said since something else happened."""
    thought: str = ""
    thinks_since: Moment = _NEVER

    @property
    def who(self) -> Line:
        return [(f"{self.name} ", self.style)] if self.name else []

    def missing(self, answer: str, *, is_lost: bool) -> str:
        """What was not heard of the whole answer; all of it where that cannot be told."""
        wanted, said = "".join(answer.split()), "".join(self.said.split())
        if not wanted or wanted in said:
            return ""
        if answer.startswith(self.since_last):
            return answer[len(self.since_last) :]
        return answer if is_lost or not said else ""


class Lanes:
    """By whom events are."""

    def __init__(self) -> None:
        self.main = Lane()
        self._others: dict[str, Lane] = {}
        self._styles: dict[str, str] = {}

    def of(self, data: Data) -> Lane:
        person = speaker(data)
        agent, parent = word(data.get("agent")), word(data.get("parent_tool_call_id"))
        if not (person or agent or parent):
            return self.main
        turn = str(data.get("turn_id"))
        ask = count(mapping(data.get("group")).get("ask"))
        key = f"{mapping(data.get('person')).get('id')}\n{ask}\n{agent}\n{parent}\n{turn}"
        if key not in self._others:
            under = safe(agent) or ("agent" if parent else "")
            name = cut(" / ".join(filter(None, (person, under))), _NAME_CELLS_MAX)
            self._others[key] = Lane(name, self.style(name), bool(under), turn, parent)
        return self._others[key]

    def style(self, name: str) -> str:
        """The same for the same name."""
        colour = _PALETTE[len(self._styles) % len(_PALETTE)]
        return self._styles.setdefault(name, f"bold {colour}")

    @property
    def others(self) -> list[Lane]:
        return list(self._others.values())

    def end(self, turn: str) -> list[Lane]:
        """Those of that turn, which is over."""
        gone = [key for key, lane in self._others.items() if lane.turn == turn]
        return [self._others.pop(key) for key in gone]
