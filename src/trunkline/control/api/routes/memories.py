"""Routes of long-term memories."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.fields import Json
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.memories import Memory, MemoryHit

routes = Routes("memories")


class NewMemory(msgspec.Struct, kw_only=True):
    """`shared`: for the whole organisation; its admins may."""

    content: Annotated[str, Meta(min_length=1, max_length=limits.MEMORY_CONTENT_CHARS_MAX)]
    metadata: Json | None = None
    shared: bool = False


class MemoryQuery(msgspec.Struct, kw_only=True):
    q: Annotated[str, Meta(min_length=1, max_length=limits.MEMORY_QUERY_CHARS_MAX)]
    top_k: Annotated[int, Meta(ge=1, le=limits.MEMORY_TOP_K_MAX)] = limits.MEMORY_TOP_K_DEFAULT


class MemoryHits(msgspec.Struct, kw_only=True):
    """The best matches, best first."""

    results: list[MemoryHit]


@routes.post("/memories", status=201)
async def add_memory(core: Core, who: Principal, body: NewMemory) -> Memory:
    """Remember something."""
    if body.shared:
        who.require_org_admin()
    owner = None if body.shared else who.user_id
    return await core.services.memories.add(who.org_id, owner, body.content, body.metadata)


@routes.get("/memories")
async def list_memories(core: Core, who: Principal, query: Paging) -> Page[Memory]:
    """List memories, newest first."""
    return await core.services.memories.page(who, query)


@routes.get("/memories/search")
async def search_memories(core: Core, who: Principal, query: MemoryQuery) -> MemoryHits:
    """Search your own and your organisation's memories, by meaning and by words."""
    return MemoryHits(
        results=await core.services.memories.search(who.org_id, who.user_id, query.q, query.top_k)
    )


@routes.delete("/memories/{memory_id}")
async def forget_memory(core: Core, who: Principal, memory_id: str) -> None:
    """Forget something."""
    await core.services.memories.remove(who, memory_id)
