"""Skills of an org: kept as whole packages, listed for sessions, sent to machines on request.

The VM edge calls `get_package` and `index_for`, REST the rest. A package enters whole or not.
"""

import asyncio
import datetime
from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import and_, delete, func, insert, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, LimitReached, NotFound, TooLarge
from trunkline.control.ids import new_id
from trunkline.control.records.fields import checked_text
from trunkline.control.records.page import SeenRows
from trunkline.control.services import skill_package
from trunkline.control.services.skill_manifest import Requires
from trunkline.control.services.skill_package import FileInventory, SkillPackage, wire_file
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import skill_files, skills
from trunkline.control.tuning import DEFAULT

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


class Skills(SeenRows[Skill]):
    def __init__(
        self, store: Store, clock: Clock, org_bytes_max: int = DEFAULT.skill_bytes_per_org_max
    ) -> None:
        super().__init__(store, skills, Skill, "skill")
        self._clock = clock
        self._org_bytes_max = org_bytes_max

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
        stored = (
            select(func.sum(func.length(skill_files.c.content)))
            .join(skills, skills.c.id == skill_files.c.skill)
            .where(skills.c.org_id == org_id)
        )
        used = (await connection.execute(stored)).scalar() or 0
        if used + sum(map(len, package.files.values())) > self._org_bytes_max:
            raise LimitReached(
                f"no room for this skill: an org has at most {self._org_bytes_max:,} bytes of "
                "them; remove old versions first"
            )
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
            query = query.where(or_(ranked.c.skill_id.in_(wanted), ranked.c.name.in_(wanted)))
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
