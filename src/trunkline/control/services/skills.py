"""Skills of an org: kept as whole packages, listed for sessions, sent to machines on request.

The VM edge calls `get_package` and `index_for`, REST the rest. A package enters whole or not.
"""

import asyncio
import datetime
from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import and_, delete, exists, func, insert, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, NotFound, TooLarge
from trunkline.control.ids import new_id
from trunkline.control.quotas import Owner, Quotas
from trunkline.control.records.fields import checked_text
from trunkline.control.records.page import Page, Paging, SeenRows
from trunkline.control.services import skill_diff, skill_package
from trunkline.control.services.skill_diff import Files
from trunkline.control.services.skill_manifest import Requires
from trunkline.control.services.skill_package import FileInventory, SkillPackage, wire_file
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import skill_files, skills

LATEST = "latest"
WIRE_BYTES_MAX = 7 * limits.MIB  # what fits one frame after base64


class Skill(msgspec.Struct, frozen=True):
    """One version of a skill. `id` is the record, `skill_id` the name that machines use."""

    id: str
    org_id: str
    skill_id: str
    version: str
    name: str
    description: str
    source: str
    file_inventory: FileInventory
    requires: Requires
    created_at: int

    def index_entry(self) -> dict[str, Any]:
        """Its entry in the `skill_index` of `start_session`."""
        return {
            "id": self.skill_id,
            "name": self.name,
            "description": self.description,
            "version": self.version,
            "source": self.source,
            "file_inventory": msgspec.to_builtins(self.file_inventory),
            "requires": msgspec.to_builtins(self.requires),
        }


class SkillVersion(msgspec.Struct, frozen=True):
    """`id` is the record of that version."""

    id: str
    version: str
    source: str
    created_at: int


class SkillDiff(msgspec.Struct, frozen=True):
    """What a package changes. `against`: the version that it is compared with; null: there is none
    before it. `diff`: unified, over all files."""

    against: SkillVersion | None
    diff: str


class Skills(SeenRows[Skill]):
    def __init__(self, store: Store, clock: Clock, quotas: Quotas | None = None) -> None:
        super().__init__(store, skills, Skill, "skill")
        self._clock = clock
        self._quotas = quotas or Quotas(store)

    async def import_zip(self, org_id: str, data: bytes) -> Skill:
        package = await asyncio.to_thread(skill_package.read_zip, data)
        try:
            async with self._store.write() as connection:
                return await self.insert(connection, org_id, package, "upload")
        except IntegrityError as error:
            version = package.manifest.version or "this moment's"
            raise Conflict(
                f"skill {package.skill_id!r} exists already in version {version!r}",
                code="SKILL_EXISTS",
            ) from error

    async def insert(
        self, connection: AsyncConnection, org_id: str, package: SkillPackage, source: str
    ) -> Skill:
        """Adds a version inside the caller's transaction; it is the latest from then on."""
        size = sum(map(len, package.files.values()))
        await self._quotas.take(connection, "skill_bytes", Owner(org_id), size)
        newest = select(func.max(skills.c.created_at)).where(
            and_(skills.c.org_id == org_id, skills.c.skill_id == package.skill_id)
        )
        last = (await connection.execute(newest)).scalar()
        at = max(self._clock(), (last or 0) + 1)  # strictly later, so that `latest` is one version
        skill = Skill(
            id=new_id(),
            org_id=org_id,
            skill_id=package.skill_id,
            version=package.manifest.version or _version_of(at),
            name=package.manifest.name,
            description=package.manifest.description,
            source=source,
            file_inventory=package.file_inventory,
            requires=package.manifest.requires,
            created_at=at,
        )
        await connection.execute(self._insert(skill))
        rows = [
            {"skill": skill.id, "path": path, "content": content}
            for path, content in package.files.items()
        ]
        await connection.execute(insert(skill_files), rows)
        return skill

    async def get_package(
        self, org_id: str, skill_id: str, version: str | None = None
    ) -> dict[str, Any]:
        """The result of `get_skill_package`: every file of one version."""
        skill = await self._version(org_id, skill_id, version or LATEST)
        of_skill = skill_files.c.skill == skill.id
        size = select(func.sum(func.length(skill_files.c.content))).where(of_skill)
        total = await self._store.scalar(size) or 0
        if total > WIRE_BYTES_MAX:
            raise TooLarge(
                f"skill {skill_id!r} has {total} bytes; a machine can be sent {WIRE_BYTES_MAX}",
                code="SKILL_TOO_LARGE",
            )
        query = select(skill_files.c.path, skill_files.c.content).where(of_skill)
        rows = await self._store.all(query.order_by(skill_files.c.path))
        files = await asyncio.to_thread(lambda: [wire_file(row.path, row.content) for row in rows])
        return {
            "package": {
                "skill_id": skill.skill_id,
                "version": skill.version,
                "files": files,
                "file_inventory": msgspec.to_builtins(skill.file_inventory),
            }
        }

    async def index_for(
        self, org_id: str, names: Iterable[str] | None = None
    ) -> list[dict[str, Any]]:
        """The latest version of each skill of the org; `names` (ids or names) chooses some."""
        rank = (
            func.row_number()
            .over(partition_by=skills.c.skill_id, order_by=skills.c.created_at.desc())
            .label("rank")
        )
        ranked = select(skills, rank).where(skills.c.org_id == org_id).subquery()
        query = select(ranked).where(ranked.c.rank == 1)
        if names is not None:
            wanted = list(names)[: limits.SKILL_INDEX_MAX]
            query = query.where(or_(among(ranked.c.skill_id, wanted), among(ranked.c.name, wanted)))
        query = query.order_by(ranked.c.skill_id).limit(limits.SKILL_INDEX_MAX)
        rows = await self._store.all(query)
        return [msgspec.convert(row, Skill, from_attributes=True).index_entry() for row in rows]

    async def get(self, who: Principal, row_id: str, version: str | None = None) -> Skill:
        """By record id, or by skill id (and version)."""
        checked_text(row_id, "skill", limits.NAME_CHARS_MAX)
        found = await self._find(skills.c.id == row_id, self._seen_by(who))
        return found or await self._version(who.org_id, row_id, version or LATEST)

    async def files_of(self, skill: Skill) -> list[str]:
        """The paths of its files."""
        query = select(skill_files.c.path).where(skill_files.c.skill == skill.id)
        return sorted(await self._store.scalars(query))

    async def file(self, skill: Skill, path: str) -> bytes:
        """The content of one of its files."""
        query = select(skill_files.c.content).where(
            skill_files.c.skill == skill.id, skill_files.c.path == path
        )
        row = await self._store.first(query)
        if row is None:
            raise NotFound("file", path)
        return bytes(row.content)

    async def versions(self, skill: Skill) -> list[SkillVersion]:
        """All there are of the same skill, newest first."""
        columns = (skills.c[name] for name in SkillVersion.__struct_fields__)
        query = (
            select(*columns)
            .where(skills.c.org_id == skill.org_id, skills.c.skill_id == skill.skill_id)
            .order_by(skills.c.created_at.desc())
            .limit(limits.SKILL_VERSIONS_SHOWN_MAX)
        )
        rows = await self._store.all(query)
        return [msgspec.convert(row, SkillVersion, from_attributes=True) for row in rows]

    async def diff(self, skill: Skill) -> SkillDiff:
        """Against the version before it."""
        files = await self._content(skill.id)
        return await self.changed_by(skill.org_id, skill.skill_id, files, before=skill.created_at)

    async def changed_by(
        self, org_id: str, skill_id: str, files: Files, *, before: int | None = None
    ) -> SkillDiff:
        """What those files change against the latest version, or the last one `before` then."""
        query = self._query.where(skills.c.org_id == org_id, skills.c.skill_id == skill_id)
        if before is not None:
            query = query.where(skills.c.created_at < before)
        last = await self._first(query.order_by(skills.c.created_at.desc()).limit(1))
        old = {} if last is None else await self._content(last.id)
        diff = await asyncio.to_thread(skill_diff.unified, old, files)
        if last is None:
            return SkillDiff(None, diff)
        return SkillDiff(SkillVersion(last.id, last.version, last.source, last.created_at), diff)

    async def made_at(self, row_id: str) -> int | None:
        """None when that version was removed."""
        row = await self._store.first(select(skills.c.created_at).where(skills.c.id == row_id))
        return None if row is None else int(row.created_at)

    async def _content(self, row_id: str) -> dict[str, bytes]:
        query = select(skill_files.c.path, skill_files.c.content).where(
            skill_files.c.skill == row_id
        )
        return {row.path: bytes(row.content) for row in await self._store.all(query)}

    async def page_of(
        self, who: Principal, paging: Paging, skill_id: str | None = None, *, latest: bool = False
    ) -> Page[Skill]:
        """`skill_id`: the versions of that one; `latest`: of each skill the newest alone."""
        where = [self._seen_by(who)]
        if skill_id is not None:
            where.append(skills.c.skill_id == skill_id)
        if latest:
            other = skills.alias()
            newer = exists().where(
                other.c.org_id == skills.c.org_id,
                other.c.skill_id == skills.c.skill_id,
                other.c.created_at > skills.c.created_at,
            )
            where.append(~newer)
        return await self._page(paging, *where)

    async def remove(self, who: Principal, name: str) -> None:
        """Removes one version, by record id, or every version, by skill id."""
        who.require_org_admin()
        skill = await self.get(who, name)
        which = skills.c.id == skill.id
        if name != skill.id:
            which = and_(skills.c.org_id == skill.org_id, skills.c.skill_id == skill.skill_id)
        await self._store.run(delete(skills).where(which))

    async def _version(self, org_id: str, skill_id: str, version: str) -> Skill:
        checked_text(skill_id, "skill_id", limits.NAME_CHARS_MAX)
        checked_text(version, "version", limits.NAME_CHARS_MAX)
        query = self._query.where(skills.c.org_id == org_id, skills.c.skill_id == skill_id)
        if version != LATEST:
            query = query.where(skills.c.version == version)
        found = await self._first(query.order_by(skills.c.created_at.desc()).limit(1))
        if found is None:
            raise NotFound("skill", skill_id if version == LATEST else f"{skill_id}@{version}")
        return found


def _version_of(at_ms: int) -> str:
    """A version for a package that names none: the time of its import."""
    moment = datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC)
    return f"{moment:%Y%m%d%H%M%S}{at_ms % 1000:03d}"
