"""Routes of people, and of the links by which they log in."""

import msgspec
from aiohttp import web

from trunkline.control.access.auth import Principal
from trunkline.control.api.address import base_url
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.page import Page, Paging
from trunkline.control.records.users import NewUser, User, UserPatch

routes = Routes("users")


class LoginLink(msgspec.Struct, kw_only=True):
    """Logs a browser in, once, until `expires_at` (Unix ms)."""

    url: str
    expires_at: int


@routes.post("/users", status=201)
async def create_user(core: Core, who: Principal, body: NewUser) -> User:
    """Make a user.

    Org admins may in their own org. Nobody can give a role above their own.
    """
    return await core.records.users.create(who, body)


@routes.get("/users")
async def list_users(core: Core, who: Principal, query: Paging) -> Page[User]:
    """List users: yourself; for org admins, their org's; for admins, all."""
    return await core.records.users.page(who, query)


@routes.get("/users/{user_id}")
async def get_user(core: Core, who: Principal, user_id: str) -> User:
    """Show a user."""
    return await core.records.users.get(who, user_id)


@routes.patch("/users/{user_id}")
async def change_user(core: Core, who: Principal, user_id: str, body: UserPatch) -> User:
    """Change a user.

    Everyone may change their own name and runtime; roles are changed by those above.
    """
    return await core.records.users.change(who, user_id, body)


@routes.post("/users/{user_id}/login-link", status=201)
async def make_login_link(
    core: Core, who: Principal, request: web.Request, user_id: str
) -> LoginLink:
    """Make a login link for a user: yourself, or someone not above you.

    It works once, for 15 minutes.
    """
    user = await core.records.users.get_managed(who, user_id)
    code, expires_at = await core.records.tokens.issue_login(user.id)
    url = f"{base_url(core, request)}/login?code={code}"
    return LoginLink(url=url, expires_at=expires_at)


@routes.delete("/users/{user_id}")
async def remove_user(core: Core, who: Principal, user_id: str) -> None:
    """Remove a user with all records.

    The user's tokens end and what is connected with them is cut; machines are given up.
    """
    await core.records.users.check_removable(who, user_id)
    for machine_id in await core.records.machines.ids_of(user_id=user_id):
        await core.vms.terminate(who, machine_id)
    session_ids = await core.sessions.ids_of(user_id=user_id)
    await core.records.users.remove(who, user_id)
    await core.sessions.erase(session_ids)
