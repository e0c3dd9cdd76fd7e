"""Long-term memories of a user, or shared by an org: added, searched, removed.

A search sees the caller's own and the org's shared rows, never another user's. How rows are ranked
is in `memory_search`.
"""

import secrets
from typing import Any

import msgspec
from sqlalchemy import Row, delete, insert, select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound
from trunkline.control.ids import new_id
from trunkline.control.services import memory_search
from trunkline.control.services.checks import checked_id, checked_object, checked_text
from trunkline.control.services.embeddings import Embeddings
from trunkline.control.services.memory_terms import terms_of
from trunkline.control.services.paging import Page, fetch_page, visible
from trunkline.control.services.reports import Once, always
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import memories


class Memory(msgspec.Struct, frozen=True):
    """`user_id` is null for a memory that the whole org shares."""

    id: str
    org_id: str
    user_id: str | None
    content: str
    metadata: dict[str, Any]
    created_at: int


class MemoryHit(msgspec.Struct, frozen=True):
    """A search result; `score` is between 0 and 1 and only orders one search's results."""

    content: str
    score: float
    metadata: dict[str, Any]


_COLUMNS = [memories.c[name] for name in Memory.__struct_fields__]


class Memories:
    def __init__(self, store: Store, clock: Clock, embeddings: Embeddings) -> None:
        self._store = store
        self._clock = clock
        self._embeddings = embeddings

    async def add(
        self,
        org_id: str,
        user_id: str | None,
        content: str,
        metadata: dict[str, Any] | None = None,
        once: Once = always,
    ) -> Memory:
        memory = Memory(
            id=new_id(),
            org_id=org_id,
            user_id=user_id,
            content=checked_text(content, "content", limits.MEMORY_CONTENT_CHARS_MAX),
            metadata=checked_object(metadata or {}, "metadata", limits.METADATA_BYTES_MAX),
            created_at=self._clock(),
        )
        vectors = await self._embeddings.encode([content])
        row = {
            **msgspec.structs.asdict(memory),
            "embedding": None if vectors is None else vectors[0].tobytes(),
            "fts_rowid": secrets.randbits(63),
        }
        async with self._store.write() as connection:
            await once(connection)
            await connection.execute(insert(memories).values(row))
        return memory

    async def search(
        self, org_id: str, user_id: str | None, query: str, top_k: int | None = None
    ) -> list[MemoryHit]:
        """The best matches, best first. More than the bound are asked for: the bound is given."""
        checked_text(query, "query", limits.MEMORY_QUERY_CHARS_MAX, empty=True)
        count = limits.MEMORY_TOP_K_DEFAULT if top_k is None else top_k
        count = min(count, limits.MEMORY_TOP_K_MAX)
        if count < 1 or not query.strip():
            return []
        where, terms = memory_search.scope(org_id, user_id), terms_of(query)
        vectors = await self._embeddings.encode([query])
        async with self._store.read() as connection:
            rankings = [
                await memory_search.by_full_text(connection, where, terms),
                await memory_search.by_parts(connection, where, terms),
            ]
            if vectors is not None:
                rankings.append(await memory_search.by_vector(connection, where, vectors[0]))
            best = memory_search.fuse(rankings)[:count]
            found = select(memories.c.id, memories.c.content, memories.c.metadata).where(
                memories.c.id.in_([memory_id for memory_id, _ in best])
            )
            rows = {row.id: row for row in (await connection.execute(found)).all()}
        return [
            MemoryHit(rows[memory_id].content, round(score, 4), rows[memory_id].metadata)
            for memory_id, score in best
            if memory_id in rows
        ]

    async def list(
        self, principal: Principal, limit: int | None = None, cursor: str | None = None
    ) -> Page[Memory]:
        query = select(*_COLUMNS).where(visible(principal, memories.c.org_id, memories.c.user_id))
        async with self._store.read() as connection:
            rows, more = await fetch_page(connection, query, memories.c.id, limit, cursor)
        return Page([_memory(row) for row in rows], rows[-1].id if more else None)

    async def delete(self, principal: Principal, memory_id: str) -> None:
        """Members remove their own; what the org shares, an administrator removes."""
        query = select(*_COLUMNS).where(
            memories.c.id == checked_id("memory", memory_id),
            visible(principal, memories.c.org_id, memories.c.user_id),
        )
        async with self._store.write() as connection:
            row = (await connection.execute(query)).first()
            if row is None:
                raise NotFound("memory", memory_id)
            if row.user_id != principal.user_id:
                principal.require_org_admin()
            await connection.execute(delete(memories).where(memories.c.id == memory_id))


def _memory(row: Row[Any]) -> Memory:
    return Memory(**row._asdict())
