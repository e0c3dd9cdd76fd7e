"""Long-term memories of a user, or shared by an org: added, searched, changed, removed.

A search sees the caller's own and the org's shared rows, never another user's. How rows are ranked
is in `memory_search`.
"""

import secrets
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Forbidden, NotFound
from trunkline.control.ids import new_id
from trunkline.control.quotas import Owner, Quotas
from trunkline.control.records.fields import checked_object, checked_text
from trunkline.control.records.page import Page, Paging, SeenRows, changes
from trunkline.control.services import memory_search, memory_terms
from trunkline.control.services.embeddings import Embeddings, is_nothing
from trunkline.control.services.idempotency import Once, always
from trunkline.control.services.memory_index import MemoryIndex
from trunkline.control.services.memory_search import Scores
from trunkline.control.services.memory_vectors import Place, owner_of, owners_of
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import memories

Content = Annotated[str, Meta(min_length=1, max_length=limits.MEMORY_CONTENT_CHARS_MAX)]
Owned = Literal["own", "shared"]


class Memory(msgspec.Struct, frozen=True):
    """`user_id` is null for a memory that the whole org shares."""

    id: str
    org_id: str
    user_id: str | None
    content: str
    metadata: dict[str, Any]
    created_at: int


class MemoryHit(Memory, frozen=True):
    """A search result. `score`, between 0 and 1: how well it fits, mostly by what is meant and a
    little by its words; by its words alone, against the best one, where meaning is not known."""

    score: float


class MemoryPatch(msgspec.Struct, kw_only=True):
    """What is left out stays. `shared`: whether it is the whole organisation's, which its admins
    say; one that is no longer becomes theirs."""

    content: Content | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    shared: bool | UnsetType = UNSET


class Memories(SeenRows[Memory]):
    def __init__(
        self,
        store: Store,
        clock: Clock,
        embeddings: Embeddings,
        quotas: Quotas | None = None,
    ) -> None:
        super().__init__(store, memories, Memory, "memory", shared=True)
        self._quotas = quotas or Quotas(store)
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
        memory = _checked(Memory(new_id(), org_id, user_id, content, metadata or {}, self._clock()))

        async def first(connection: AsyncConnection) -> None:
            await once(connection)
            await self._take(connection, memory)

        return await self._write(memory, first)

    async def change(self, who: Principal, memory_id: str, patch: MemoryPatch) -> Memory:
        """Both indexes follow; vectors later, where there are none now."""
        before = await self._owned(who, memory_id)
        said = {name: value for name, value in changes(patch).items() if name != "shared"}
        if patch.shared is not UNSET and patch.shared != (before.user_id is None):
            who.require_org_admin()
            if before.org_id != who.org_id or before.user_id not in (None, who.user_id):
                raise Forbidden("whether others know it is its owner's to say")
            said["user_id"] = None if patch.shared else who.user_id
        memory = _checked(msgspec.structs.replace(before, **said))
        if memory == before:
            return before

        async def replaced(connection: AsyncConnection) -> None:
            # Indexes follow rows that come and go: none has to know of rows that change.
            gone = await connection.execute(delete(memories).where(memories.c.id == memory_id))
            if not gone.rowcount:
                raise NotFound("memory", memory_id)
            if memory.user_id != before.user_id:
                await self._take(connection, memory)

        written = await self._write(memory, replaced)
        self.index.wake()  # its old vector has to go
        return written

    async def _take(self, connection: AsyncConnection, memory: Memory) -> None:
        await self._quotas.take(connection, "memories", Owner(memory.org_id, memory.user_id))

    async def _write(self, memory: Memory, first: Once) -> Memory:
        meaning = await self.index.meaning(memory.content)
        row = secrets.randbits(63)
        inserted = self._insert(
            memory,
            terms=memory_terms.indexed(memory.content),
            embedded_by=meaning and meaning.by,
            fts_rowid=row,
        )
        async with self._store.write() as connection:
            await first(connection)
            await connection.execute(inserted)
            if meaning is not None:
                place = Place(memory.id, row, owner_of(memory.org_id, memory.user_id))
                await self.index.note(connection, place, meaning)
        if meaning is None:
            self.index.wake()
        return memory

    async def page_of(self, who: Principal, paging: Paging, owned: Owned | None) -> Page[Memory]:
        """`owned`: the person's own alone, or those that their org shares."""
        if owned is None:
            return await self.page(who, paging)
        mine = who.user_id if owned == "own" else None
        where = memories.c.org_id == who.org_id, memories.c.user_id == mine
        return await self._page(paging, *where)

    async def search(
        self, org_id: str, user_id: str | None, query: str, top_k: int | None = None
    ) -> list[MemoryHit]:
        """The best there are, best first. A larger `top_k` than the bound is cut to it."""
        checked_text(query, "query", limits.MEMORY_QUERY_CHARS_MAX, empty=True)
        count = limits.MEMORY_TOP_K_DEFAULT if top_k is None else top_k
        count = min(count, limits.MEMORY_TOP_K_MAX)
        if count < 1 or not memory_terms.has_words(query):
            return []
        terms = memory_terms.asked(query)
        meaning = await self.index.meaning(query, is_query=True)
        async with self._store.read() as connection:
            words = await memory_search.by_words(connection, org_id, user_id, terms)
            near: Scores | None = None
            if meaning is not None and not is_nothing(meaning.vector):
                owners = owners_of(org_id, user_id)
                near = await meaning.vectors.nearest(connection, owners, meaning.vector)
                if apart := [one for one in words if one not in near]:
                    near |= await meaning.vectors.similarity(connection, apart, meaning.vector)
            best = memory_search.blend(query, words, near)[:count]
            # By their ids alone: with the owner beside them, SQLite reads all of the owner's.
            found = self._query.where(among(memories.c.id, [one for one, _ in best]))
            rows = {
                row.id: row._asdict()
                for row in await connection.execute(found)
                if row.org_id == org_id and row.user_id in (None, user_id)
            }
        return [
            MemoryHit(**rows[memory_id], score=round(score, 4))
            for memory_id, score in best
            if memory_id in rows
        ]

    async def remove(self, who: Principal, memory_id: str) -> None:
        await self._remove_owned(who, memory_id)
        self.index.wake()

    async def close(self) -> None:
        await self._embeddings.close()


def _checked(memory: Memory) -> Memory:
    checked_text(memory.content, "content", limits.MEMORY_CONTENT_CHARS_MAX)
    checked_object(memory.metadata, "metadata", limits.METADATA_BYTES_MAX)
    return memory
