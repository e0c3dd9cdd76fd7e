"""Organisations: what separates one group of people from another.

Admins make and remove them; an org's own admins may change it; its members may see it.
"""

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import select

from trunkline.control.access.auth import Auth, Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, Forbidden
from trunkline.control.ids import new_id
from trunkline.control.records.fields import Name, RuntimeType
from trunkline.control.records.page import SeenRows, changes
from trunkline.control.records.tokens import revoke_all
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


class Org(msgspec.Struct, kw_only=True):
    """An organisation."""

    id: str
    name: str
    default_runtime_type: str | None
    auto_approve_evolutions: bool
    created_at: int


class NewOrg(msgspec.Struct, kw_only=True):
    """`auto_approve_evolutions`: skills that agents submit with a high score need no person."""

    name: Name
    default_runtime_type: RuntimeType | None = None
    auto_approve_evolutions: bool = False


class OrgPatch(msgspec.Struct, kw_only=True):
    """What is left out stays as it is."""

    name: Name | UnsetType = UNSET
    default_runtime_type: RuntimeType | UnsetType | None = UNSET
    auto_approve_evolutions: bool | UnsetType = UNSET


class Orgs(SeenRows[Org]):
    """The records of organisations."""

    def __init__(self, store: Store, auth: Auth, clock: Clock) -> None:
        super().__init__(store, schema.orgs, Org, "org", org_id=schema.orgs.c.id)
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
        users = schema.users
        ids = await self._store.scalars(select(users.c.id).where(users.c.org_id == org_id))
        return any(self._auth.is_first_user(user_id) for user_id in ids)

    async def remove(self, who: Principal, org_id: str) -> None:
        """Removes the org, its people and all their records, and cuts what they had connected."""
        await self.check_removable(who, org_id)
        await revoke_all(self._store, self._auth, schema.users.c.org_id == org_id)
        await self._remove(org_id)
        self._auth.forget()
