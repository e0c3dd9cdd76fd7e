"""`trunkline memory`: what agents remember for a user or an organisation."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.output import Done, Record, Rows
from trunkline.cli.remote import Limit, given, group, remote, taken

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("memory", "Long-term memories.")


@remote(app, "list", example="trunkline memory list")
async def list_memories(client: "Client", limit: Limit = 50) -> Rows:
    """List memories, newest first."""
    found = await taken(client.each("memories"), limit)
    return Rows(found, ("id", "content", "created_at"))


@remote(app, "add", example="trunkline memory add 'Deploys happen on Tuesdays'")
async def add(
    client: "Client",
    content: str,
    shared: Annotated[bool, typer.Option("--shared", help="For the whole organisation.")] = False,
) -> Record:
    """Remember something."""
    return Record(await client.post("memories", body=given(content=content, shared=shared or None)))


@remote(app, "search", example="trunkline memory search 'when do we deploy' --top-k 3")
async def search(
    client: "Client",
    query: str,
    top_k: Annotated[int, typer.Option(min=1, max=20, help="How many.")] = 5,
) -> Rows:
    """Search by meaning and by words."""
    answer = await client.get("memories", "search", q=query, top_k=top_k)
    return Rows(answer["results"], ("score", "content"))


@remote(app, "delete", example="trunkline memory delete ID")
async def delete(client: "Client", memory_id: str) -> Done:
    """Forget something."""
    await client.delete("memories", memory_id)
    return Done(f"deleted {memory_id}")
