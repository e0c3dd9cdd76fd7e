"""Organisations, the people in them, and the tokens and browser logins of people.

An organisation separates one group of people from another: admins make and remove them, its own
admins may change it. Members see themselves, org admins their org's people, admins everyone; nobody
can give a role above their own, act on a person above them, or change their own role. What a token
is worth is for `Auth` to say; who may handle whose is decided here. A secret is shown once.
"""

import contextlib
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import ColumnElement, select

from trunkline import limits
from trunkline.control.access.auth import Auth, Principal
from trunkline.control.access.scopes import SCOPES, Scope, scopes_of
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, Forbidden, InvalidRequest, NotFound
from trunkline.control.ids import new_id
from trunkline.control.records.fields import (
    Id,
    Label,
    LifeSeconds,
    Name,
    Role,
    RuntimeType,
    rank,
)
from trunkline.control.records.page import Page, Paging, Rows, SeenRows, changes, visible_org
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tuning import DEFAULT

_orgs, _users, _tokens = schema.orgs, schema.users, schema.tokens
_machines = schema.machines


class Org(msgspec.Struct, kw_only=True):
    """An organisation."""

    id: str
    name: str
    default_runtime_type: RuntimeType | None
    created_at: int


class NewOrg(msgspec.Struct, kw_only=True):
    """`default_runtime_type`: of its sessions that name none."""

    name: Name
    default_runtime_type: RuntimeType | None = None


class OrgPatch(msgspec.Struct, kw_only=True):
    """What is left out stays as it is."""

    name: Name | UnsetType = UNSET
    default_runtime_type: RuntimeType | UnsetType | None = UNSET


class Orgs(SeenRows[Org]):
    """The records of organisations."""

    def __init__(self, store: Store, auth: Auth, clock: Clock) -> None:
        super().__init__(store, _orgs, Org, "org", org_id=_orgs.c.id)
        self._auth = auth
        self._clock = clock

    async def create(self, who: Principal, new: NewOrg) -> Org:
        if not who.is_admin:
            raise Forbidden("only an admin may make organisations")
        values = msgspec.structs.asdict(new)
        return await self._add(Org(id=new_id(), created_at=self._clock(), **values))

    async def change(self, who: Principal, org_id: str, patch: OrgPatch) -> Org:
        await self.get(who, org_id)
        who.require_org_admin()
        await self._change(org_id, changes(patch))
        return await self.get(who, org_id)

    async def check_removable(self, who: Principal, org_id: str) -> None:
        """Whether this person may remove the org; removing one's own would lock everyone out."""
        await self.get(who, org_id)
        if not who.is_admin:
            raise Forbidden("only an admin may remove organisations")
        if org_id == who.org_id:
            raise Conflict("you cannot remove the organisation that you belong to")
        # The operator's own user is in the oldest org, and that token must go on working.
        if await self._is_first_users(org_id):
            raise Conflict("the operator's own organisation cannot be removed")

    async def _is_first_users(self, org_id: str) -> bool:
        ids = await self._store.scalars(select(_users.c.id).where(_users.c.org_id == org_id))
        return any(self._auth.is_first_user(user_id) for user_id in ids)

    async def remove(self, who: Principal, org_id: str) -> None:
        """Removes the org, its people and all their records, and cuts what they had connected."""
        await self.check_removable(who, org_id)
        await _revoke_all(self._store, self._auth, _users.c.org_id == org_id)
        await self._remove(org_id)
        self._auth.forget()


class User(msgspec.Struct, kw_only=True):
    """A person. `default_machine_id`: of their machines, the one for sessions that name none, while
    it is online."""

    id: str
    org_id: str
    name: str
    role: Role
    default_runtime_type: RuntimeType | None
    default_machine_id: str | None = None
    created_at: int


class NewUser(msgspec.Struct, kw_only=True):
    """Without `org_id`: the org of who makes the user."""

    name: Name
    org_id: Id | None = None
    role: Role = "member"
    default_runtime_type: RuntimeType | None = None


class UserPatch(msgspec.Struct, kw_only=True):
    """What is left out stays as it is."""

    name: Name | UnsetType = UNSET
    role: Role | UnsetType = UNSET
    default_runtime_type: RuntimeType | UnsetType | None = UNSET
    default_machine_id: Id | UnsetType | None = UNSET


class Users(SeenRows[User]):
    """The records of people."""

    def __init__(self, store: Store, auth: Auth, clock: Clock) -> None:
        super().__init__(store, _users, User, "user", user_id=_users.c.id)
        self._auth = auth
        self._clock = clock

    async def create(self, who: Principal, new: NewUser) -> User:
        who.require_org_admin()
        org_id = new.org_id or who.org_id
        _check_role(who, new.role)
        values = msgspec.structs.asdict(new) | {"org_id": org_id}
        user = User(id=new_id(), created_at=self._clock(), **values)
        query = select(_orgs.c.id).where(_orgs.c.id == org_id, visible_org(who, _orgs.c.id))
        async with self._store.write() as connection:
            if (await connection.execute(query)).first() is None:
                raise NotFound("org", org_id)
            await connection.execute(self._insert(user))
        return user

    async def get_managed(self, who: Principal, user_id: str) -> User:
        """A user in whose name this person may act: oneself, or someone not above oneself."""
        user = await self.get(who, user_id)
        if rank(user.role) > rank(who.role):
            raise Forbidden(f"that user is {user.role}, which is above your own role")
        return user

    async def change(self, who: Principal, user_id: str, patch: UserPatch) -> User:
        user = await self.get_managed(who, user_id)
        if patch.role is not UNSET and patch.role != user.role:
            who.require_org_admin()
            if user_id == who.user_id:
                raise Conflict("you cannot change your own role")
            _check_role(who, patch.role)
        if patch.default_machine_id:
            await self._check_machine(user_id, patch.default_machine_id)
        if values := changes(patch):
            await self._change(user_id, values)
        if "role" in values:
            self._auth.forget(await _tokens_of(self._store, _users.c.id == user_id))
        return await self.get(who, user_id)

    async def _check_machine(self, user_id: str, machine_id: str) -> None:
        """That new sessions of this user can be given to it, were it online."""
        query = select(_machines.c.kind).where(
            _machines.c.id == machine_id,
            _machines.c.user_id == user_id,
            _machines.c.state != "terminated",
        )
        row = await self._store.first(query)
        if row is None:
            raise NotFound("machine", machine_id)
        if row.kind == "group":
            raise InvalidRequest("a group cannot be a default: to talk to one is a choice")

    async def check_removable(self, who: Principal, user_id: str) -> None:
        await self.get_managed(who, user_id)
        who.require_org_admin()
        if user_id == who.user_id:
            raise Conflict("you cannot remove yourself")
        if self._auth.is_first_user(user_id):
            raise Conflict("the first user is the operator's own and cannot be removed")

    async def remove(self, who: Principal, user_id: str) -> None:
        """Removes the user with all records, and cuts what their tokens had connected."""
        await self.check_removable(who, user_id)
        await _revoke_all(self._store, self._auth, _users.c.id == user_id)
        await self._remove(user_id)
        self._auth.forget()


def _check_role(who: Principal, role: str) -> None:
    if rank(role) > rank(who.role):
        raise Forbidden(f"the role {role} is above your own", code="ROLE_REFUSED")


class Token(msgspec.Struct, kw_only=True):
    """A token as it is listed: never its secret. `kind` is `bearer` or `cookie` (a browser),
    `label` its name. Without `scopes` it may do all that its user may."""

    id: str
    user_id: str
    kind: Literal["bearer", "cookie"]
    label: str | None
    scopes: list[Scope] | None
    created_at: int
    expires_at: int | None
    last_used_at: int | None


class NewToken(msgspec.Struct, kw_only=True):
    """`label` is its name. Without `expires_in_s` the token lives until it is revoked; one that is
    asked for with an expiring token ends with that one. Without `scopes` it may do all that who
    asks for it may."""

    label: Label = ""
    expires_in_s: LifeSeconds | None = None
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=len(SCOPES))] | None = None


class IssuedToken(msgspec.Struct, kw_only=True):
    """The secret, shown this once, and the id under which it is revoked."""

    token: str
    id: str
    expires_at: int | None
    scopes: list[Scope] | None


class Tokens(Rows[Token]):
    """The tokens of people."""

    def __init__(
        self,
        store: Store,
        auth: Auth,
        clock: Clock,
        per_user_max: int = DEFAULT.tokens_per_user_max,
    ) -> None:
        super().__init__(store, _tokens, Token, "token")
        self._auth = auth
        self._clock = clock
        self._per_user_max = per_user_max

    async def issue(self, who: Principal, user_id: str, new: NewToken) -> IssuedToken:
        """For a user of whom the caller has checked that this person may act in their name."""
        if who.expires_at is not None and new.expires_in_s is not None:
            left_s = (who.expires_at - self._clock()) / 1000
            if new.expires_in_s > left_s:
                raise Forbidden(
                    f"a token cannot outlive the one that makes it, which has {left_s:.0f} s left",
                    code="TOKEN_OUTLIVES",
                )
        await self._check_room(user_id, "bearer")
        secret, token_id = await self._auth.issue(
            user_id,
            label=new.label,
            life_s=new.expires_in_s,
            limited_to=scopes_of(new.scopes),
            under=who,
        )
        made = await self._find(_tokens.c.id == token_id)
        if made is None:
            raise NotFound("token", token_id)  # the user was removed in the same moment
        return IssuedToken(
            token=secret, id=token_id, expires_at=made.expires_at, scopes=made.scopes
        )

    async def issue_login(self, who: Principal, user_id: str) -> tuple[str, int]:
        """A login link's one-time code and its end (Unix ms), for a user as above."""
        await self._check_room(user_id, "login")
        expires_at = self._clock() + int(limits.LOGIN_LINK_LIFE_S * 1000)
        code, _ = await self._auth.issue(
            user_id, "login", life_s=limits.LOGIN_LINK_LIFE_S, under=who
        )
        return code, min(expires_at, who.expires_at or expires_at)

    async def _check_room(self, user_id: str, kind: str) -> None:
        is_good = _tokens.c.expires_at.is_(None) | (_tokens.c.expires_at > self._clock())
        hers = _tokens.c.user_id == user_id
        await self._check_count(self._per_user_max, hers, _tokens.c.kind == kind, is_good)

    async def page(self, user_id: str, paging: Paging) -> Page[Token]:
        """Of a user whom the caller may see."""
        page = await self._page(paging, _tokens.c.user_id == user_id, _tokens.c.kind != "login")
        for token in page.items:
            token.last_used_at = self._auth.last_use(token.id) or token.last_used_at
        return page

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

    async def end_logins(self, user_id: str) -> None:
        """Ends every browser login of a user, as their password has changed."""
        for login in await self._store.scalars(
            select(_tokens.c.id).where(_tokens.c.user_id == user_id, _tokens.c.kind == "cookie")
        ):
            with contextlib.suppress(NotFound):  # ended in the meantime
                await self._auth.revoke(login)


async def _revoke_all(store: Store, auth: Auth, of_users: ColumnElement[bool]) -> None:
    """Revokes every token of those users, one by one, so that each connection is cut."""
    for token_id in await _tokens_of(store, of_users):
        try:
            await auth.revoke(token_id)
        except NotFound:
            continue  # revoked by someone else in the meantime


async def _tokens_of(store: Store, of_users: ColumnElement[bool]) -> Sequence[str]:
    query = select(_tokens.c.id).join(_users, _users.c.id == _tokens.c.user_id).where(of_users)
    return await store.scalars(query)
