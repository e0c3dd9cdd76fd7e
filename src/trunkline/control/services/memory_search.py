"""How memories are found by a query: by the words that they have, by what they mean, and both.

By words the database's own index finds them (FTS5, text search), by meaning the index of vectors
(`memory_vectors`). Both give scores between 0 and 1; what counts is their weighted sum.
"""

import math
from collections.abc import Mapping
from typing import Any, Protocol

from sqlalchemy import (
    ColumnElement,
    Float,
    Select,
    Text,
    and_,
    bindparam,
    column,
    func,
    literal,
    literal_column,
    or_,
    select,
    table,
    text,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.services import memory_terms
from trunkline.control.store.service_schema import memories

CANDIDATES = 100  # the nearest, which are compared
MATCHES_MAX = 500  # memories whose words are compared
_CANDIDATES_BY_WORDS = 40  # words count for little, and each has to be compared by meaning too
# What recall on the table of questions in bench/memories is best with; a little more or less
# changes hardly anything. The vectors that are built in know less of scripts without spaces.
_WEIGHT_OF_WORDS = 0.15
_WEIGHT_OF_CHARACTERS = 0.35

Scores = dict[str, float]
"""By the ids of memories."""


def scope(org_id: str, user_id: str | None, *, by_index: bool = True) -> ColumnElement[bool]:
    """That user's memories and those that the org shares; never another user's. `by_index`: whether
    the database may look for them, rather than look at those that it found otherwise."""
    org: ColumnElement[str] = memories.c.org_id
    user: ColumnElement[str] = memories.c.user_id
    if not by_index:
        org, user = org.concat(""), user.concat("")
    owner = user.is_(None) if user_id is None else or_(user == user_id, user.is_(None))
    return and_(org == org_id, owner)


async def by_words(
    connection: AsyncConnection, org_id: str, user_id: str | None, terms: list[str]
) -> Scores:
    """Those with any of the telling terms; the best has 1."""
    is_sqlite = connection.dialect.name == "sqlite"
    index: _Index = _Fts5() if is_sqlite else _TextSearch()
    # SQLite would ask FTS5 about each of an owner's memories.
    where = scope(org_id, user_id, by_index=not is_sqlite)
    found = await _scored(connection, where, index, await _telling(connection, index, terms))
    best = max(found.values(), default=0.0)
    return {one: score / best for one, score in found.items()} if best > 0 else found


class _Index(Protocol):
    """A database's own search of texts."""

    def query(self, terms: list[str]) -> str: ...

    def having(self, name: str) -> tuple[Any, ColumnElement[bool]]:
        """Where to look, and what finds those that fit the query of that parameter's name."""
        ...

    def rank(self, name: str) -> ColumnElement[float]:
        """More is better."""
        ...


async def _telling(connection: AsyncConnection, index: _Index, terms: list[str]) -> list[str]:
    """The rarest of the terms, as many as together find no more than can be compared in time: what
    every other memory has says little."""
    if not terms:
        return []
    counts = []
    for number, _ in enumerate(terms):
        source, fits = index.having(_name(number))
        some = select(literal(1)).select_from(source).where(fits).limit(MATCHES_MAX + 1)
        counts.append(select(func.count()).select_from(some.subquery()).scalar_subquery())
    named = {_name(number): index.query([term]) for number, term in enumerate(terms)}
    found = (await connection.execute(select(*counts), named)).one()
    chosen: list[str] = []
    room = MATCHES_MAX
    for count, term in sorted(zip(found, terms, strict=True), key=lambda one: one[0]):
        room -= count
        if room < 0 and chosen:
            break
        if count:
            chosen.append(term)
    return chosen


async def _scored(
    connection: AsyncConnection, where: ColumnElement[bool], index: _Index, terms: list[str]
) -> Scores:
    """A term counts for more the fewer of these memories have it. The databases' own ranks know
    everybody's: they say only which of two memories has more of one term."""
    if not terms:
        return {}
    asked = [_having(index, number, where) for number, _ in enumerate(terms)]
    named = {_name(number): index.query([term]) for number, term in enumerate(terms)}
    ranks: list[Scores] = [{} for _ in terms]
    for row in await connection.execute(union_all(*asked), named):
        ranks[row.term][row.id] = row.rank
    found = len(set().union(*ranks))
    scores: Scores = {}
    for having in filter(None, ranks):
        best, weight = max(having.values()), math.log1p(found / len(having))
        for one, rank in having.items():
            scores[one] = scores.get(one, 0.0) + (rank / best if best > 0 else 1.0) * weight
    kept = sorted(scores, key=lambda one: (scores[one], one), reverse=True)
    return {one: scores[one] for one in kept[:_CANDIDATES_BY_WORDS]}


def _having(index: _Index, number: int, where: ColumnElement[bool]) -> Select[Any]:
    """The memories with that term, and how much of it each has."""
    source, fits = index.having(_name(number))
    if source is not memories:
        source = memories.join(source, source.c.rowid == memories.c.fts_rowid)
    term, rank = literal(number).label("term"), index.rank(_name(number)).label("rank")
    some = select(memories.c.id, term, rank).select_from(source).where(fits, where)
    return select(some.limit(MATCHES_MAX).subquery())


def _name(number: int) -> str:
    """Of the parameter that holds a term's query."""
    return f"term{number}"


def blend(
    query: str, words: Scores, meaning: Mapping[str, float] | None
) -> list[tuple[str, float]]:
    """Best first. `meaning` has all of `words`; None where meaning is not known."""
    if meaning is None:
        scored = words
    else:
        weight = _WEIGHT_OF_CHARACTERS if memory_terms.has_cjk(query) else _WEIGHT_OF_WORDS
        scored = {
            one: (1 - weight) * max(0.0, similarity) + weight * words.get(one, 0.0)
            for one, similarity in (dict.fromkeys(words, 0.0) | dict(meaning)).items()
        }
    return sorted(scored.items(), key=lambda entry: (-entry[1], entry[0]))


def fts5_query(terms: list[str]) -> str:
    """Any of the terms, each as an FTS5 string: nothing inside one is an operator."""
    return " OR ".join(
        '"' + term.replace('"', '""') + '"' + ("*" if memory_terms.is_beginning(term) else "")
        for term in terms
    )


def tsquery(terms: list[str]) -> str:
    """The same for PostgreSQL's `to_tsquery`."""
    return " | ".join(
        "'" + term.replace("'", "''") + "'" + (":*" if memory_terms.is_beginning(term) else "")
        for term in terms
    )


class _Fts5:
    def query(self, terms: list[str]) -> str:
        return fts5_query(terms)

    def having(self, name: str) -> tuple[Any, ColumnElement[bool]]:
        fits = literal_column("memories_fts").op("MATCH")(bindparam(name, type_=Text))
        return table("memories_fts", column("rowid"), column("rank")), fits

    def rank(self, name: str) -> ColumnElement[float]:
        return -literal_column("memories_fts.rank", Float)


class _TextSearch:
    def query(self, terms: list[str]) -> str:
        return tsquery(terms)

    def having(self, name: str) -> tuple[Any, ColumnElement[bool]]:
        return memories, _vector().op("@@")(_wanted(name))

    def rank(self, name: str) -> ColumnElement[float]:
        return func.ts_rank(_vector(), _wanted(name), type_=Float)


def _vector() -> ColumnElement[Any]:
    return func.to_tsvector(text("'english'"), memories.c.terms)


def _wanted(name: str) -> ColumnElement[Any]:
    return func.to_tsquery(text("'english'"), bindparam(name, type_=Text))
