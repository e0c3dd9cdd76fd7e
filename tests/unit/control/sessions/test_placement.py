"""Which sessions are whose, as the records say."""

from tests.unit.control.sessions.recorded import Records
from trunkline.control.sessions import state as states
from trunkline.control.sessions.placement import Placement


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
