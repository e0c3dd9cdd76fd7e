"""`trunkline user`: people, and the provider keys that their machines are given."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.errors import CommandFailed
from trunkline.cli.output import Done, Record, Rows
from trunkline.cli.remote import Limit, given, group, remote, taken
from trunkline.cli.tokens import user_of

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("user", "People.")

Role = Annotated[str | None, typer.Option(help="member, org_admin or admin.")]
Runtime = Annotated[str | None, typer.Option(help="Default runtime of their sessions.")]


@remote(app, "list", example="trunkline user list --json")
async def list_users(client: "Client", limit: Limit = 50) -> Rows:
    """List users."""
    columns = ("id", "name", "role", "org_id", "created_at")
    return Rows(await taken(client.each("users"), limit), columns)


@remote(app, "create", example="trunkline user create Ada --role org_admin")
async def create(
    client: "Client",
    name: str,
    org: Annotated[str | None, typer.Option(help="Id of the organisation. [your own]")] = None,
    role: Role = None,
    runtime: Runtime = None,
) -> Record:
    """Make a user."""
    body = given(name=name, org_id=org, role=role, default_runtime_type=runtime)
    return Record(await client.post("users", body=body))


@remote(app, "show", example="trunkline user show 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def show(client: "Client", user_id: str) -> Record:
    """Show a user."""
    return Record(await client.get("users", user_id))


@remote(app, "me", example="trunkline user me")
async def me(client: "Client") -> Record:
    """Show who this token is."""
    return Record(await client.me())


@remote(app, "login-link", example="trunkline user login-link")
async def login_link(
    client: "Client",
    user_id: Annotated[str | None, typer.Argument(help="Id of the user. [yourself]")] = None,
) -> Record:
    """Print a link that logs a browser in, once, within 15 minutes."""
    return Record(await client.post("users", await user_of(client, user_id), "login-link"))


@remote(app, "update", example="trunkline user update ID --role admin")
async def update(
    client: "Client",
    user_id: str,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    role: Role = None,
    runtime: Runtime = None,
) -> Record:
    """Change a user."""
    body = given(name=name, role=role, default_runtime_type=runtime)
    return Record(await client.patch("users", user_id, body=body))


@remote(app, "delete", example="trunkline user delete 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def delete(client: "Client", user_id: str) -> Done:
    """Delete a user with all they have."""
    await client.delete("users", user_id)
    return Done(f"deleted {user_id}")


@remote(app, "set-key", example="trunkline user set-key ID openai < key.txt")
async def set_key(
    client: "Client",
    user_id: str,
    provider: str,
    base_url: Annotated[str | None, typer.Option(help="A compatible server's address.")] = None,
) -> Record:
    """Store a provider's API key, encrypted. It is asked for, or read from stdin."""
    body = given(api_key=_read_key(), base_url=base_url)
    return Record(await client.put("users", user_id, "credentials", provider, body=body))


@remote(app, "delete-key", example="trunkline user delete-key ID openai")
async def delete_key(client: "Client", user_id: str, provider: str) -> Done:
    """Forget a provider's API key."""
    await client.delete("users", user_id, "credentials", provider)
    return Done(f"forgot the key for {provider}")


def _read_key() -> str:
    """Never from the command line, where every user of this machine could read it."""
    if sys.stdin.isatty():
        return str(typer.prompt("API key", hide_input=True))
    key = sys.stdin.readline().strip()
    if not key:
        raise CommandFailed("no key on stdin")
    return key
