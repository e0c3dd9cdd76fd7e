"""What sessions are called: by a person, else by their first message, else by a model.

A person's word counts more than all others; a model's replaces the message's alone.
"""

import re
import unicodedata
from typing import Any, Literal, NamedTuple

import structlog
from sqlalchemy import and_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.clock import Clock
from trunkline.control.redaction import redact
from trunkline.control.services.methods import Caller
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import sessions, turns
from trunkline.control.watchers import Watchers

_log = structlog.get_logger(__name__)

TitledBy = Literal["user", "message", "model"]

TITLE_CHARS = 60
"""About: a title ends with a word."""
# Of a message that may be much longer. What looks for Markdown takes time with the square of this.
_READ_CHARS_MAX = 1_000
_MARKED_CHARS_MAX = 4 * TITLE_CHARS
_WORD_CHARS_MAX = TITLE_CHARS // 2
_JOINERS = "\u200c\u200d"  # invisible, and part of what some scripts write
_FENCE = re.compile(r"\s*(```|~~~)")
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s[^()]*)?\)")
_MARKS = re.compile(r"(\*{1,3}|_{2,3}|~~|`+)(?=\S)(.+?)(?<=\S)\1")
_OPENING = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)+")
_RULE = re.compile(r"\s*([-*_=])(?:\s*\1)+\s*")


class Titled(NamedTuple):
    session_id: str
    user_id: str


class Titles:
    def __init__(self, store: Store, clock: Clock, changed: Watchers[Titled]) -> None:
        """`changed`: told of the sessions that are called something else now."""
        self._store = store
        self._clock = clock
        self._changed = changed

    async def give(self, session_id: str, title: str | None) -> None:
        """A person's; None takes it away."""
        by: TitledBy | None = None if title is None else "user"
        await self._set(sessions.c.id == session_id, title, by)

    async def told(self, caller: Caller, title: str) -> dict[str, Any]:
        """The request `set_title`: a model's, of the session that asks."""
        made = of_message(title).strip("\"'“”‘’«»。. ")
        own = and_(sessions.c.id == caller.session_id, sessions.c.titled_by == "message")
        is_taken = bool(made) and await self._set(own, made, "model")
        return {"accepted": is_taken}

    async def _set(self, which: Any, title: str | None, by: TitledBy | None) -> bool:
        values = {"title": title, "titled_by": by, "updated_at": self._clock()}
        changing = update(sessions).where(which).values(values)
        async with self._store.write() as connection:
            found = (await connection.execute(changing.returning(*_OWNER))).all()
        for row in found:
            self._changed.tell(Titled(*row))
        return bool(found)


_OWNER = sessions.c.id, sessions.c.user_id


async def name_after(connection: AsyncConnection, session_id: str, message: str) -> list[Titled]:
    """A session that nobody has given a title is called after its first message: the session, if
    it is called something else now. For the transaction that records the message."""
    others = select(turns.c.id).where(turns.c.session_id == session_id)
    untitled = and_(sessions.c.id == session_id, sessions.c.title.is_(None), ~others.exists())
    if await connection.scalar(select(sessions.c.id).where(untitled)) is None:
        return []
    title = of_message(message)
    if not title:
        return []
    naming = update(sessions).where(untitled).values(title=title, titled_by="message")
    return [Titled(*row) for row in await connection.execute(naming.returning(*_OWNER))]


def of_message(message: str) -> str:
    """Its first line that has words, without Markdown and secrets, which lists and notifications
    would show; empty for one that has none."""
    text = message[:_READ_CHARS_MAX]
    for line in text.splitlines():
        if _FENCE.match(line) or _RULE.fullmatch(line):
            continue
        plain = cleaned(line)
        if any(one.isalnum() for one in plain):
            return trimmed(redact(plain))
    return trimmed(" ".join(_visible(text).split()))


def cleaned(line: str) -> str:
    """One line as it reads: neither marks nor what cannot be seen."""
    plain = _OPENING.sub("", _visible(line), count=1)
    plain = _IMAGE_OR_LINK.sub(r"\1", plain)[:_MARKED_CHARS_MAX]
    plain = _MARKS.sub(r"\2", _MARKS.sub(r"\2", plain))
    return " ".join(plain.split())


def trimmed(text: str) -> str:
    """At most so long, cut behind a word where there is one."""
    if len(text) <= TITLE_CHARS:
        return text
    cut = text[:TITLE_CHARS]
    head, space, last = cut.rpartition(" ")
    if space and len(last) <= _WORD_CHARS_MAX and not text[TITLE_CHARS].isspace():
        cut = head
    return cut.rstrip(" ,;:.-–—") + "…"


def _visible(text: str) -> str:
    """What other characters would do to a terminal or a page, they do not do from here."""
    return "".join(
        " " if one.isspace() else one
        for one in text
        if one.isspace() or one in _JOINERS or not unicodedata.category(one).startswith("C")
    )
