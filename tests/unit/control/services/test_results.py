"""Results kept for a machine that lost its line, on both databases."""

import msgspec
import pytest
from sqlalchemy import func, select

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World
from trunkline import limits
from trunkline.control.services import Services
from trunkline.control.services.results import Results
from trunkline.control.store import schema


async def test_every_id_gets_an_answer(world: World, services: Services) -> None:
    user = world.ann.user_id
    await services.results.completed(user, "msg-1", {"results": [{"content": "值"}]})
    await services.results.failed(user, "msg-2", {"code": "TIMEOUT", "message": "slow"})
    await services.results.completed(user, "msg-3", None)
    assert await services.results.fetch(user, ["msg-1", "msg-2", "msg-3", "msg-4"]) == {
        "msg-1": {"status": "completed", "data": {"results": [{"content": "值"}]}},
        "msg-2": {"status": "failed", "error": {"code": "TIMEOUT", "message": "slow"}},
        "msg-3": {"status": "completed", "data": None},
        "msg-4": {"status": "not_found"},
    }


async def test_results_are_kept_per_user(world: World, services: Services) -> None:
    await services.results.completed(world.ann.user_id, "msg-1", {"secret": 1})
    assert await services.results.fetch(world.bob.user_id, ["msg-1"]) == {
        "msg-1": {"status": "not_found"}
    }


async def test_results_outlive_the_control_plane(
    world: World, services: Services, clock: FakeClock
) -> None:
    await services.results.completed(world.ann.user_id, "msg-1", 1)
    restarted = Results(world.store, clock)
    assert await restarted.fetch(world.ann.user_id, ["msg-1"]) == {
        "msg-1": {"status": "completed", "data": 1}
    }


async def test_a_result_is_gone_after_its_window(
    world: World, services: Services, clock: FakeClock
) -> None:
    user = world.ann.user_id
    await services.results.completed(user, "old", 1)
    clock.advance(limits.RESUME_WINDOW_S - 1)
    await services.results.completed(user, "new", 2)
    assert (await services.results.fetch(user, ["old"]))["old"]["status"] == "completed"
    clock.advance(1)
    assert (await services.results.fetch(user, ["old"]))["old"]["status"] == "not_found"
    assert await services.results.purge() == 1
    assert await services.results.purge() == 0
    async with world.store.read() as connection:
        assert await connection.scalar(select(func.count()).select_from(schema.results)) == 1


async def test_a_repeated_request_keeps_its_last_result(world: World, services: Services) -> None:
    user = world.ann.user_id
    for number in range(3):
        await services.results.completed(user, "msg-1", number)
    assert (await services.results.fetch(user, ["msg-1"]))["msg-1"]["data"] == 2


@pytest.mark.parametrize("bad", ["", "x" * 201, "a\x00b", "a\nb", "\ud800"])
async def test_an_impossible_id_is_not_found_and_breaks_nothing(
    world: World, services: Services, bad: str
) -> None:
    user = world.ann.user_id
    await services.results.completed(user, bad, 1)
    await services.results.completed(user, "good", 1)
    answer = await services.results.fetch(user, [bad, "good"])
    assert answer[bad] == {"status": "not_found"}
    assert answer["good"]["status"] == "completed"


async def test_the_number_of_ids_is_bounded(world: World, services: Services) -> None:
    ids = [f"m{n}" for n in range(limits.RESUME_IDS_MAX + 5)]
    answer = await services.results.fetch(world.ann.user_id, ids)
    assert len(answer) == limits.RESUME_IDS_MAX


async def test_what_fits_no_frame_is_said_to_be_too_large(world: World, services: Services) -> None:
    user = world.ann.user_id
    await services.results.completed(user, "huge", "x" * (limits.RESUME_RESULT_BYTES_MAX + 1))
    answer = await services.results.fetch(user, ["huge"])
    assert answer["huge"]["error"]["code"] == "RESULT_TOO_LARGE"
    large = "y" * (limits.FRAME_BYTES_MAX // 3)
    for number in range(4):
        await services.results.completed(user, f"large{number}", large)
    together = await services.results.fetch(user, [f"large{n}" for n in range(4)])
    assert len(msgspec.json.encode(together)) < limits.FRAME_BYTES_MAX
    assert {entry["status"] for entry in together.values()} == {"completed", "failed"}
