"""`trunkline org`: organisations."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.output import Done, Record, Rows
from trunkline.cli.remote import Limit, given, group, remote, taken

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("org", "Organisations.")

Runtime = Annotated[str | None, typer.Option(help="Default runtime of its sessions.")]


@remote(app, "list", example="trunkline org list")
async def list_orgs(client: "Client", limit: Limit = 50) -> Rows:
    """List organisations."""
    return Rows(await taken(client.each("orgs"), limit), ("id", "name", "created_at"))


@remote(app, "create", example="trunkline org create Acme")
async def create(client: "Client", name: str, runtime: Runtime = None) -> Record:
    """Make an organisation."""
    body = given(name=name, default_runtime_type=runtime)
    return Record(await client.post("orgs", body=body))


@remote(app, "show", example="trunkline org show 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def show(client: "Client", org_id: str) -> Record:
    """Show an organisation."""
    return Record(await client.get("orgs", org_id))


@remote(app, "update", example="trunkline org update ID --name 'Acme Labs'")
async def update(
    client: "Client",
    org_id: str,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    runtime: Runtime = None,
) -> Record:
    """Change an organisation."""
    body = given(name=name, default_runtime_type=runtime)
    return Record(await client.patch("orgs", org_id, body=body))


@remote(app, "delete", example="trunkline org delete 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def delete(client: "Client", org_id: str) -> Done:
    """Delete an organisation with its users and all they have."""
    await client.delete("orgs", org_id)
    return Done(f"deleted {org_id}")
