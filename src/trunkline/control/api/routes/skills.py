"""Routes of skills, and of those that sessions propose."""

from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api import saved
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.evolutions import Evolution, EvolutionDetail, State
from trunkline.control.services.skill_diff import is_text
from trunkline.control.services.skills import Skill, SkillDiff, SkillVersion

skills = Routes("skills")
evolutions = Routes("evolutions")


class SkillDetail(Skill, frozen=True):
    """A skill with the paths of its files, and all versions that there are of it."""

    files: list[str]
    versions: list[SkillVersion]


class SkillsQuery(Paging, kw_only=True):
    skill_id: (
        Annotated[
            str,
            Meta(max_length=limits.NAME_CHARS_MAX, description="The versions of this one alone."),
        ]
        | None
    ) = None
    latest: Annotated[bool, Meta(description="Of each skill the newest version alone.")] = False


class SkillQuery(msgspec.Struct, kw_only=True):
    version: (
        Annotated[
            str,
            Meta(
                max_length=limits.NAME_CHARS_MAX,
                description="When the skill is named by its skill id; else the latest.",
            ),
        ]
        | None
    ) = None


@skills.post("/skills", status=201, audit="skill.imported")
async def import_skill(core: Core, who: Principal, upload: bytes) -> Skill:
    """Import a skill package (zip).

    It runs on the machines of the whole organisation, so only its admins may. A package that is
    refused leaves nothing behind.
    """
    who.require_org_admin()
    return await core.services.skills.import_zip(who.org_id, upload)


@skills.get("/skills")
async def list_skills(core: Core, who: Principal, query: SkillsQuery) -> Page[Skill]:
    """List skills, each version an item."""
    listed = core.services.skills.page_of
    return await listed(who, query, query.skill_id, latest=query.latest)


@skills.get("/skills/{skill_id}")
async def get_skill(core: Core, who: Principal, skill_id: str, query: SkillQuery) -> SkillDetail:
    """Show a skill and its files, by record id or by skill id."""
    skill = await core.services.skills.get(who, skill_id, query.version)
    files = await core.services.skills.files_of(skill)
    versions = await core.services.skills.versions(skill)
    return SkillDetail(**msgspec.structs.asdict(skill), files=files, versions=versions)


@skills.get("/skills/{skill_id}/files/{path:.+}", media=f"text/plain, {saved.UNKNOWN}")
async def get_skill_file(
    core: Core, who: Principal, skill_id: str, path: str, query: SkillQuery
) -> web.Response:
    """Fetch a file of a skill: text to be read, anything else to be saved."""
    skill = await core.services.skills.get(who, skill_id, query.version)
    content = await core.services.skills.file(skill, path)
    if is_text(content):
        return web.Response(
            body=content, headers=saved.HEADERS, content_type="text/plain", charset="utf-8"
        )
    headers = {**saved.HEADERS, "Content-Disposition": saved.disposition(path)}
    return web.Response(body=content, headers=headers, content_type=saved.UNKNOWN)


@skills.get("/skills/{skill_id}/diff")
async def get_skill_diff(core: Core, who: Principal, skill_id: str, query: SkillQuery) -> SkillDiff:
    """Show what a version of a skill changed against the one before it."""
    skill = await core.services.skills.get(who, skill_id, query.version)
    return await core.services.skills.diff(skill)


@skills.delete("/skills/{skill_id}", audit="skill.removed")
async def remove_skill(core: Core, who: Principal, skill_id: str) -> None:
    """Remove one version of a skill (by record id) or all (by skill id)."""
    await core.services.skills.remove(who, skill_id)


class EvolutionQuery(Paging, kw_only=True):
    state: Annotated[State, Meta(description="Only in this state.")] | None = None


@evolutions.get("/evolutions")
async def list_evolutions(core: Core, who: Principal, query: EvolutionQuery) -> Page[Evolution]:
    """List proposed skills, newest first."""
    return await core.services.evolutions.page(who, query, query.state)


@evolutions.get("/evolutions/{evolution_id}")
async def get_evolution(core: Core, who: Principal, evolution_id: str) -> EvolutionDetail:
    """Show a proposed skill, and what it changes.

    It is a package of one file: what else the skill has now, it would have no more.
    """
    return await core.services.evolutions.detail(who, evolution_id)


@evolutions.post("/evolutions/{evolution_id}/approve", audit="evolution.approved")
async def approve_evolution(core: Core, who: Principal, evolution_id: str) -> Evolution:
    """Make a proposed skill a skill of the organisation.

    Its admins decide; whoever decides first decides.
    """
    return await core.services.evolutions.approve(who, evolution_id)


@evolutions.post("/evolutions/{evolution_id}/reject", audit="evolution.rejected")
async def reject_evolution(core: Core, who: Principal, evolution_id: str) -> Evolution:
    """Turn a proposed skill down."""
    return await core.services.evolutions.reject(who, evolution_id)
