"""Routes about the person who asks: who am I, and log out."""

import msgspec
from aiohttp import web

from trunkline.control.access.auth import COOKIE, Principal
from trunkline.control.api.answers import json_response
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.orgs import Org
from trunkline.control.records.users import User

routes = Routes("me")


class Me(msgspec.Struct, kw_only=True):
    """The person behind the token or cookie. `token_id` is empty for the fixed admin token."""

    user: User
    org: Org
    token_id: str


@routes.get("/me")
async def get_me(core: Core, who: Principal) -> Me:
    """Show who you are."""
    return Me(
        user=await core.records.users.get(who, who.user_id),
        org=await core.records.orgs.get(who, who.org_id),
        token_id=who.token_id,
    )


@routes.post("/logout", status=204)
async def log_out(core: Core, who: Principal) -> web.Response:
    """End this browser's login.

    A bearer token is not ended by this; revoke it instead.
    """
    await core.records.tokens.log_out(who)
    answer = json_response(None, 204)
    answer.del_cookie(COOKIE, path="/", httponly=True, samesite="Strict")
    return answer
