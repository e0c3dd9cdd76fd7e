"""What a machine may say twice: reports that count once, results kept for `resume`."""

import asyncio
from typing import Any

import msgspec
import pytest
from sqlalchemy import func, select

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World, add_session
from trunkline import limits
from trunkline.control.access.keys import Keys
from trunkline.control.errors import LimitReached, TrunklineError
from trunkline.control.services import Services
from trunkline.control.services.evolutions import EvolutionInput, Evolutions
from trunkline.control.services.idempotency import Results
from trunkline.control.settings import Settings
from trunkline.control.store import service_schema

USAGE = {"model": "m", "tokens_in": 1, "tokens_out": 2}
SKILL: dict[str, Any] = {"name": "a", "description": "b", "skill_md": "c", "quality_score": 0.5}
EACH: list[Any] = [
    ("usage_report", USAGE, service_schema.usage),
    ("audit_log", {"event": "bash", "details": {}}, service_schema.audit),
    ("evolution_submit", SKILL, service_schema.evolutions),
    ("memory_write", {"content": "likes tea"}, service_schema.memories),
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
    assert await count(world, service_schema.usage) == 1


async def test_names_are_a_sessions_own(world: World, services: Services) -> None:
    other = await add_session(world.store, world.ann)
    for session_id in (world.session, other):
        caller = msgspec.structs.replace(world.caller, session_id=session_id)
        await services.methods.request(caller, "usage_report", {**USAGE, "report_id": "r-1"})
    assert await count(world, service_schema.usage) == 2


async def test_of_the_same_report_many_times_at_once_one_counts(
    world: World, services: Services
) -> None:
    named = {"event": "bash", "report_id": "r-1"}
    answers = await asyncio.gather(
        *(services.methods.request(world.caller, "audit_log", named) for _ in range(10))
    )
    assert answers == [{"accepted": True}] * 10
    assert await count(world, service_schema.audit) == 1
    assert (await services.audit.verify()).ok


async def test_a_report_that_failed_may_come_again_under_its_name(
    world: World, services: Services, clock: FakeClock
) -> None:
    named = {**SKILL, "report_id": "r-1"}
    once = services.reports.once(world.session, "r-1")
    full = Evolutions(world.store, clock, services.skills, pending_max=0)
    with pytest.raises(LimitReached):
        await full.submit(
            world.org, world.ann.user_id, world.session, EvolutionInput(**SKILL), once
        )
    assert await count(world, service_schema.reports) == 0
    await services.methods.request(world.caller, "evolution_submit", named)
    assert await count(world, service_schema.evolutions) == 1


async def test_the_name_is_no_detail_of_the_report(world: World, services: Services) -> None:
    named = {**USAGE, "cached": 3, "report_id": "r-1"}
    await services.methods.request(world.caller, "usage_report", named)
    async with world.store.read() as connection:
        assert await connection.scalar(select(service_schema.usage.c.details)) == {"cached": 3}


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
    assert await count(world, service_schema.usage) == 0


async def test_the_longest_name_is_kept_whole(world: World, services: Services) -> None:
    for last in "ab":
        named = {**USAGE, "report_id": "长" * 99 + last}
        await services.methods.request(world.caller, "usage_report", named)
    assert await count(world, service_schema.usage) == 2


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
    assert await count(world, service_schema.reports) == 1


def completed(data: Any) -> dict[str, Any]:
    return {"status": "completed", "data": data}


async def test_every_id_gets_an_answer(world: World, services: Services) -> None:
    user = world.ann.user_id
    await services.results.keep(user, "msg-1", completed({"results": [{"content": "值"}]}))
    await services.results.keep(
        user, "msg-2", {"status": "failed", "error": {"code": "TIMEOUT", "message": "slow"}}
    )
    await services.results.keep(user, "msg-3", completed(None))
    assert await services.results.fetch(user, ["msg-1", "msg-2", "msg-3", "msg-4"]) == {
        "msg-1": {"status": "completed", "data": {"results": [{"content": "值"}]}},
        "msg-2": {"status": "failed", "error": {"code": "TIMEOUT", "message": "slow"}},
        "msg-3": {"status": "completed", "data": None},
        "msg-4": {"status": "not_found"},
    }


async def test_results_are_kept_per_user(world: World, services: Services) -> None:
    await services.results.keep(world.ann.user_id, "msg-1", completed({"secret": 1}))
    assert await services.results.fetch(world.bob.user_id, ["msg-1"]) == {
        "msg-1": {"status": "not_found"}
    }


async def test_results_outlive_the_control_plane(
    world: World, services: Services, clock: FakeClock
) -> None:
    await services.results.keep(world.ann.user_id, "msg-1", completed(1))
    restarted = Results(world.store, clock)
    assert await restarted.fetch(world.ann.user_id, ["msg-1"]) == {
        "msg-1": {"status": "completed", "data": 1}
    }


async def test_a_result_is_gone_after_its_window(
    world: World, services: Services, clock: FakeClock
) -> None:
    user = world.ann.user_id
    await services.results.keep(user, "old", completed(1))
    clock.advance(limits.RESUME_WINDOW_S - 1)
    await services.results.keep(user, "new", completed(2))
    assert (await services.results.fetch(user, ["old"]))["old"]["status"] == "completed"
    clock.advance(1)
    assert (await services.results.fetch(user, ["old"]))["old"]["status"] == "not_found"
    assert await services.results.purge() == 1
    assert await services.results.purge() == 0
    async with world.store.read() as connection:
        assert (
            await connection.scalar(select(func.count()).select_from(service_schema.results)) == 1
        )


async def test_a_repeated_request_keeps_its_last_result(world: World, services: Services) -> None:
    user = world.ann.user_id
    for number in range(3):
        await services.results.keep(user, "msg-1", completed(number))
    assert (await services.results.fetch(user, ["msg-1"]))["msg-1"]["data"] == 2


@pytest.mark.parametrize("bad", ["", "x" * 201, "a\x00b", "a\nb", "\ud800"])
async def test_an_impossible_id_is_not_found_and_breaks_nothing(
    world: World, services: Services, bad: str
) -> None:
    user = world.ann.user_id
    await services.results.keep(user, bad, completed(1))
    await services.results.keep(user, "good", completed(1))
    answer = await services.results.fetch(user, [bad, "good"])
    assert answer[bad] == {"status": "not_found"}
    assert answer["good"]["status"] == "completed"


async def test_the_number_of_ids_is_bounded(world: World, services: Services) -> None:
    ids = [f"m{n}" for n in range(limits.RESUME_IDS_MAX + 5)]
    answer = await services.results.fetch(world.ann.user_id, ids)
    assert len(answer) == limits.RESUME_IDS_MAX


async def test_what_fits_no_frame_is_said_to_be_too_large(world: World, services: Services) -> None:
    user = world.ann.user_id
    await services.results.keep(user, "huge", completed("x" * (limits.FRAME_BYTES_MAX + 1)))
    answer = await services.results.fetch(user, ["huge"])
    assert answer["huge"]["error"]["code"] == "RESULT_TOO_LARGE"
    large = "y" * (limits.FRAME_BYTES_MAX // 3)
    for number in range(4):
        await services.results.keep(user, f"large{number}", completed(large))
    together = await services.results.fetch(user, [f"large{n}" for n in range(4)])
    assert len(msgspec.json.encode(together)) < limits.FRAME_BYTES_MAX
    assert {entry["status"] for entry in together.values()} == {"completed", "failed"}
