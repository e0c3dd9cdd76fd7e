"""How memories are found by a query: by the words that they have, by what they mean, and both.

By words the database's own index finds them (FTS5, text search), by meaning the index of vectors
(`memory_vectors`). Both give scores between 0 and 1; what counts is their weighted sum.
"""

from collections.abc import Mapping

from sqlalchemy import ColumnElement, and_, column, func, or_, select, table, text
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.services import memory_terms
from trunkline.control.store.service_schema import memories

CANDIDATES = 100  # the best of each kind that are compared
# What recall on the table of questions in bench/memories is best with; a little more or less
# changes hardly anything.
_WEIGHT_OF_WORDS = 0.15

Scores = dict[str, float]
"""By the ids of memories."""


def scope(org_id: str, user_id: str | None) -> ColumnElement[bool]:
    """That user's memories and those that the org shares; never another user's."""
    shared = memories.c.user_id.is_(None)
    owner = shared if user_id is None else or_(memories.c.user_id == user_id, shared)
    return and_(memories.c.org_id == org_id, owner)


async def by_words(
    connection: AsyncConnection, where: ColumnElement[bool], terms: list[str]
) -> Scores:
    """Those with any of the terms; the best has 1."""
    if not terms:
        return {}
    if connection.dialect.name == "sqlite":
        found = await _by_fts5(connection, where, terms)
    else:
        found = await _by_tsvector(connection, where, terms)
    best = max(found.values(), default=0.0)
    return {one: score / best for one, score in found.items()} if best > 0 else found


def blend(words: Scores, meaning: Mapping[str, float] | None) -> list[tuple[str, float]]:
    """Best first. `meaning` has all of `words`; None where meaning is not known."""
    if meaning is None:
        scored = words
    else:
        scored = {
            one: (1 - _WEIGHT_OF_WORDS) * max(0.0, similarity)
            + _WEIGHT_OF_WORDS * words.get(one, 0.0)
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


async def _by_fts5(
    connection: AsyncConnection, where: ColumnElement[bool], terms: list[str]
) -> Scores:
    fts = table("memories_fts", column("rowid"), column("rank"))
    query = (
        select(memories.c.id, fts.c.rank)
        .join(fts, fts.c.rowid == memories.c.fts_rowid)
        .where(text("memories_fts MATCH :terms").bindparams(terms=fts5_query(terms)), where)
        .order_by(fts.c.rank, memories.c.id.desc())
        .limit(CANDIDATES)
    )
    return {row.id: -row.rank for row in await connection.execute(query)}


async def _by_tsvector(
    connection: AsyncConnection, where: ColumnElement[bool], terms: list[str]
) -> Scores:
    wanted = func.to_tsquery(text("'english'"), tsquery(terms))
    vector = func.to_tsvector(text("'english'"), memories.c.terms)
    rank = func.ts_rank(vector, wanted)
    query = (
        select(memories.c.id, rank.label("rank"))
        .where(where, vector.op("@@")(wanted))
        .order_by(rank.desc(), memories.c.id.desc())
        .limit(CANDIDATES)
    )
    return {row.id: row.rank for row in await connection.execute(query)}
