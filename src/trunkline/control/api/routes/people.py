"""Routes of people: who am I, organisations, users, their tokens and provider keys.

No answer ever holds a key; a secret is shown when it is made.
"""

from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta

from trunkline.control.access.auth import Principal
from trunkline.control.access.cookies import drop_old_cookie, set_cookie
from trunkline.control.access.passwords import CHARS_MAX, CHARS_MIN
from trunkline.control.api.framework import Routes, base_url
from trunkline.control.api.responses import json_response
from trunkline.control.core import Core
from trunkline.control.errors import Forbidden
from trunkline.control.records.credentials import Credential, CredentialPatch, NewCredential
from trunkline.control.records.page import Page, Paging
from trunkline.control.records.people import (
    IssuedToken,
    NewOrg,
    NewToken,
    NewUser,
    Org,
    OrgPatch,
    Token,
    User,
    UserPatch,
)

me = Routes("me")
orgs = Routes("orgs")
users = Routes("users")
tokens = Routes("tokens")
credentials = Routes("credentials")


class Me(msgspec.Struct, kw_only=True):
    """The person behind the token or cookie. `token_id` is empty for the fixed admin token."""

    user: User
    org: Org
    token_id: str


@me.get("/me")
async def get_me(core: Core, who: Principal) -> Me:
    """Show who you are."""
    return Me(
        user=await core.records.users.get(who, who.user_id),
        org=await core.records.orgs.get(who, who.org_id),
        token_id=who.token_id,
    )


@me.post("/logout", status=204, scope="read", audit="logout.done", old_cookie=True)
async def log_out(core: Core, who: Principal, request: web.Request) -> web.Response:
    """End this browser's login.

    A bearer token is not ended by this; revoke it instead.
    """
    await core.records.tokens.log_out(who)
    response = json_response(None, 204)
    gone = set_cookie(core.settings, request.headers.get("Host"), "", 0)
    for header in (gone, drop_old_cookie()):
        response.headers.add("Set-Cookie", header)
    return response


@orgs.post("/orgs", status=201, audit="org.made")
async def create_org(core: Core, who: Principal, body: NewOrg) -> Org:
    """Make an organisation.

    Only admins may.
    """
    return await core.records.orgs.create(who, body)


@orgs.get("/orgs")
async def list_orgs(core: Core, who: Principal, query: Paging) -> Page[Org]:
    """List organisations: your own; for admins, all."""
    return await core.records.orgs.page(who, query)


@orgs.get("/orgs/{org_id}")
async def get_org(core: Core, who: Principal, org_id: str) -> Org:
    """Show an organisation."""
    return await core.records.orgs.get(who, org_id)


@orgs.patch("/orgs/{org_id}", audit="org.changed")
async def change_org(core: Core, who: Principal, org_id: str, body: OrgPatch) -> Org:
    """Change an organisation.

    Its own admins and admins may.
    """
    return await core.records.orgs.change(who, org_id, body)


@orgs.delete("/orgs/{org_id}", audit="org.removed")
async def remove_org(core: Core, who: Principal, org_id: str) -> None:
    """Remove an organisation with all that belongs to it.

    Its people's tokens end, their machines are given up. Only admins may, and not their own.
    """
    await core.records.orgs.check_removable(who, org_id)
    for machine_id in await core.records.machines.ids_of(org_id=org_id):
        await core.vms.terminate(who, machine_id)
    session_ids = await core.session_records.ids_of(org_id=org_id)
    async with core.erasing.owner_removed(session_ids):
        await core.records.orgs.remove(who, org_id)


class LoginLink(msgspec.Struct, kw_only=True):
    """Logs a browser in, once, until `expires_at` (Unix ms)."""

    url: str
    expires_at: int


@users.post("/users", status=201, audit="user.made")
async def create_user(core: Core, who: Principal, body: NewUser) -> User:
    """Make a user.

    Org admins may in their own org. Nobody can give a role above their own.
    """
    return await core.records.users.create(who, body)


@users.get("/users")
async def list_users(core: Core, who: Principal, query: Paging) -> Page[User]:
    """List users: yourself; for org admins, their org's; for admins, all."""
    return await core.records.users.page(who, query)


@users.get("/users/{user_id}")
async def get_user(core: Core, who: Principal, user_id: str) -> User:
    """Show a user."""
    return await core.records.users.get(who, user_id)


@users.patch("/users/{user_id}", audit="user.changed")
async def change_user(core: Core, who: Principal, user_id: str, body: UserPatch) -> User:
    """Change a user.

    Everyone may change their own name, runtime and default machine; roles are changed by those
    above.
    """
    return await core.records.users.change(who, user_id, body)


@users.post("/users/{user_id}/login-link", status=201, audit="login_link.made")
async def make_login_link(
    core: Core, who: Principal, request: web.Request, user_id: str
) -> LoginLink:
    """Make a login link for a user: yourself, or someone not above you.

    It works once, for 15 minutes.
    """
    user = await core.records.users.get_managed(who, user_id)
    code, expires_at = await core.records.tokens.issue_login(who, user.id)
    url = f"{base_url(core, request)}/login?code={code}"
    return LoginLink(url=url, expires_at=expires_at)


class NewPassword(msgspec.Struct, kw_only=True):
    password: Annotated[str, Meta(min_length=CHARS_MIN, max_length=CHARS_MAX)]

    def __repr__(self) -> str:
        return "NewPassword(password=…)"


@users.put("/users/{user_id}/password", audit="user.password_set")
async def set_password(core: Core, who: Principal, user_id: str, body: NewPassword) -> User:
    """Set a user's password: your own, or of someone not above you.

    It is for pages that log in by name. All browser logins of that user end. A token with scopes
    or an end cannot set one: a password has neither.
    """
    user = await core.records.users.get_managed(who, user_id)
    who.require_unlimited()
    if who.expires_at is not None:
        raise Forbidden("a login or token that ends cannot set a password, which does not")
    await core.passwords.set(user.id, body.password)
    await core.records.tokens.end_logins(user.id)
    return user


@users.delete("/users/{user_id}", audit="user.removed")
async def remove_user(core: Core, who: Principal, user_id: str) -> None:
    """Remove a user with all records.

    The user's tokens end and what is connected with them is cut; machines are given up.
    """
    await core.records.users.check_removable(who, user_id)
    for machine_id in await core.records.machines.ids_of(user_id=user_id):
        await core.vms.terminate(who, machine_id)
    session_ids = await core.session_records.ids_of(user_id=user_id)
    async with core.erasing.owner_removed(session_ids):
        await core.records.users.remove(who, user_id)


@tokens.post("/users/{user_id}/token", status=201, audit="token.issued")
async def issue_token(
    core: Core, who: Principal, user_id: str, body: NewToken = NewToken()
) -> IssuedToken:
    """Issue a bearer token for a user.

    It works for the clients of every protocol and sees what that user may see. The secret is
    shown this once.
    """
    user = await core.records.users.get_managed(who, user_id)
    return await core.records.tokens.issue(who, user.id, body)


@tokens.get("/users/{user_id}/tokens")
async def list_tokens(core: Core, who: Principal, user_id: str, query: Paging) -> Page[Token]:
    """List a user's tokens and browser logins, without their secrets."""
    user = await core.records.users.get(who, user_id)
    return await core.records.tokens.page(user.id, query)


@tokens.delete("/tokens/{token_id}", audit="token.revoked")
async def revoke_token(core: Core, who: Principal, token_id: str) -> None:
    """Revoke a token.

    Whatever is connected with it is cut within a second.
    """
    await core.records.tokens.revoke(who, token_id)


@credentials.put("/users/{user_id}/credentials/{provider}", audit="credential.stored")
async def put_credential(
    core: Core, who: Principal, user_id: str, provider: str, body: NewCredential
) -> Credential:
    """Store a provider's API key for a user.

    It is kept encrypted and goes to that user's machines when they connect.
    """
    user = await core.records.users.get_managed(who, user_id)
    return await core.records.credentials.put(user.id, provider, body)


@credentials.patch("/users/{user_id}/credentials/{provider}", audit="credential.changed")
async def change_credential(
    core: Core, who: Principal, user_id: str, provider: str, body: CredentialPatch
) -> Credential:
    """Choose the model of a provider that the user's sessions use when they name none."""
    user = await core.records.users.get_managed(who, user_id)
    return await core.records.credentials.change(user.id, provider, body)


@credentials.get("/users/{user_id}/credentials")
async def list_credentials(
    core: Core, who: Principal, user_id: str, query: Paging
) -> Page[Credential]:
    """List the providers for which a user has a key."""
    user = await core.records.users.get(who, user_id)
    return await core.records.credentials.page(user.id, query)


@credentials.get("/users/{user_id}/credentials/{provider}")
async def get_credential(core: Core, who: Principal, user_id: str, provider: str) -> Credential:
    """Show whether a user has a key for a provider."""
    user = await core.records.users.get(who, user_id)
    return await core.records.credentials.get(user.id, provider)


@credentials.delete("/users/{user_id}/credentials/{provider}", audit="credential.removed")
async def remove_credential(core: Core, who: Principal, user_id: str, provider: str) -> None:
    """Remove a provider's key."""
    user = await core.records.users.get_managed(who, user_id)
    await core.records.credentials.remove(user.id, provider)
