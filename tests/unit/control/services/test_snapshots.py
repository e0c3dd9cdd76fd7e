"""Snapshots: three are kept, the newest is the latest, on both databases."""

from typing import Any

import pytest
from sqlalchemy import event, func, select

from tests.unit.control.services.conftest import World
from trunkline import limits
from trunkline.control.errors import TooLarge
from trunkline.control.services import Services
from trunkline.control.services.snapshots import KEPT
from trunkline.control.store import service_schema


async def test_the_newest_three_are_kept_even_when_the_clock_stands(
    world: World, services: Services
) -> None:
    for number in range(6):
        await services.snapshots.sync(world.session, {"checkpoint": {"n": number}})
        latest = await services.snapshots.latest(world.session)
        assert latest == {"checkpoint": {"n": number}}
    async with world.store.read() as connection:
        kept = (await connection.execute(select(service_schema.snapshots.c.data))).scalars().all()
    assert sorted(data["checkpoint"]["n"] for data in kept) == [3, 4, 5]


async def test_sessions_do_not_share_snapshots(world: World, services: Services) -> None:
    for _ in range(4):
        await services.snapshots.sync(world.session, {"checkpoint": {}})
    await services.snapshots.sync(world.bobs_session, {"checkpoint": {"bob": 1}})
    assert await services.snapshots.latest(world.bobs_session) == {"checkpoint": {"bob": 1}}
    async with world.store.read() as connection:
        count = await connection.scalar(select(func.count()).select_from(service_schema.snapshots))
    assert count == KEPT + 1


async def test_a_session_without_a_snapshot_has_none(world: World, services: Services) -> None:
    assert await services.snapshots.latest(world.session) is None


async def test_odd_but_legal_json_survives(world: World, services: Services) -> None:
    odd = {"nul": "a\x00b", "emoji": "🎉", "n": [1.5, None, True]}
    await services.snapshots.sync(world.session, odd)
    assert await services.snapshots.latest(world.session) == odd


async def test_too_large_a_snapshot_is_refused_and_the_old_ones_stay(
    world: World, services: Services
) -> None:
    await services.snapshots.sync(world.session, {"checkpoint": {"n": 1}})
    with pytest.raises(TooLarge):
        await services.snapshots.sync(world.session, {"x": "y" * limits.SNAPSHOT_BYTES_MAX})
    assert await services.snapshots.latest(world.session) == {"checkpoint": {"n": 1}}


async def test_how_much_room_is_left_is_found_without_reading_the_snapshots(
    world: World, services: Services
) -> None:
    """It is asked at each sync, while nobody else can write."""
    engine = world.store.engine.sync_engine
    if engine.dialect.name != "sqlite":
        pytest.skip("only SQLite says which index covers a query")
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        asked.append((statement, values))

    event.listen(engine, "before_cursor_execute", note)
    await services.snapshots.sync(world.session, {"checkpoint": {}})
    event.remove(engine, "before_cursor_execute", note)
    ((statement, values),) = [one for one in asked if "sum(" in one[0]]
    async with world.store.read() as connection:
        plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
        steps = [row.detail for row in plan if "snapshots" in row.detail]
    assert [step for step in steps if "COVERING INDEX" in step] == steps != []
