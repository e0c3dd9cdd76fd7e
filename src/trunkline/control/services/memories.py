"""Long-term memories of a user, or shared by an org: added, searched, removed.

A search sees the caller's own and the org's shared rows, never another user's. How rows are ranked
is in `memory_search`.
"""

import secrets
from typing import Any

import msgspec
from sqlalchemy import select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.ids import new_id
from trunkline.control.records.fields import checked_object, checked_text
from trunkline.control.records.page import SeenRows
from trunkline.control.services import memory_search, memory_terms
from trunkline.control.services.embeddings import Embeddings, is_nothing
from trunkline.control.services.idempotency import Once, always
from trunkline.control.services.memory_index import MemoryIndex
from trunkline.control.services.memory_search import Scores
from trunkline.control.services.memory_vectors import Place, owner_of, owners_of
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import memories
from trunkline.control.tuning import DEFAULT


class Memory(msgspec.Struct, frozen=True):
    """`user_id` is null for a memory that the whole org shares."""

    id: str
    org_id: str
    user_id: str | None
    content: str
    metadata: dict[str, Any]
    created_at: int


class MemoryHit(msgspec.Struct, frozen=True):
    """A search result. `score`, between 0 and 1: how well it fits, mostly by what is meant and a
    little by its words; by its words alone, against the best one, where meaning is not known."""

    content: str
    score: float
    metadata: dict[str, Any]


class Memories(SeenRows[Memory]):
    def __init__(
        self,
        store: Store,
        clock: Clock,
        embeddings: Embeddings,
        per_user_max: int = DEFAULT.memories_per_user_max,
    ) -> None:
        super().__init__(store, memories, Memory, "memory", shared=True)
        self._per_user_max = per_user_max
        self._clock = clock
        self._embeddings = embeddings
        self.index = MemoryIndex(store, embeddings)

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
        mine = memories.c.user_id == user_id  # or, without one, `IS NULL`: the org's
        await self._check_count(self._per_user_max, memories.c.org_id == org_id, mine)
        meaning = await self.index.meaning(content)
        row = secrets.randbits(63)
        inserted = self._insert(
            memory,
            terms=memory_terms.indexed(content),
            embedded_by=meaning and meaning.by,
            fts_rowid=row,
        )
        async with self._store.write() as connection:
            await once(connection)
            await connection.execute(inserted)
            if meaning is not None:
                place = Place(memory.id, row, owner_of(org_id, user_id))
                await self.index.note(connection, place, meaning)
        if meaning is None:
            self.index.wake()
        return memory

    async def search(
        self, org_id: str, user_id: str | None, query: str, top_k: int | None = None
    ) -> list[MemoryHit]:
        """The best there are, best first. A larger `top_k` than the bound is cut to it."""
        checked_text(query, "query", limits.MEMORY_QUERY_CHARS_MAX, empty=True)
        count = limits.MEMORY_TOP_K_DEFAULT if top_k is None else top_k
        count = min(count, limits.MEMORY_TOP_K_MAX)
        if count < 1 or not memory_terms.has_words(query):
            return []
        where, terms = memory_search.scope(org_id, user_id), memory_terms.asked(query)
        meaning = await self.index.meaning(query, is_query=True)
        async with self._store.read() as connection:
            words = await memory_search.by_words(connection, where, terms)
            near: Scores | None = None
            if meaning is not None and not is_nothing(meaning.vector):
                owners = owners_of(org_id, user_id)
                near = await meaning.vectors.nearest(connection, owners, meaning.vector)
                if apart := [one for one in words if one not in near]:
                    near |= await meaning.vectors.similarity(connection, apart, meaning.vector)
            best = memory_search.blend(words, near)[:count]
            found = select(memories.c.id, memories.c.content, memories.c.metadata).where(
                memories.c.id.in_([memory_id for memory_id, _ in best]), where
            )
            rows = {row.id: row for row in (await connection.execute(found)).all()}
        return [
            MemoryHit(rows[memory_id].content, round(score, 4), rows[memory_id].metadata)
            for memory_id, score in best
            if memory_id in rows
        ]

    async def remove(self, who: Principal, memory_id: str) -> None:
        await self._remove_owned(who, memory_id)
        self.index.wake()

    async def close(self) -> None:
        await self._embeddings.close()
