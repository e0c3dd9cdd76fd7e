"""Three rankings of memories by a query, and how they become one list.

By vector, by full text index, and by parts of words; each is a list of ids, best first. The only
place where SQLite and PostgreSQL part ways.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, and_, case, column, func, literal, or_, select, table, text
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.services.memory_terms import Terms, fts5_query
from trunkline.control.store.schema import memories

if TYPE_CHECKING:
    from trunkline.control.services.embeddings import Vectors

# The usual constant of reciprocal rank fusion: how fast lower ranks lose weight.
_RANK_OFFSET = 60


def scope(org_id: str, user_id: str | None) -> ColumnElement[bool]:
    """That user's memories and those that the org shares; never another user's."""
    shared = memories.c.user_id.is_(None)
    owner = shared if user_id is None else or_(memories.c.user_id == user_id, shared)
    return and_(memories.c.org_id == org_id, owner)


async def by_vector(
    connection: AsyncConnection, where: ColumnElement[bool], vector: "Vectors"
) -> list[str]:
    """By cosine, over the newest rows, a chunk at a time so that memory stays bounded."""
    import numpy

    best: list[tuple[float, str]] = []
    before: str | None = None
    for _ in range(limits.MEMORY_SCAN_ROWS_MAX // limits.MEMORY_SCAN_CHUNK_ROWS):
        query = select(memories.c.id, memories.c.embedding).where(
            where, func.length(memories.c.embedding) == vector.nbytes
        )
        if before is not None:
            query = query.where(memories.c.id < before)
        query = query.order_by(memories.c.id.desc()).limit(limits.MEMORY_SCAN_CHUNK_ROWS)
        rows = (await connection.execute(query)).all()
        if not rows:
            break
        before = rows[-1].id
        matrix = numpy.frombuffer(b"".join(row.embedding for row in rows), dtype="<f4")
        scores = matrix.reshape(len(rows), -1) @ vector
        near = numpy.flatnonzero(scores >= limits.MEMORY_SIMILARITY_MIN)
        best += [(float(scores[i]), rows[i].id) for i in near.tolist()]
        best = sorted(best, reverse=True)[: limits.MEMORY_CANDIDATES]
    return [memory_id for _, memory_id in best]


async def by_full_text(
    connection: AsyncConnection, where: ColumnElement[bool], terms: Terms
) -> list[str]:
    """By the database's index. SQLite finds parts of words too, PostgreSQL whole words."""
    if connection.dialect.name == "sqlite":
        return await _by_fts5(connection, where, terms.long)
    return await _by_tsvector(connection, where, terms.words)


async def _by_fts5(
    connection: AsyncConnection, where: ColumnElement[bool], terms: list[str]
) -> list[str]:
    if not terms:
        return []
    fts = table("memories_fts", column("memory_id"), column("rank"))
    query = (
        select(memories.c.id)
        .join(fts, fts.c.memory_id == memories.c.id)
        .where(text("memories_fts MATCH :terms").bindparams(terms=fts5_query(terms)), where)
        .order_by(fts.c.rank, memories.c.id.desc())
        .limit(limits.MEMORY_CANDIDATES)
    )
    return list((await connection.execute(query)).scalars())


async def _by_tsvector(
    connection: AsyncConnection, where: ColumnElement[bool], terms: list[str]
) -> list[str]:
    if not terms:
        return []
    wanted: ColumnElement[str] = func.plainto_tsquery(text("'simple'"), terms[0])
    for term in terms[1:]:
        wanted = wanted.op("||")(func.plainto_tsquery(text("'simple'"), term))
    vector = func.to_tsvector(text("'simple'"), memories.c.content)
    query = (
        select(memories.c.id)
        .where(where, vector.op("@@")(wanted))
        .order_by(func.ts_rank(vector, wanted).desc(), memories.c.id.desc())
        .limit(limits.MEMORY_CANDIDATES)
    )
    return list((await connection.execute(query)).scalars())


async def by_parts(
    connection: AsyncConnection, where: ColumnElement[bool], terms: Terms
) -> list[str]:
    """By how many terms occur anywhere in the text: what the index cannot find."""
    parts = terms.short if connection.dialect.name == "sqlite" else terms.parts
    if not parts:
        return []
    hits = [memories.c.content.icontains(part, autoescape=True) for part in parts]
    count: ColumnElement[int] = literal(0)
    for hit in hits:
        count = count + case((hit, 1), else_=0)
    query = (
        select(memories.c.id)
        .where(where, or_(*hits))
        .order_by(count.desc(), memories.c.id.desc())
        .limit(limits.MEMORY_CANDIDATES)
    )
    return list((await connection.execute(query)).scalars())


def fuse(rankings: Iterable[list[str]]) -> list[tuple[str, float]]:
    """Reciprocal rank fusion. The first of every ranking has score 1; best first."""
    used = [ranking for ranking in rankings if ranking]
    sums: dict[str, float] = defaultdict(float)
    for ranking in used:
        for rank, memory_id in enumerate(ranking, start=1):
            sums[memory_id] += (_RANK_OFFSET + 1) / (_RANK_OFFSET + rank)
    scored = [(memory_id, total / len(used)) for memory_id, total in sums.items()]
    return sorted(scored, key=lambda entry: (-entry[1], entry[0]))
