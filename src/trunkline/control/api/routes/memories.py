"""Routes of long-term memories."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.records.fields import Json
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.memories import Content, Memory, MemoryHit, MemoryPatch, Owned

memories = Routes("memories")


class NewMemory(msgspec.Struct, kw_only=True):
    """`shared`: for the whole organisation; its admins may."""

    content: Content
    metadata: Json | None = None
    shared: bool = False


class MemoriesQuery(Paging, kw_only=True):
    owned: (
        Annotated[
            Owned, Meta(description="Your own alone, or those that your organisation shares.")
        ]
        | None
    ) = None


class MemoryQuery(msgspec.Struct, kw_only=True):
    q: Annotated[
        str,
        Meta(
            min_length=1, max_length=limits.MEMORY_QUERY_CHARS_MAX, description="What it is about."
        ),
    ]
    top_k: Annotated[
        int, Meta(ge=1, le=limits.MEMORY_TOP_K_MAX, description="How many at most.")
    ] = limits.MEMORY_TOP_K_DEFAULT


class MemoryHits(msgspec.Struct, kw_only=True):
    """The best matches, best first."""

    results: list[MemoryHit]


@memories.post("/memories", status=201, scope="talk", audit="memory.added")
async def add_memory(core: Core, who: Principal, body: NewMemory) -> Memory:
    """Remember something."""
    if body.shared:
        who.require_org_admin()
    owner = None if body.shared else who.user_id
    return await core.services.memories.add(who.org_id, owner, body.content, body.metadata)


@memories.get("/memories")
async def list_memories(core: Core, who: Principal, query: MemoriesQuery) -> Page[Memory]:
    """List memories, newest first: your own and your organisation's; for admins, everyone's."""
    return await core.services.memories.page_of(who, query, query.owned)


@memories.get("/memories/search")
async def search_memories(core: Core, who: Principal, query: MemoryQuery) -> MemoryHits:
    """Search your own and your organisation's memories, by meaning and by words."""
    return MemoryHits(
        results=await core.services.memories.search(who.org_id, who.user_id, query.q, query.top_k)
    )


@memories.patch("/memories/{memory_id}", scope="talk", audit="memory.changed")
async def change_memory(core: Core, who: Principal, memory_id: str, body: MemoryPatch) -> Memory:
    """Change a memory: your own, or as an admin your organisation's.

    It is found by its new words at once, by its new meaning too unless vectors are away.
    """
    return await core.services.memories.change(who, memory_id, body)


@memories.delete("/memories/{memory_id}", scope="talk", audit="memory.removed")
async def forget_memory(core: Core, who: Principal, memory_id: str) -> None:
    """Forget something."""
    await core.services.memories.remove(who, memory_id)
