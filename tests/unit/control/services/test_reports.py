"""Reports under a name of the machine's: however often they come, they count once."""

import asyncio
from typing import Any

import msgspec
import pytest
from sqlalchemy import func, select

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World, add_session
from trunkline import limits
from trunkline.control.access.keys import Keys
from trunkline.control.errors import TrunklineError
from trunkline.control.services import Services
from trunkline.control.settings import Settings
from trunkline.control.store import schema

USAGE = {"model": "m", "tokens_in": 1, "tokens_out": 2}
SKILL = {"name": "a", "description": "b", "skill_md": "c", "quality_score": 0.5}
EACH: list[Any] = [
    ("usage_report", USAGE, schema.usage),
    ("audit_log", {"event": "bash", "details": {}}, schema.audit),
    ("evolution_submit", SKILL, schema.evolutions),
    ("memory_write", {"content": "likes tea"}, schema.memories),
]


async def count(world: World, table: Any) -> int:
    async with world.store.read() as connection:
        return await connection.scalar(select(func.count()).select_from(table)) or 0


@pytest.mark.parametrize(("method", "params", "table"), EACH)
async def test_the_same_report_has_one_effect_and_the_same_answer(
    world: World, services: Services, method: str, params: dict[str, Any], table: Any
) -> None:
    named = {**params, "report_id": "r-1"}
    for _ in range(3):
        answer = await services.methods.request(world.caller, method, named)
        assert answer == {"accepted": True}
    await services.methods.notify(world.caller, method, named)
    assert await count(world, table) == 1
    await services.methods.request(world.caller, method, {**params, "report_id": "r-2"})
    assert await count(world, table) == 2
    assert services.methods.refused == {}


@pytest.mark.parametrize(("method", "params", "table"), EACH)
async def test_without_a_name_every_report_counts(
    world: World, services: Services, method: str, params: dict[str, Any], table: Any
) -> None:
    for _ in range(2):
        await services.methods.request(world.caller, method, params)
    assert await count(world, table) == 2


async def test_a_report_is_known_after_a_restart_and_long_after_its_result_is_gone(
    world: World, services: Services, keys: Keys, clock: FakeClock
) -> None:
    named = {**USAGE, "report_id": "r-1"}
    await services.methods.request(world.caller, "usage_report", named)
    clock.advance(limits.RESUME_WINDOW_S * 100)
    again = Services(world.store, keys, Settings(), clock)
    await again.reports.purge()
    await again.methods.request(world.caller, "usage_report", named)
    assert await count(world, schema.usage) == 1


async def test_names_are_a_sessions_own(world: World, services: Services) -> None:
    other = await add_session(world.store, world.ann)
    for session_id in (world.session, other):
        caller = msgspec.structs.replace(world.caller, session_id=session_id)
        await services.methods.request(caller, "usage_report", {**USAGE, "report_id": "r-1"})
    assert await count(world, schema.usage) == 2


async def test_of_the_same_report_many_times_at_once_one_counts(
    world: World, services: Services
) -> None:
    named = {"event": "bash", "report_id": "r-1"}
    answers = await asyncio.gather(
        *(services.methods.request(world.caller, "audit_log", named) for _ in range(10))
    )
    assert answers == [{"accepted": True}] * 10
    assert await count(world, schema.audit) == 1
    assert (await services.audit.verify()).ok


async def test_a_report_that_failed_may_come_again_under_its_name(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EVOLUTIONS_PENDING_MAX", 0)
    named = {**SKILL, "report_id": "r-1"}
    with pytest.raises(TrunklineError) as caught:
        await services.methods.request(world.caller, "evolution_submit", named)
    assert caught.value.code == "LIMIT_REACHED"
    monkeypatch.setattr(limits, "EVOLUTIONS_PENDING_MAX", 10)
    await services.methods.request(world.caller, "evolution_submit", named)
    assert await count(world, schema.evolutions) == 1


async def test_the_name_is_no_detail_of_the_report(world: World, services: Services) -> None:
    named = {**USAGE, "cached": 3, "report_id": "r-1"}
    await services.methods.request(world.caller, "usage_report", named)
    async with world.store.read() as connection:
        assert await connection.scalar(select(schema.usage.c.details)) == {"cached": 3}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        (7, "INVALID_PARAMS"),
        ({}, "INVALID_PARAMS"),
        ("", "INVALID_REQUEST"),
        ("a\x00", "INVALID_REQUEST"),
        ("\ud800", "INVALID_REQUEST"),
        ("x" * 101, "TOO_LARGE"),
        ("x" * 1_000_000, "TOO_LARGE"),
    ],
)
async def test_a_name_that_is_none_is_refused_and_nothing_is_taken(
    world: World, services: Services, name: Any, code: str
) -> None:
    with pytest.raises(TrunklineError) as caught:
        await services.methods.request(world.caller, "usage_report", {**USAGE, "report_id": name})
    assert caught.value.code == code
    await services.methods.notify(world.caller, "usage_report", {**USAGE, "report_id": name})
    assert services.methods.refused == {"usage_report": 1}
    assert await count(world, schema.usage) == 0


async def test_the_longest_name_is_kept_whole(world: World, services: Services) -> None:
    for last in "ab":
        named = {**USAGE, "report_id": "长" * 99 + last}
        await services.methods.request(world.caller, "usage_report", named)
    assert await count(world, schema.usage) == 2


async def test_names_are_forgotten_after_a_month(
    world: World, services: Services, clock: FakeClock
) -> None:
    named = {**USAGE, "report_id": "old"}
    await services.methods.request(world.caller, "usage_report", named)
    clock.advance(limits.REPORT_IDS_KEPT_S - 1)
    assert await services.reports.purge() == 0
    await services.methods.request(world.caller, "usage_report", {**USAGE, "report_id": "new"})
    clock.advance(1)
    assert await services.reports.purge() == 1
    assert await count(world, schema.reports) == 1
