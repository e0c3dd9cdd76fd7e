"""Three rankings of memories by a query, and how they become one list.

By vector, by full text index, and by parts of words; each is a list of ids, best first. The only
place where SQLite and PostgreSQL part ways. Terms are found for English and for scripts that put no
spaces between words: a run of Chinese, Japanese or Korean characters becomes its overlapping pairs,
as most Chinese words have two characters.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import ColumnElement, and_, case, column, func, literal, or_, select, table, text
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.store.service_schema import memories

if TYPE_CHECKING:
    from trunkline.control.services.embeddings import Vectors

_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+")
_TRIGRAM_CHARS = 3  # SQLite's trigram index finds nothing shorter
# Words that say nothing about a text.
_COMMON = re.compile(
    r"(an?|and|are|as|at|be|by|did|do|does|for|from|had|has|have|he|her|his|how|i|in|is|its?|me|my"
    r"|not|of|on|or|our|she|so|that|the|their|them|they|this|to|us|was|we|were|what|when|where"
    r"|which|who|why|will|with|you|your|[的了是在我你他她它们吗呢吧和与有也就都不])\Z"
)
_TERMS_MAX = 32  # taken from one query
_SIMILARITY_MIN = 0.15  # cosine; below it, texts have nothing to do with each other
_CANDIDATES = 100  # the best of each ranking that are merged
# The usual constant of reciprocal rank fusion: how fast lower ranks lose weight.
_RANK_OFFSET = 60


class Terms(msgspec.Struct, frozen=True):
    """`words` are whole words and runs; `parts` have to be looked for inside the text."""

    words: list[str]
    parts: list[str]

    @property
    def long(self) -> list[str]:
        """What a trigram index can find."""
        return [term for term in self.words if len(term) >= _TRIGRAM_CHARS]

    @property
    def short(self) -> list[str]:
        """What only a scan can find where there is a trigram index."""
        return [term for term in self.parts if len(term) < _TRIGRAM_CHARS]


def terms_of(query: str) -> Terms:
    words: dict[str, None] = {}
    parts: dict[str, None] = {}
    for word in _WORD.findall(unicodedata.normalize("NFKC", query).lower()):
        rest = _CJK.sub(" ", word).split()
        for piece in rest:
            if len(piece) > 1 and not _COMMON.match(piece):
                words[piece] = parts[piece] = None
        for run in _CJK.findall(word):
            if len(run) == 1 and not _COMMON.match(run):
                words[run] = parts[run] = None
            if len(run) > 1:
                words[run] = None
                words.update(dict.fromkeys(_windows(run, _TRIGRAM_CHARS)))
                parts.update(dict.fromkeys(_windows(run, 2)))
    return Terms(list(words)[:_TERMS_MAX], list(parts)[:_TERMS_MAX])


def fts5_query(terms: list[str]) -> str:
    """Any of the terms, each as an FTS5 string: nothing inside one is an operator."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def _windows(run: str, size: int) -> list[str]:
    return [run[i : i + size] for i in range(len(run) - size + 1)]


def scope(org_id: str, user_id: str | None) -> ColumnElement[bool]:
    """That user's memories and those that the org shares; never another user's."""
    shared = memories.c.user_id.is_(None)
    owner = shared if user_id is None else or_(memories.c.user_id == user_id, shared)
    return and_(memories.c.org_id == org_id, owner)


async def by_vector(
    connection: AsyncConnection,
    where: ColumnElement[bool],
    vector: "Vectors",
    *,
    rows_max: int = 50_000,
    chunk_rows: int = 2_000,
) -> list[str]:
    """By cosine, over the newest rows, a chunk at a time so that memory stays bounded."""
    import numpy

    best: list[tuple[float, str]] = []
    before: str | None = None
    for _ in range(rows_max // chunk_rows):
        query = select(memories.c.id, memories.c.embedding).where(
            where, func.length(memories.c.embedding) == vector.nbytes
        )
        if before is not None:
            query = query.where(memories.c.id < before)
        query = query.order_by(memories.c.id.desc()).limit(chunk_rows)
        rows = (await connection.execute(query)).all()
        if not rows:
            break
        before = rows[-1].id
        matrix = numpy.frombuffer(b"".join(row.embedding for row in rows), dtype="<f4")
        scores = matrix.reshape(len(rows), -1) @ vector
        near = numpy.flatnonzero(scores >= _SIMILARITY_MIN)
        best += [(float(scores[i]), rows[i].id) for i in near.tolist()]
        best = sorted(best, reverse=True)[:_CANDIDATES]
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
        .limit(_CANDIDATES)
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
        .limit(_CANDIDATES)
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
        .limit(_CANDIDATES)
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
