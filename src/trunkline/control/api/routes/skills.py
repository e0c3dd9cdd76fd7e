"""Routes of skills: packages that the agents of an organisation can use."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.skills import Skill

routes = Routes("skills")


class SkillDetail(Skill, frozen=True):
    """A skill with the paths of its files."""

    files: list[str]


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


@routes.post("/skills", status=201)
async def import_skill(core: Core, who: Principal, upload: bytes) -> Skill:
    """Import a skill package (zip).

    It runs on the machines of the whole organisation, so only its admins may. A package that is
    refused leaves nothing behind.
    """
    who.require_org_admin()
    return await core.services.skills.import_zip(who.org_id, upload)


@routes.get("/skills")
async def list_skills(core: Core, who: Principal, query: Paging) -> Page[Skill]:
    """List skills, each version an item."""
    return await core.services.skills.page(who, query)


@routes.get("/skills/{skill_id}")
async def get_skill(core: Core, who: Principal, skill_id: str, query: SkillQuery) -> SkillDetail:
    """Show a skill and its files, by record id or by skill id."""
    skill = await core.services.skills.get(who, skill_id, query.version)
    files = await core.services.skills.files_of(skill)
    return SkillDetail(**msgspec.structs.asdict(skill), files=files)


@routes.delete("/skills/{skill_id}")
async def remove_skill(core: Core, who: Principal, skill_id: str) -> None:
    """Remove one version of a skill (by record id) or all (by skill id)."""
    await core.services.skills.remove(who, skill_id)
