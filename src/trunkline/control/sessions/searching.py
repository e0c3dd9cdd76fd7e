"""A search in sessions: their titles, what people said and what was answered.

It looks through the records of turns, which hold both: of some sessions after the other, the most
lately active ones first, for a second at most. No index has to be kept for that, any language and
any part of a word is found alike, and what others have said costs nothing.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from sqlalchemy import or_, select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Seconds
from trunkline.control.errors import InvalidRequest
from trunkline.control.sessions.listing import holds, is_no_member, seen_by, terms
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import sessions, turns

_SESSIONS_MAX = 20_000
_SESSIONS_AT_ONCE = 100
_TURNS_AT_ONCE_MAX = 20_000  # that hold what is looked for
_SEARCH_S = 1.0
_HITS_PER_SESSION = 3
_SNIPPET_CHARS = 160
_BEFORE_CHARS = 40  # of a snippet, before what was looked for
_COLUMNS = [
    turns.c[name]
    for name in (
        *("id", "session_id", "steers", "message", "answer"),
        *("said_id", "ended_id", "created_at", "finished_at"),
    )
]


class SearchQuery(msgspec.Struct, kw_only=True):
    q: Annotated[
        str,
        Meta(min_length=1, max_length=limits.NAME_CHARS_MAX, description="Words that were said."),
    ]
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX, description="How many at most.")] = 30


class SearchHit(msgspec.Struct, kw_only=True):
    """`where`: in the title, in what a person said, or in an answer. `event_id`: where that stands
    in the log, as far as it is known; a title stands nowhere. `at`: when it was said, or when the
    session was last active."""

    session_id: str
    title: str | None
    where: Literal["title", "message", "answer"]
    turn_id: str | None = None
    event_id: int | None = None
    snippet: str
    at: int


class SearchHits(msgspec.Struct, kw_only=True):
    """Titles first, then what was said, in the most lately active sessions first. `complete`:
    everything was looked through; else there may be more, longer ago."""

    items: list[SearchHit]
    complete: bool


class Search:
    def __init__(self, store: Store, now: Seconds = time.monotonic) -> None:
        self._store = store
        self._now = now

    async def find(self, who: Principal, query: SearchQuery) -> SearchHits:
        """Every word of the query is in the title, or in one turn."""
        words = terms(query.q)
        if not words:
            raise InvalidRequest("q has nothing to look for")
        hits = await self._titles(who, words, query.limit)
        until = self._now() + _SEARCH_S
        mine = await self._sessions(who)
        for start in range(0, len(mine), _SESSIONS_AT_ONCE):
            if self._now() >= until:
                return SearchHits(items=hits[: query.limit], complete=False)
            some = mine[start : start + _SESSIONS_AT_ONCE]
            hits += await self._in_turns(some, words, query.limit + 1 - len(hits))
            if len(hits) > query.limit:
                return SearchHits(items=hits[: query.limit], complete=False)
        return SearchHits(items=hits, complete=len(mine) < _SESSIONS_MAX)

    async def _titles(self, who: Principal, words: list[str], limit: int) -> list[SearchHit]:
        columns = sessions.c.id, sessions.c.title, sessions.c.last_activity_at
        wanted = [seen_by(who), is_no_member, *(holds(sessions.c.title, one) for one in words)]
        query = (
            select(*columns)
            .where(*wanted)
            .order_by(sessions.c.last_activity_at.desc())
            .limit(limit)
        )
        return [
            SearchHit(
                session_id=row.id,
                title=row.title,
                where="title",
                snippet=row.title,
                at=row.last_activity_at,
            )
            for row in await self._store.all(query)
        ]

    async def _sessions(self, who: Principal) -> Sequence[str]:
        """Those to look into."""
        query = select(sessions.c.id).where(seen_by(who), is_no_member)
        newest = query.order_by(sessions.c.last_activity_at.desc(), sessions.c.id.desc())
        return await self._store.scalars(newest.limit(_SESSIONS_MAX))

    async def _in_turns(
        self, session_ids: Sequence[str], words: list[str], count: int
    ) -> list[SearchHit]:
        """The newest, few of each session. Texts are long: only those that are shown are read."""
        held = [or_(holds(turns.c.message, one), holds(turns.c.answer, one)) for one in words]
        found = select(turns.c.id, turns.c.session_id).where(
            among(turns.c.session_id, session_ids), *held
        )
        shown: list[str] = []
        counts: Counter[str] = Counter()
        for turn_id, session_id in await self._store.all(
            found.order_by(turns.c.id.desc()).limit(_TURNS_AT_ONCE_MAX)
        ):
            counts[session_id] += 1
            if counts[session_id] <= _HITS_PER_SESSION:
                shown.append(turn_id)
        if not shown:
            return []
        title = select(sessions.c.title).where(sessions.c.id == turns.c.session_id)
        texts = select(*_COLUMNS, title.scalar_subquery().label("title"))
        texts = texts.where(among(turns.c.id, shown[:count])).order_by(turns.c.id.desc())
        return [_hit(row, words) for row in await self._store.all(texts)]


def _hit(row: Any, words: list[str]) -> SearchHit:
    """By the first word that the message has; else by the first that the answer has."""
    message, answer = row.message, row.answer or ""
    if (at := _first(message, words)) is not None:
        where: Literal["message", "answer"] = "message"
        text, event_id, said_at = message, row.said_id, row.created_at
    else:
        at, where = _first(answer, words) or 0, "answer"
        text, event_id, said_at = answer, row.ended_id, row.finished_at or row.created_at
    return SearchHit(
        session_id=row.session_id,
        title=row.title,
        where=where,
        turn_id=row.steers or row.id,
        event_id=event_id,
        snippet=_snippet(text, at),
        at=said_at,
    )


def _first(text: str, words: list[str]) -> int | None:
    lowered = text.lower()
    places = (lowered.find(one.lower()) for one in words)
    return next((at for at in places if at >= 0), None)


def _snippet(text: str, at: int) -> str:
    start = max(0, at - _BEFORE_CHARS)
    piece = " ".join(text[start : start + _SNIPPET_CHARS].split())
    is_cut = start + _SNIPPET_CHARS < len(text)
    return f"{'…' if start else ''}{piece}{'…' if is_cut else ''}"
