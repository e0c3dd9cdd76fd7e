"""Proposed skills: queued, decided once, and then real skills, on both databases."""

import asyncio
from typing import Any

import pytest

from tests.unit.control.conftest import FakeClock
from tests.unit.control.services.conftest import World
from trunkline import limits
from trunkline.control.errors import Conflict, Forbidden, LimitReached, NotFound, TrunklineError
from trunkline.control.records.page import Paging
from trunkline.control.services import Services
from trunkline.control.services.evolutions import Evolution, EvolutionInput, Evolutions

SKILL_MD = "---\nname: whatever\ndescription: x\nrequires: {bins: [jq]}\n---\nUse jq.\n"


def proposal(**more: Any) -> EvolutionInput:
    fields = {
        "name": "Log 分析",
        "description": "Finds errors in logs",
        "skill_md": SKILL_MD,
        "quality_score": 0.9,
    }
    return EvolutionInput(**{**fields, **more})


async def submit(services: Services, world: World, **more: Any) -> Evolution:
    return await services.evolutions.submit(
        world.org, world.ann.user_id, world.session, proposal(**more)
    )


async def test_an_approved_evolution_becomes_a_skill(world: World, services: Services) -> None:
    evolution = await submit(services, world)
    assert evolution.state == "pending"
    assert await services.skills.index_for(world.org) == []
    decided = await services.evolutions.approve(world.olga, evolution.id)
    assert (decided.state, decided.decided_by) == ("approved", world.olga.user_id)
    assert await services.evolutions.get(world.ann, evolution.id) == decided
    (entry,) = await services.skills.index_for(world.org)
    assert (entry["id"], entry["name"], entry["source"]) == ("log-分析", "Log 分析", "evolution")
    assert entry["requires"]["binaries"] == ["jq"]
    package = (await services.skills.get_package(world.org, "log-分析"))["package"]
    assert package["files"] == [{"path": "SKILL.md", "content": SKILL_MD, "encoding": "utf-8"}]


async def test_a_skill_without_frontmatter_is_given_one(world: World, services: Services) -> None:
    name = 'Tricky: "quoted"'
    evolution = await submit(services, world, name=name, skill_md="Just do it.", description="a: b")
    await services.evolutions.approve(world.olga, evolution.id)
    (entry,) = await services.skills.index_for(world.org)
    assert (entry["name"], entry["description"]) == (name, "a: b")
    files = (await services.skills.get_package(world.org, entry["id"]))["package"]["files"]
    assert files[0]["content"].startswith('---\nname: "Tricky: \\"quoted\\""\n')
    assert files[0]["content"].endswith("Just do it.")


async def test_what_an_evolution_changes_is_shown_before_and_after_the_decision(
    world: World, services: Services
) -> None:
    first = await submit(services, world)
    shown = await services.evolutions.detail(world.ann, first.id)
    assert (shown.skill_id, shown.changes.against) == ("log-分析", None)
    assert "+Use jq." in shown.changes.diff
    await services.evolutions.approve(world.olga, first.id)

    second = await submit(services, world, skill_md=SKILL_MD.replace("Use jq", "Use rg"))
    for decided in (False, True):
        if decided:
            await services.evolutions.approve(world.olga, second.id)
        changes = (await services.evolutions.detail(world.ann, second.id)).changes
        made = (await services.evolutions.get(world.ann, first.id)).skill
        assert changes.against is not None
        assert changes.against.id == made
        assert "-Use jq.\n+Use rg.\n" in changes.diff


async def test_a_rejected_evolution_becomes_nothing(world: World, services: Services) -> None:
    evolution = await submit(services, world)
    decided = await services.evolutions.reject(world.olga, evolution.id)
    assert (decided.state, decided.skill) == ("rejected", None)
    assert await services.skills.index_for(world.org) == []


async def test_a_second_decision_is_a_conflict_also_in_a_race(
    world: World, services: Services
) -> None:
    evolution = await submit(services, world)
    decide = services.evolutions
    outcomes = await asyncio.gather(
        *(decide.approve(world.olga, evolution.id) for _ in range(4)),
        *(decide.reject(world.olga, evolution.id) for _ in range(4)),
        return_exceptions=True,
    )
    decided = [outcome for outcome in outcomes if isinstance(outcome, Evolution)]
    assert len(decided) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 7
    made = await services.skills.index_for(world.org)
    assert len(made) == (1 if decided[0].state == "approved" else 0)


async def test_only_admins_of_the_org_decide(world: World, services: Services) -> None:
    evolution = await submit(services, world)
    with pytest.raises(Forbidden):
        await services.evolutions.approve(world.ann, evolution.id)
    with pytest.raises(Forbidden):
        await services.evolutions.reject(world.bob, evolution.id)
    foreign_admin = type(world.olga)(world.bob.user_id, world.other_org, "org_admin")
    with pytest.raises(NotFound):
        await services.evolutions.approve(foreign_admin, evolution.id)
    with pytest.raises(NotFound):
        await services.evolutions.approve(world.olga, "no such id")
    assert (await services.evolutions.get(world.ann, evolution.id)).state == "pending"


@pytest.mark.parametrize("score", [0.8, 1.0])
async def test_the_machines_own_score_decides_nothing(
    world: World, services: Services, score: float
) -> None:
    assert (await submit(services, world, quality_score=score)).state == "pending"
    assert await services.skills.index_for(world.org) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"name": ""},
        {"name": "x" * 201},
        {"name": "a\nb\x00"},
        {"description": " "},
        {"skill_md": ""},
        {"skill_md": "x" * (limits.TEXT_CHARS_MAX + 1)},
        {"skill_md": "---\nname: a\n---\n"},
        {"quality_score": 1.1},
        {"quality_score": -0.1},
        {"quality_score": float("nan")},
    ],
)
async def test_what_could_be_no_skill_is_refused_at_once(
    sqlite_services: Services, bad: dict[str, Any]
) -> None:
    with pytest.raises(TrunklineError) as caught:
        await sqlite_services.evolutions.submit("org", "user", None, proposal(**bad))
    assert caught.value.status in (400, 413)


async def test_the_queue_is_bounded(world: World, services: Services, clock: FakeClock) -> None:
    queue = Evolutions(world.store, clock, services.skills, pending_max=2)
    given = (world.org, world.ann.user_id, world.session, proposal())
    await queue.submit(*given)
    second = await queue.submit(*given)
    with pytest.raises(LimitReached):
        await queue.submit(*given)
    await queue.reject(world.olga, second.id)
    await queue.submit(*given)


async def test_the_queue_is_listed_by_state(world: World, services: Services) -> None:
    one, two = await submit(services, world), await submit(services, world)
    await services.evolutions.reject(world.olga, one.id)
    pending = await services.evolutions.page(world.olga, Paging(), "pending")
    assert [evolution.id for evolution in pending.items] == [two.id]
    assert len((await services.evolutions.page(world.ann, Paging())).items) == 2
    assert (await services.evolutions.page(world.bob, Paging())).items == []
