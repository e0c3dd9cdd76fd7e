"""Messages that have not been read yet: said to a turn that runs, or waiting for its end."""

from dataclasses import dataclass

from trunkline.cli.chat.render.layout import Line, clip, indented, safe_lines, wrap
from trunkline.cli.chat.render.values import Data, mappings, text, word


@dataclass
class Message:
    """`steers`: the turn that it was said to; empty for one that opens its own."""

    said: str
    turn: str
    steers: str = ""

    def lines(self, width: int, after: str = "") -> list[Line]:
        mark, style = ("↳ ", "dim") if self.steers else ("> ", "bold")
        said = [(self.said, style), *([(f" · {after}", "dim")] if after else [])]
        return indented(wrap(said, width - 2), (mark, style))


def message_of(data: Data) -> Message:
    files = mappings(data.get("attachments"))
    names = [word(one.get("name")) or word(one.get("mime")) for one in files]
    said = text(data.get("content")) + "".join(f"\n[{name}]" for name in names)
    shown = safe_lines(said.strip("\n"))
    return Message(shown, str(data.get("turn_id")), word(data.get("steers")))


class Waiting:
    """By the name under which its end is told: the message's id, or that of its turn."""

    def __init__(self) -> None:
        self._messages: dict[str, Message] = {}

    def add(self, name: str, message: Message) -> None:
        self._messages[name] = message

    def take(self, name: str) -> Message | None:
        return self._messages.pop(name, None)

    def dropped(self, turn: str) -> list[Message]:
        """What was said to a turn that ended without reading it."""
        names = [name for name, one in self._messages.items() if one.steers == turn]
        return [self._messages.pop(name) for name in names]

    def live(self, width: int) -> list[Line]:
        lines: list[Line] = []
        for one in self._messages.values():
            first = one.said.split("\n")[0]
            after = "waits for the next step" if one.steers else "queued"
            head: Line = [("↳ " if one.steers else "> ", "dim"), (first, "dim")]
            lines.append([*clip(head, max(width - len(after) - 3, 2)), (f" · {after}", "dim")])
        return lines
