"""Routes of bearer tokens."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.page import Page, Paging
from trunkline.control.records.tokens import IssuedToken, NewToken, Token

routes = Routes("tokens")


@routes.post("/users/{user_id}/token", status=201)
async def issue_token(
    core: Core,
    who: Principal,
    user_id: str,
    body: NewToken = NewToken(),  # noqa: B008
) -> IssuedToken:
    """Issue a bearer token for a user.

    It works for the clients of every protocol and sees what that user may see. The secret is
    shown this once.
    """
    user = await core.records.users.get_managed(who, user_id)
    return await core.records.tokens.issue(user.id, body)


@routes.get("/users/{user_id}/tokens")
async def list_tokens(core: Core, who: Principal, user_id: str, query: Paging) -> Page[Token]:
    """List a user's tokens and browser logins, without their secrets."""
    user = await core.records.users.get(who, user_id)
    return await core.records.tokens.page(user.id, query)


@routes.delete("/tokens/{token_id}")
async def revoke_token(core: Core, who: Principal, token_id: str) -> None:
    """Revoke a token.

    Whatever is connected with it is cut within a second.
    """
    await core.records.tokens.revoke(who, token_id)
