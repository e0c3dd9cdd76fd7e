"""What a client saw of a session, in no protocol's words, so that clients can be compared."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from tests.support.news import News

WAIT_S = 60.0


class Kind(StrEnum):
    USER = "user"
    TEXT = "text"
    THINKING = "thinking"
    TOOL = "tool"
    RESULT = "result"
    QUESTION = "question"
    ANSWERED = "answered"
    END = "end"
    CANCELLED = "cancelled"
    ERROR = "error"


ENDS = (Kind.END, Kind.CANCELLED, Kind.ERROR)


class Seen(NamedTuple):
    """One thing that was shown. `id` pairs a tool with its result, a question with its answer;
    `text` is a tool's name, or what was said, asked, printed or wrong; `who` is a person's name."""

    kind: Kind
    text: str = ""
    id: str = ""
    who: str = ""


class View:
    """What one client has shown of one session so far."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self._news = News(WAIT_S)

    def show(self, *things: Seen) -> None:
        self.seen += things
        self._news.tell()

    def clear(self) -> None:
        """The client starts over with this session."""
        self.seen = []
        self._news.tell()

    def of(self, *kinds: Kind) -> list[Seen]:
        return [one for one in self.seen if one.kind in kinds]

    def text(self, who: str = "") -> str:
        """The answer, put together from its pieces."""
        return "".join(one.text for one in self.of(Kind.TEXT) if one.who == who)

    async def until(self, ready: Callable[["View"], object], what: str) -> None:
        await self._news.until(lambda: ready(self), what, lambda: self.seen[-12:])

    async def first(self, *kinds: Kind, number: int = 1) -> Seen:
        """The first thing of these kinds, or the nth; waits for it."""
        name = " or ".join(kinds)
        await self.until(lambda view: len(view.of(*kinds)) >= number, f"{name} number {number}")
        return self.of(*kinds)[number - 1]

    async def until_text(self, text: str) -> None:
        await self.until(lambda view: view.text() == text, f"the text {text!r}")

    async def end(self, number: int = 1) -> Seen:
        """How the turn ended."""
        return await self.first(*ENDS, number=number)


def without_pieces(seen: Sequence[Seen]) -> list[Seen]:
    """The same with neighbouring pieces of text joined: protocols may cut them differently."""
    joined: list[Seen] = []
    for one in seen:
        last = joined[-1] if joined else None
        if last and one.kind is last.kind is Kind.TEXT and one.who == last.who:
            joined[-1] = last._replace(text=last.text + one.text)
        else:
            joined.append(one)
    return joined
