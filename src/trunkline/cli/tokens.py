"""`trunkline token`: bearer tokens for clients of every protocol."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.output import Done, Record, Rows
from trunkline.cli.remote import Limit, given, group, remote, taken

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("token", "Bearer tokens.")

User = Annotated[str | None, typer.Option("--user", help="Id of the user. [you]")]


@remote(app, "create", example="trunkline token create --user ID --label phone --days 90")
async def create(
    client: "Client",
    user: User = None,
    label: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    days: Annotated[float | None, typer.Option(min=0.001, help="How long it lives.")] = None,
) -> Record:
    """Issue a token. It is shown this once."""
    life_s = None if days is None else int(days * 24 * 3600)
    body = given(label=label, expires_in_s=life_s)
    return Record(await client.post("users", await user_of(client, user), "token", body=body))


@remote(app, "list", example="trunkline token list --user ID")
async def list_tokens(client: "Client", user: User = None, limit: Limit = 50) -> Rows:
    """List a user's tokens, without their secrets."""
    found = await taken(client.each("users", await user_of(client, user), "tokens"), limit)
    return Rows(found, ("id", "kind", "label", "created_at", "expires_at"))


@remote(app, "revoke", example="trunkline token revoke 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def revoke(client: "Client", token_id: str) -> Done:
    """Revoke a token; what is connected with it is cut."""
    await client.delete("tokens", token_id)
    return Done(f"revoked {token_id}")


async def user_of(client: "Client", user_id: str | None) -> str:
    """The user who was named, or the one whose token this is."""
    if user_id is not None:
        return user_id
    return str((await client.me())["user"]["id"])
