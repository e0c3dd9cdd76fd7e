"""People. Members see themselves, org admins their org's people, admins everyone.

Nobody can give a role above their own, act on a person above them, or change their own role.
"""

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import select

from trunkline.control.access.auth import Auth, Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, Forbidden, NotFound
from trunkline.control.ids import new_id
from trunkline.control.records.fields import Id, Name, Role, RuntimeType, rank
from trunkline.control.records.page import SeenRows, changes, visible_org
from trunkline.control.records.tokens import revoke_all, tokens_of
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

_users = schema.users


class User(msgspec.Struct, kw_only=True):
    """A person."""

    id: str
    org_id: str
    name: str
    role: str
    default_runtime_type: str | None
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
        orgs = schema.orgs
        query = select(orgs.c.id).where(orgs.c.id == org_id, visible_org(who, orgs.c.id))
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
        if values := changes(patch):
            await self._change(user_id, values)
            self._auth.forget(await tokens_of(self._store, _users.c.id == user_id))
        return await self.get(who, user_id)

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
        await revoke_all(self._store, self._auth, _users.c.id == user_id)
        await self._remove(user_id)
        self._auth.forget()


def _check_role(who: Principal, role: str) -> None:
    if rank(role) > rank(who.role):
        raise Forbidden(f"the role {role} is above your own", code="ROLE_REFUSED")
