"""Bearer tokens and browser logins of people: issued, listed, revoked. Secrets are shown once.

`Auth` owns what a token is worth; this module owns who may handle whose.
"""

from collections.abc import Sequence

import msgspec
from sqlalchemy import ColumnElement, select

from trunkline import limits
from trunkline.control.access.auth import Auth, Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Forbidden, NotFound
from trunkline.control.records.fields import Label, LifeSeconds, rank
from trunkline.control.records.page import Page, Paging, Rows
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

_tokens, _users = schema.tokens, schema.users


class Token(msgspec.Struct, kw_only=True):
    """A token as it is listed: never its secret. `kind` is `bearer` or `cookie` (a browser)."""

    id: str
    user_id: str
    kind: str
    label: str | None
    created_at: int
    expires_at: int | None


class NewToken(msgspec.Struct, kw_only=True):
    """Without `expires_in_s` the token lives until it is revoked."""

    label: Label = ""
    expires_in_s: LifeSeconds | None = None


class IssuedToken(msgspec.Struct, kw_only=True):
    """The secret, shown this once, and the id under which it is revoked."""

    token: str
    id: str


class Tokens(Rows[Token]):
    """The tokens of people."""

    def __init__(self, store: Store, auth: Auth, clock: Clock) -> None:
        super().__init__(store, _tokens, Token, "token")
        self._auth = auth
        self._clock = clock

    async def issue(self, user_id: str, new: NewToken) -> IssuedToken:
        """For a user of whom the caller has checked that it may act in their name."""
        secret, token_id = await self._auth.issue(user_id, label=new.label, life_s=new.expires_in_s)
        return IssuedToken(token=secret, id=token_id)

    async def issue_login(self, user_id: str) -> tuple[str, int]:
        """A login link's one-time code and its end (Unix ms), for a user as above."""
        expires_at = self._clock() + int(limits.LOGIN_LINK_LIFE_S * 1000)
        code, _ = await self._auth.issue(user_id, "login", life_s=limits.LOGIN_LINK_LIFE_S)
        return code, expires_at

    async def page(self, user_id: str, paging: Paging) -> Page[Token]:
        """Of a user whom the caller may see."""
        return await self._page(paging, _tokens.c.user_id == user_id, _tokens.c.kind != "login")

    async def revoke(self, who: Principal, token_id: str) -> None:
        """Ends a token and whatever is connected with it."""
        token = await self._seen(who, token_id)
        query = select(_users.c.role).where(_users.c.id == token.user_id)
        role = await self._store.scalar(query) or ""
        if rank(role) > rank(who.role):
            raise Forbidden(f"that token belongs to a user who is {role}")
        await self._auth.revoke(token_id)

    async def log_out(self, who: Principal) -> None:
        """Ends the browser login that asks. A bearer token stays: it is not a login."""
        login = await self._find(_tokens.c.id == who.token_id, _tokens.c.kind == "cookie")
        if login is not None:
            await self._auth.revoke(login.id)


async def revoke_all(store: Store, auth: Auth, of_users: ColumnElement[bool]) -> None:
    """Revokes every token of those users, one by one, so that each connection is cut."""
    for token_id in await tokens_of(store, of_users):
        try:
            await auth.revoke(token_id)
        except NotFound:
            continue  # revoked by someone else in the meantime


async def tokens_of(store: Store, of_users: ColumnElement[bool]) -> Sequence[str]:
    query = select(_tokens.c.id).join(_users, _users.c.id == _tokens.c.user_id).where(of_users)
    return await store.scalars(query)
