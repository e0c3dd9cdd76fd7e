"""How much one user, or one organisation, may have: one place that counts, and one error.

Defaults are settings; an administrator may give an organisation, or one of its users, other ones.
A count that decides is made in the transaction that adds to it, behind a lock on its owner. Stored
bytes are counted at leisure instead (`stored_bytes`): what is written by a turn is never refused.
"""

from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import ColumnElement, Select, Table, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import Forbidden, LimitReached, NotFound
from trunkline.control.settings import Settings
from trunkline.control.store import schema, service_schema
from trunkline.control.store.engine import Store
from trunkline.control.stored_bytes import Sizes, StoredBytes

QuotaName = Literal[
    "sessions", "stored_bytes", "agents", "memories", "snapshot_bytes", "skill_bytes"
]
NAMES: tuple[QuotaName, ...] = get_args(QuotaName)
_OF_ORG: tuple[QuotaName, ...] = ("skill_bytes",)
_HAD_BY_ORGS: tuple[QuotaName, ...] = ("memories", "skill_bytes")
_NEAR = 0.9
_LOOKED_AT_MAX = 30  # of each count: who has most is nearest, unless their quotas differ

Amount = Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX)]


class Owner(NamedTuple):
    """Whose it is; without a user, the organisation's own."""

    org_id: str
    user_id: str | None = None


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """`source`: who has said how much it is at most: the server's settings, or an administrator for
    the organisation or for that user. `of`: what is counted together, one user's or everything of
    the organisation."""

    name: QuotaName
    used: int
    max: int
    source: Literal["default", "org", "user"]
    of: Literal["user", "org"]


class OrgQuota(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an administrator or the server's settings give. `of`: each user of the organisation may
    have so much, or the organisation as a whole, which `used` is then told of."""

    name: QuotaName
    max: int
    source: Literal["default", "org"]
    of: Literal["user", "org"]
    used: int | UnsetType = UNSET


class NearQuota(msgspec.Struct, frozen=True, kw_only=True):
    """A quota of which little is left. `owner`: the name of the user or organisation."""

    owner: str
    name: QuotaName
    used: int
    max: int


class QuotaPatch(msgspec.Struct, kw_only=True):
    """What is left out stays; null goes back to what holds without it."""

    sessions: Amount | UnsetType | None = UNSET
    stored_bytes: Amount | UnsetType | None = UNSET
    agents: Amount | UnsetType | None = UNSET
    memories: Amount | UnsetType | None = UNSET
    snapshot_bytes: Amount | UnsetType | None = UNSET
    skill_bytes: Amount | UnsetType | None = UNSET


class QuotaReached(LimitReached):
    """Says which quota, how much of it is used, and what can be done."""

    code = "QUOTA_REACHED"

    def __init__(self, name: QuotaName, used: int, most: int, wanted: str = "") -> None:
        """`wanted`: what there is no room for, where that is not what the quota usually ends."""
        self.details = {"quota": name, "used": used, "max": most}
        usual, unit, remedy = _WORDS[name]
        super().__init__(
            f"no room for {wanted or usual}: {used:,} of {most:,} {unit} are in use (quota {name});"
            f" {remedy} first, or ask an administrator for more"
        )


_WORDS: dict[QuotaName, tuple[str, str, str]] = {
    "sessions": ("another session", "open sessions", "close or delete some"),
    "stored_bytes": ("another turn or session", "stored bytes", "delete sessions for good"),
    "agents": ("another agent", "agents", "remove some"),
    "memories": ("another memory", "memories", "remove some"),
    "snapshot_bytes": ("this snapshot", "bytes of snapshots", "close sessions"),
    "skill_bytes": ("this skill", "bytes of skills of the organisation", "remove old versions"),
}


class Quotas:
    """`sizes`: what the logs of sessions weigh; without it nothing does."""

    def __init__(
        self, store: Store, settings: Settings | None = None, sizes: Sizes | None = None
    ) -> None:
        chosen = settings or Settings()
        self._store = store
        self._defaults = {name: int(getattr(chosen, f"quota_{name}")) for name in NAMES}
        self.stored = StoredBytes(store, sizes)

    async def check(self, name: QuotaName, owner: Owner) -> None:
        """Early, before work that could not be kept: for one more. It decides nothing."""
        async with self._store.read() as connection:
            await self._check(connection, name, owner, 1)

    async def take(
        self, connection: AsyncConnection, name: QuotaName, owner: Owner, adding: int = 1
    ) -> None:
        """In the transaction that adds so much: whoever else adds waits until it has ended."""
        table = schema.orgs if owner.user_id is None else schema.users
        row = select(table.c.id).where(table.c.id == (owner.user_id or owner.org_id))
        await connection.execute(row.with_for_update(key_share=True))
        await self._check(connection, name, owner, adding)

    async def _check(
        self, connection: AsyncConnection, name: QuotaName, owner: Owner, adding: int
    ) -> None:
        used = await connection.scalar(_counted(name, owner)) or 0
        most, _ = (await self._limits(connection, owner))[name]
        if used + adding > most:
            raise QuotaReached(name, int(used), most)

    async def check_stored(self, user_id: str, adding: int = 1, wanted: str = "") -> None:
        """Whether that user may begin another turn or session, or have so many bytes more. Asked
        for often: both numbers are those of up to a minute ago, unless they speak against it."""
        known = await self.stored.known(user_id, self._most_stored)
        if known.used + adding > known.most:
            known = await self.stored.known(user_id, self._most_stored, is_full=True)
        if known.used + adding > known.most:
            raise QuotaReached("stored_bytes", known.used, known.most, wanted)

    async def _most_stored(self, user_id: str) -> int:
        async with self._store.read() as connection:
            found = await self._limits(connection, Owner("", user_id))
        return found["stored_bytes"][0]

    async def usage(self, owner: Owner) -> list[Quota]:
        """Every quota of a user, and those of the organisation."""
        async with self._store.read() as connection:
            of_user = await self._limits(connection, owner)
            of_org = await self._limits(connection, Owner(owner.org_id))
            counts: dict[str, int] = {}
            for name in NAMES if owner.user_id is not None else _HAD_BY_ORGS:
                whose = Owner(owner.org_id) if name in _OF_ORG else owner
                counts[name] = int(await connection.scalar(_counted(name, whose)) or 0)
        if owner.user_id is not None:
            known = await self.stored.known(owner.user_id, self._most_stored)
            counts["stored_bytes"] = known.used
        found: list[Quota] = []
        for name in (one for one in NAMES if one in counts):
            is_orgs = name in _OF_ORG or owner.user_id is None
            most, source = (of_org if is_orgs else of_user)[name]
            of: Literal["user", "org"] = "org" if is_orgs else "user"
            found.append(Quota(name=name, used=counts[name], max=most, source=source, of=of))
        return found

    async def of_org(self, org_id: str) -> list[OrgQuota]:
        """What each user of the organisation may have, and what it may have itself."""
        used = {one.name: one.used for one in await self.usage(Owner(org_id))}
        async with self._store.read() as connection:
            known = await self._limits(connection, Owner(org_id))
        found: list[OrgQuota] = []
        for name, (most, source) in known.items():
            assert source != "user"
            if name not in _OF_ORG:
                found.append(OrgQuota(name=name, max=most, source=source, of="user"))
            if name in used:
                of_all = OrgQuota(name=name, max=most, source=source, of="org", used=used[name])
                found.append(of_all)
        return found

    async def _limits(
        self, connection: AsyncConnection, owner: Owner
    ) -> dict[QuotaName, tuple[int, Literal["default", "org", "user"]]]:
        users, orgs = schema.users, schema.orgs
        of_org: dict[str, int] | None
        of_user: dict[str, int] | None = None
        if owner.user_id is None:
            of_org = await connection.scalar(select(orgs.c.quotas).where(orgs.c.id == owner.org_id))
        else:
            query = select(orgs.c.quotas, users.c.quotas).join(users, users.c.org_id == orgs.c.id)
            row = (await connection.execute(query.where(users.c.id == owner.user_id))).first()
            of_org, of_user = row or (None, None)
        of_org, of_user = of_org or {}, of_user or {}
        found: dict[QuotaName, tuple[int, Literal["default", "org", "user"]]] = {}
        for name in NAMES:
            if name in of_user and name not in _OF_ORG:
                found[name] = of_user[name], "user"
            elif name in of_org:
                found[name] = of_org[name], "org"
            else:
                found[name] = self._defaults[name], "default"
        return found

    # What administrators change

    async def change_org(self, who: Principal, org_id: str, patch: QuotaPatch) -> list[OrgQuota]:
        """For each user of the organisation, and for the organisation itself."""
        if not who.is_admin:
            raise Forbidden("only an admin may change the quotas of an organisation")
        await self._change(schema.orgs, org_id, patch)
        return await self.of_org(org_id)

    async def change_user(self, who: Principal, owner: Owner, patch: QuotaPatch) -> list[Quota]:
        """Administrators of the organisation give up to what a user has there; admins, any."""
        assert owner.user_id is not None
        who.require_org_admin()
        said = {name: getattr(patch, name) for name in NAMES}
        if any(said[name] not in (UNSET, None) for name in _OF_ORG):
            raise Forbidden("skills are the organisation's: change its quotas")
        async with self._store.read() as connection:
            allowed = await self._limits(connection, Owner(owner.org_id))
        for name, value in said.items():
            most = allowed[name][0]
            if isinstance(value, int) and value > most and not who.is_admin:
                raise Forbidden(f"{name}: a user of this organisation may have {most:,}")
        await self._change(schema.users, owner.user_id, patch)
        return await self.usage(owner)

    async def _change(self, table: Any, row_id: str, patch: QuotaPatch) -> None:
        async with self._store.write() as connection:
            query = select(table.c.quotas).where(table.c.id == row_id)
            row = (await connection.execute(query.with_for_update(key_share=True))).first()
            if row is None:
                raise NotFound(str(table.name).removesuffix("s"), row_id)
            said = {name: getattr(patch, name) for name in NAMES}
            changed = {name: value for name, value in said.items() if value is not UNSET}
            merged = {**(row[0] or {}), **changed}
            kept = {name: value for name, value in merged.items() if value is not None}
            await connection.execute(
                update(table).where(table.c.id == row_id).values(quotas=kept or None)
            )
        self.stored.forget()

    # For the operator

    async def near(self) -> list[NearQuota]:
        """Users and organisations that have used most of what they may, the nearest first."""
        users, orgs = schema.users, schema.orgs
        owners: dict[Owner, str] = {}
        for table in (schema.sessions, schema.agents, service_schema.memories):
            most = (
                select(users.c.id, users.c.org_id, users.c.name)
                .join(table, table.c.user_id == users.c.id)
                .group_by(users.c.id, users.c.org_id, users.c.name)
                .order_by(func.count().desc())
                .limit(_LOOKED_AT_MAX)
            )
            owners |= {Owner(row.org_id, row.id): row.name for row in await self._store.all(most)}
        some = select(orgs.c.id, orgs.c.name).limit(_LOOKED_AT_MAX)
        owners |= {Owner(row.id): row.name for row in await self._store.all(some)}
        found = [
            NearQuota(owner=name, name=one.name, used=one.used, max=one.max)
            for owner, name in owners.items()
            for one in await self.usage(owner)
            if one.used >= max(1, one.max * _NEAR) and (one.of == "org") == (owner.user_id is None)
        ]
        found.sort(key=lambda one: one.used / max(one.max, 1), reverse=True)
        return found[:_LOOKED_AT_MAX]


def _counted(name: QuotaName, owner: Owner) -> Select[Any]:
    """How much of it there is."""
    sessions, agents = schema.sessions, schema.agents
    memories, snapshots = service_schema.memories, service_schema.snapshots
    skills, files = service_schema.skills, service_schema.skill_files
    match name:
        case "sessions":
            is_open = sessions.c.status == "active"
            return _count(sessions, sessions.c.user_id == owner.user_id, is_open)
        case "agents":
            return _count(agents, agents.c.user_id == owner.user_id)
        case "memories":
            mine = memories.c.user_id == owner.user_id  # or, without one, `IS NULL`: the org's
            return _count(memories, memories.c.org_id == owner.org_id, mine)
        case "snapshot_bytes" | "stored_bytes":
            ids = select(sessions.c.id).where(sessions.c.user_id == owner.user_id)
            return select(func.sum(snapshots.c.bytes)).where(snapshots.c.session_id.in_(ids))
        case "skill_bytes":
            size = select(func.sum(func.length(files.c.content)))
            return size.join(skills, skills.c.id == files.c.skill).where(
                skills.c.org_id == owner.org_id
            )


def _count(table: Table, *where: ColumnElement[bool]) -> Select[Any]:
    return select(func.count()).select_from(table).where(*where)
