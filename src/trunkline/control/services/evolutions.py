"""Skills that sessions propose: queued, decided once by an org admin, then skills like others.

`quality_score` is what the machine says of its own work: it is shown, and decides nothing.
"""

import asyncio
from typing import Literal

import msgspec
import structlog
from sqlalchemy import and_, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, InvalidRequest, LimitReached
from trunkline.control.ids import new_id
from trunkline.control.records.fields import checked_text
from trunkline.control.records.page import Page, Paging, SeenRows
from trunkline.control.services import skill_package
from trunkline.control.services.idempotency import Once, always
from trunkline.control.services.skill_package import SkillPackage
from trunkline.control.services.skills import Skill, SkillDiff, Skills
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import evolutions

_log = structlog.get_logger()
_SOURCE = "evolution"


State = Literal["pending", "approved", "rejected"]


class EvolutionInput(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str
    skill_md: str
    quality_score: float


class Evolution(msgspec.Struct, frozen=True):
    """`skill` is the record that an approval made."""

    id: str
    org_id: str
    user_id: str
    session_id: str | None
    name: str
    description: str
    skill_md: str
    quality_score: float
    state: State
    decided_by: str | None
    decided_at: int | None
    skill: str | None
    created_at: int


class EvolutionDetail(Evolution, frozen=True):
    """With what it changes: against the skill as it is now, or was before the approval."""

    skill_id: str
    changes: SkillDiff


class Evolutions(SeenRows[Evolution]):
    """`pending_max`: how many of one org may wait for a decision."""

    def __init__(
        self, store: Store, clock: Clock, skill_records: Skills, *, pending_max: int = 1000
    ) -> None:
        super().__init__(store, evolutions, Evolution, "evolution", shared=True)
        self._clock = clock
        self._skills = skill_records
        self._pending_max = pending_max

    async def submit(
        self,
        org_id: str,
        user_id: str,
        session_id: str | None,
        given: EvolutionInput,
        once: Once = always,
    ) -> Evolution:
        await asyncio.to_thread(_package, given)
        evolution = Evolution(
            id=new_id(),
            org_id=org_id,
            user_id=user_id,
            session_id=session_id,
            **msgspec.structs.asdict(given),
            state="pending",
            decided_by=None,
            decided_at=None,
            skill=None,
            created_at=self._clock(),
        )
        async with self._store.write() as connection:
            await once(connection)
            await self._check_room(connection, org_id)
            await connection.execute(self._insert(evolution))
        return evolution

    async def _check_room(self, connection: AsyncConnection, org_id: str) -> None:
        waiting = select(func.count()).where(
            evolutions.c.org_id == org_id, evolutions.c.state == "pending"
        )
        if ((await connection.execute(waiting)).scalar() or 0) >= self._pending_max:
            raise LimitReached("too many evolutions wait for a decision")

    async def detail(self, who: Principal, evolution_id: str) -> EvolutionDetail:
        evolution = await self.get(who, evolution_id)
        package = await asyncio.to_thread(_package, evolution)
        made = None
        if evolution.skill is not None:
            made = await self._skills.made_at(evolution.skill)
        changes = await self._skills.changed_by(
            evolution.org_id, package.skill_id, package.files, before=made
        )
        fields = msgspec.structs.asdict(evolution)
        return EvolutionDetail(**fields, skill_id=package.skill_id, changes=changes)

    async def approve(self, who: Principal, evolution_id: str) -> Evolution:
        """Makes it a skill. Whoever decides first decides."""
        who.require_org_admin()
        evolution = await self.get(who, evolution_id)
        package = await asyncio.to_thread(_package, evolution)
        return await self._decide(evolution, package, by=who.user_id)

    async def reject(self, who: Principal, evolution_id: str) -> Evolution:
        who.require_org_admin()
        return await self._decide(await self.get(who, evolution_id), None, by=who.user_id)

    async def _decide(
        self, evolution: Evolution, package: SkillPackage | None, by: str
    ) -> Evolution:
        """Approves it as that package, or rejects it when there is none."""
        state: State = "approved" if package else "rejected"
        decided = msgspec.structs.replace(
            evolution, state=state, decided_by=by, decided_at=self._clock()
        )
        async with self._store.write() as connection:
            # The condition is the decision's lock: of two at once, one finds it pending.
            taken = await connection.execute(
                update(evolutions)
                .where(and_(evolutions.c.id == evolution.id, evolutions.c.state == "pending"))
                .values(state=state, decided_by=by, decided_at=decided.decided_at)
            )
            if not taken.rowcount:
                raise Conflict("this evolution was decided already")
            if package is not None:
                skill = await self._add_skill(connection, evolution, package)
                await connection.execute(
                    update(evolutions).where(evolutions.c.id == evolution.id).values(skill=skill.id)
                )
                decided = msgspec.structs.replace(decided, skill=skill.id)
        _log.info("evolution decided", evolution_id=evolution.id, state=state, by=by)
        return decided

    async def _add_skill(
        self, connection: AsyncConnection, evolution: Evolution, package: SkillPackage
    ) -> Skill:
        try:
            return await self._skills.insert(connection, evolution.org_id, package, _SOURCE)
        except IntegrityError as error:
            # Another version was added in the very same moment; the decision is undone with it.
            raise Conflict("the skill was changed at the same time; try again") from error

    async def page(
        self, who: Principal, paging: Paging, state: State | None = None
    ) -> Page[Evolution]:
        """Of one state, or of all."""
        if state is None:
            return await super().page(who, paging)
        return await self._page(paging, self._seen_by(who), evolutions.c.state == state)


def _package(given: EvolutionInput | Evolution) -> SkillPackage:
    """The skill that it would be; refuses what could not be one, before it is queued."""
    checked_text(given.name, "name", limits.NAME_CHARS_MAX)
    checked_text(given.description, "description", limits.TEXT_CHARS_MAX)
    checked_text(given.skill_md, "skill_md", limits.TEXT_CHARS_MAX)
    if not 0 <= given.quality_score <= 1:
        raise InvalidRequest("quality_score must be between 0 and 1")
    return skill_package.from_skill_md(given.skill_md, given.name, given.description)
