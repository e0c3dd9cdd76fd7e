"""Which sessions are whose, as the records say."""

from sqlalchemy import insert, select

from tests.unit.control.sessions.recorded import Records
from trunkline import limits
from trunkline.control.ids import new_id
from trunkline.control.sessions import state as states
from trunkline.control.sessions.placement import Placement
from trunkline.control.store import schema


async def test_a_session_that_was_moved_has_departed_until_it_comes_back(records: Records) -> None:
    placement = Placement(records.store)
    await records.write(states.SessionMoved("m"))
    assert await placement.departed("m") == {}
    await records.write(states.SessionMoved("other"))
    assert await placement.departed("m") == {records.session: "active"}
    assert await placement.departed("other") == {}
    await records.write(states.SessionClosed())
    assert await placement.departed("m") == {records.session: "closed"}
    await records.write(states.SessionMoved("m"))
    assert await placement.departed("m") == {}


async def test_sessions_that_left_other_machines_push_none_out(records: Records) -> None:
    placement = Placement(records.store)
    await records.write(states.SessionMoved("m"), states.SessionMoved("other"))
    query = select(schema.sessions).where(schema.sessions.c.id == records.session)
    async with records.store.write() as connection:
        row = (await connection.execute(query)).mappings().one()
        newer = [
            {**row, "id": new_id(), "left_machines": ["elsewhere", "mm"]}
            for _ in range(limits.PAGE_MAX)
        ]
        await connection.execute(insert(schema.sessions), newer)
    assert await placement.departed("m") == {records.session: "active"}
