"""`trunkline org`, `user`, `token`: people, their tokens, and the keys their machines are given."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline import names
from trunkline.cli import choices, moments, quotas, retention
from trunkline.cli.names import OfOrg, OfUser, SomeUser, TokenName, UserName, called, resolve
from trunkline.cli.output import CommandFailed, Done, Json, Record, Rows
from trunkline.cli.records import Records
from trunkline.cli.remote import Limit, collect, given, group, remote
from trunkline.cli.runtimes_here import runtime_option
from trunkline.cli.sure import Sure, make_sure

if TYPE_CHECKING:
    from trunkline.client import Client

orgs = group("org", "Organisations.")
users = group("user", "People.")
tokens = group("token", "Bearer tokens.")

BaseUrl = Annotated[str | None, typer.Option(help="A compatible server's address.")]
Role = Annotated[choices.Role | None, typer.Option(help="What they may do. [member]")]
OrgRuntime = Annotated[str | None, runtime_option("Default of its sessions{runtimes}.")]
Provider = Annotated[
    list[str],
    typer.Argument(
        metavar="[USER] PROVIDER",
        help=f"{', '.join(names.PROVIDERS)}, or one of your own with --base-url.",
        autocompletion=lambda incomplete: [
            one for one in names.PROVIDERS if one.startswith(incomplete)
        ],
    ),
]
UserRuntime = Annotated[str | None, runtime_option("Default of their sessions{runtimes}.")]


async def _org(_client: "Client", runtime: OrgRuntime = None) -> Json:
    return given(default_runtime_type=runtime)


async def _new_user(
    client: "Client",
    org: OfOrg = None,
    role: Role = None,
    runtime: UserRuntime = None,
) -> Json:
    return given(org_id=org) | await _user(client, role, runtime)


async def _user(_client: "Client", role: Role = None, runtime: UserRuntime = None) -> Json:
    return given(role=role, default_runtime_type=runtime)


_orgs = Records(orgs, "org", "Acme", ("id", "name", "created_at"), title="organisation")
_orgs.can_list()
_orgs.can_create(_org, "Acme")
_orgs.can_show()
_orgs.can_update(_org, "--name 'Acme Labs'", "Change {}.")
_orgs.can_delete(
    "Delete {} with its users and all they have.", "Delete {} with its users and all they have?"
)

_users = Records(
    users, "user", "Ada", ("id", "name", "role", "created_at", "org_id"), list_example="--json"
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
    user: SomeUser = None,
) -> Record:
    """Print a link that logs a browser in, once, within 15 minutes."""
    return Record(await client.post("users", await user_of(client, user), "login-link"))


quotas.add_to(users, orgs)
retention.add_to_orgs(orgs)
_users.can_update(_user, "--role admin", "Change {}.")
_users.can_delete("Delete {} with all they have.", "Delete {} with all they have?")


@remote(users, "set-key", example="trunkline user set-key openai < key.txt")
async def set_key(
    client: "Client",
    provider: Provider,
    user: OfUser = None,
    base_url: BaseUrl = None,
) -> Record:
    """Store a provider's API key, encrypted. It is asked for, or read from stdin."""
    path = await _key_path(client, provider, user, base_url)
    body = given(api_key=_read_key(base_url), base_url=base_url)
    return Record(await client.put(*path, body=body))


@remote(users, "test-key", example="trunkline user test-key openai < key.txt")
async def try_key(
    client: "Client",
    provider: Provider,
    user: OfUser = None,
    base_url: BaseUrl = None,
    stored: Annotated[bool, typer.Option("--stored", help="Try the key that is stored.")] = False,
) -> Record:
    """Try a provider's API key and list the models there. Nothing is stored."""
    path = await _key_path(client, provider, user, base_url)
    body = given(api_key=None if stored else _read_key(base_url), base_url=base_url)
    found = await client.post(*path, "test", body=body)
    if not found["ok"]:
        raise CommandFailed(found["error"])
    return Record(found)


@remote(users, "password", example="trunkline user password Ada < password.txt")
async def set_password(client: "Client", user_id: UserName) -> Done:
    """Set the password of a user. It is asked for, or read from stdin.

    For pages that log in by name; all browser logins of that user end.
    """
    password = _read_secret("Password", confirm=True)
    changed = await client.put("users", user_id, "password", body={"password": password})
    return Done(f"set the password of {changed['name']}")


@remote(users, "delete-key", example="trunkline user delete-key openai")
async def delete_key(client: "Client", provider: Provider, user: OfUser = None) -> Done:
    """Forget a provider's API key."""
    await client.delete(*await _key_path(client, provider, user, ""))
    return Done(f"forgot the key for {provider[-1]}")


async def _key_path(
    client: "Client", said: list[str], user: str | None, base_url: str | None
) -> tuple[str, ...]:
    """Where the API has that key. A slip is told before a key is asked for; what is like none of
    ours may be one's own. `USER PROVIDER` is how it was said before there was --user."""
    if len(said) > (1 if user else 2):
        raise typer.BadParameter("give one provider, and whose key it is with --user")
    provider = said[-1]
    near = names.unknown("provider", provider, names.PROVIDERS)
    if provider not in names.PROVIDERS and base_url is None and near.endswith("?"):
        raise CommandFailed(f"{names.not_one_of(provider, names.PROVIDERS)} (others: --base-url)")
    if len(said) > 1:
        user = await resolve(client, "users", said[0])
    return "users", await user_of(client, user), "credentials", provider


def _read_key(base_url: str | None) -> str | None:
    """A server at an address of one's own may want none: an empty line, or nothing on stdin."""
    if base_url is None:
        return _read_secret("API key")
    if sys.stdin.isatty():
        return typer.prompt("API key, if it wants one", "", hide_input=True) or None
    return sys.stdin.readline().strip() or None


def _read_secret(what: str, *, confirm: bool = False) -> str:
    """Never from the command line, where every user of this machine could read it."""
    if sys.stdin.isatty():
        return str(typer.prompt(what, hide_input=True, confirmation_prompt=confirm))
    secret = sys.stdin.readline().strip()
    if not secret:
        raise CommandFailed(f"no {what} on stdin")
    return secret


@remote(tokens, "create", example="trunkline token create --name phone --expires 90d --scope read")
async def create_token(
    client: "Client",
    user: OfUser = None,
    name: Annotated[str | None, typer.Option("--name", "--label", help="What it is for.")] = None,
    expires: Annotated[str | None, typer.Option(help="When it ends: 90d, 12h, 30m.")] = None,
    days: Annotated[float | None, typer.Option(min=0.001, help="The same, in days.")] = None,
    scope: Annotated[
        list[choices.Scope] | None,
        typer.Option(help="What it is good for; may be repeated. [all you may]"),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the token and nothing else.")
    ] = False,
) -> Record | Done:
    """Issue a token. It is shown this once."""
    life_s = None if days is None else int(days * 24 * 3600)
    if expires is not None:
        life_s = moments.seconds(expires)
    body = given(
        label=name, expires_in_s=life_s, scopes=[one.value for one in scope] if scope else None
    )
    issued = await client.post("users", await user_of(client, user), "token", body=body)
    return Done(str(issued["token"])) if quiet else Record(issued)


@remote(tokens, "list", example="trunkline token list --user Ada")
async def list_tokens(client: "Client", user: OfUser = None, limit: Limit = 50) -> Rows:
    """List a user's tokens, without their secrets."""
    found = await collect(client.each("users", await user_of(client, user), "tokens"), limit)
    columns = ("id", "label", "scopes", "expires_at", "last_used_at", "kind", "created_at")
    return Rows(found, columns, empty="no tokens yet: trunkline token create --name NAME")


@remote(tokens, "revoke", example="trunkline token revoke phone")
async def revoke_token(client: "Client", token_id: TokenName, is_sure: Sure = False) -> Done:
    """Revoke a token; what is connected with it is cut."""
    named = await called(client, "tokens", token_id)
    if not is_sure:
        make_sure(f"Revoke {named}, and cut what is connected with it?")
    await client.delete("tokens", token_id)
    return Done(f"revoked {named}")


async def user_of(client: "Client", user_id: str | None) -> str:
    """The user who was named, or the one whose token this is."""
    if user_id is not None:
        return user_id
    return str((await client.me())["user"]["id"])
