"""`trunkline org`, `user`, `token`: people, their tokens, and the keys their machines are given."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.output import CommandFailed, Done, Json, Record, Rows
from trunkline.cli.records import Records
from trunkline.cli.remote import Limit, collect, given, group, remote

if TYPE_CHECKING:
    from trunkline.client import Client

orgs = group("org", "Organisations.")
users = group("user", "People.")
tokens = group("token", "Bearer tokens.")

User = Annotated[str | None, typer.Option("--user", help="Id of the user. [you]")]
Role = Annotated[str | None, typer.Option(help="member, org_admin or admin.")]
OrgRuntime = Annotated[
    str | None, typer.Option("--runtime", help="Default runtime of its sessions.")
]
UserRuntime = Annotated[
    str | None, typer.Option("--runtime", help="Default runtime of their sessions.")
]


async def _org(_client: "Client", runtime: OrgRuntime = None) -> Json:
    return given(default_runtime_type=runtime)


async def _new_user(
    client: "Client",
    org: Annotated[str | None, typer.Option(help="Id of the organisation. [your own]")] = None,
    role: Role = None,
    runtime: UserRuntime = None,
) -> Json:
    return given(org_id=org) | await _user(client, role, runtime)


async def _user(_client: "Client", role: Role = None, runtime: UserRuntime = None) -> Json:
    return given(role=role, default_runtime_type=runtime)


_orgs = Records(orgs, "org", ("id", "name", "created_at"), title="organisation")
_orgs.can_list()
_orgs.can_create(_org, "Acme")
_orgs.can_show()
_orgs.can_update(_org, "--name 'Acme Labs'", "Change {}.")
_orgs.can_delete("Delete {} with its users and all they have.")

_users = Records(
    users, "user", ("id", "name", "role", "org_id", "created_at"), list_example="--json"
)
_users.can_list()
_users.can_create(_new_user, "Ada --role org_admin")
_users.can_show()


@remote(users, "me", example="trunkline user me")
async def me(client: "Client") -> Record:
    """Show who this token is."""
    return Record(await client.me())


@remote(users, "login-link", example="trunkline user login-link")
async def login_link(
    client: "Client",
    user_id: Annotated[str | None, typer.Argument(help="Id of the user. [yourself]")] = None,
) -> Record:
    """Print a link that logs a browser in, once, within 15 minutes."""
    return Record(await client.post("users", await user_of(client, user_id), "login-link"))


_users.can_update(_user, "--role admin", "Change {}.")
_users.can_delete("Delete {} with all they have.")


@remote(users, "set-key", example="trunkline user set-key ID openai < key.txt")
async def set_key(
    client: "Client",
    user_id: str,
    provider: str,
    base_url: Annotated[str | None, typer.Option(help="A compatible server's address.")] = None,
) -> Record:
    """Store a provider's API key, encrypted. It is asked for, or read from stdin."""
    body = given(api_key=_read_secret("API key"), base_url=base_url)
    return Record(await client.put("users", user_id, "credentials", provider, body=body))


@remote(users, "password", example="trunkline user password Ada < password.txt")
async def set_password(client: "Client", name: str) -> Done:
    """Set the password of a user, by name or id. It is asked for, or read from stdin.

    For pages that log in by name; all browser logins of that user end.
    """
    user_id = await _id_of(client, name)
    password = _read_secret("Password", confirm=True)
    await client.put("users", user_id, "password", body={"password": password})
    return Done(f"set the password of {name}")


async def _id_of(client: "Client", name: str) -> str:
    """The one user of that name, or id."""
    found = [one async for one in client.each("users") if name in (one["name"], one["id"])]
    if len(found) != 1:
        raise CommandFailed(f"{len(found)} users are called {name!r}; give the id of one")
    return str(found[0]["id"])


@remote(users, "delete-key", example="trunkline user delete-key ID openai")
async def delete_key(client: "Client", user_id: str, provider: str) -> Done:
    """Forget a provider's API key."""
    await client.delete("users", user_id, "credentials", provider)
    return Done(f"forgot the key for {provider}")


def _read_secret(what: str, *, confirm: bool = False) -> str:
    """Never from the command line, where every user of this machine could read it."""
    if sys.stdin.isatty():
        return str(typer.prompt(what, hide_input=True, confirmation_prompt=confirm))
    secret = sys.stdin.readline().strip()
    if not secret:
        raise CommandFailed(f"no {what} on stdin")
    return secret


_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}


def _seconds(text: str) -> int:
    """`90d`, `12h`, `30m` or `45s`."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS_S or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise CommandFailed(f"{text!r} is no time: say 90d, 12h, 30m or 45s")
    return int(number) * _UNITS_S[unit]


@remote(tokens, "create", example="trunkline token create --name phone --expires 90d --scope read")
async def create_token(
    client: "Client",
    user: User = None,
    name: Annotated[str | None, typer.Option("--name", "--label", help="What it is for.")] = None,
    expires: Annotated[str | None, typer.Option(help="When it ends: 90d, 12h, 30m.")] = None,
    days: Annotated[float | None, typer.Option(min=0.001, help="The same, in days.")] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="read, talk, approve or admin; may be repeated. [all you may]"),
    ] = None,
) -> Record:
    """Issue a token. It is shown this once."""
    life_s = None if days is None else int(days * 24 * 3600)
    if expires is not None:
        life_s = _seconds(expires)
    body = given(label=name, expires_in_s=life_s, scopes=scope or None)
    return Record(await client.post("users", await user_of(client, user), "token", body=body))


@remote(tokens, "list", example="trunkline token list --user ID")
async def list_tokens(client: "Client", user: User = None, limit: Limit = 50) -> Rows:
    """List a user's tokens, without their secrets."""
    found = await collect(client.each("users", await user_of(client, user), "tokens"), limit)
    columns = ("id", "kind", "label", "scopes", "created_at", "expires_at", "last_used_at")
    return Rows(found, columns)


@remote(tokens, "revoke", example="trunkline token revoke 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def revoke_token(client: "Client", token_id: str) -> Done:
    """Revoke a token; what is connected with it is cut."""
    await client.delete("tokens", token_id)
    return Done(f"revoked {token_id}")


async def user_of(client: "Client", user_id: str | None) -> str:
    """The user who was named, or the one whose token this is."""
    if user_id is not None:
        return user_id
    return str((await client.me())["user"]["id"])
