"""Where MyAgent clients are in their sessions, on both databases."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tests.unit.control.conftest import FakeClock
from tests.unit.control.people import People
from trunkline import limits
from trunkline.control.edges.myagent.pages import Place, Track
from trunkline.control.edges.myagent.positions import Positions
from trunkline.control.errors import NotFound
from trunkline.control.ids import new_id
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks

NOBODY: set[str] = set()


class Desk:
    """Positions of a store with people and their sessions in it."""

    def __init__(self, store: Store, people: People, clock: FakeClock) -> None:
        self.store = store
        self.people = people
        self.clock = clock
        self.tasks = Tasks()
        self.positions = Positions(store, self.tasks, clock)

    async def session(self) -> str:
        session_id, who = new_id(), self.people.ann
        row = {
            "id": session_id,
            "org_id": who.org_id,
            "user_id": who.user_id,
            "runtime_type": "semigraph",
            "agent_config": {},
            "session_config": {},
            "status": "active",
            "updated_at": 0,
            "created_at": 0,
        }
        async with self.store.write() as connection:
            await connection.execute(insert(schema.sessions).values(row))
        return session_id

    def connection(self, user_id: str | None = None) -> Track:
        return Track(new_id(), user_id or self.people.ann.user_id)

    def again(self) -> Positions:
        """As after a restart: what is on disk, and nothing else."""
        return Positions(self.store, self.tasks, self.clock)

    async def rows(self) -> int:
        query = select(func.count()).select_from(schema.myagent_runs)
        async with self.store.read() as connection:
            return int(await connection.scalar(query) or 0)


@pytest.fixture
async def desk(store: Store, clock: FakeClock) -> AsyncIterator[Desk]:
    made = Desk(store, await People.settle(store, clock), clock)
    yield made
    await made.tasks.cancel()


async def test_each_number_is_the_place_of_its_event(desk: Desk) -> None:
    session, track = await desk.session(), desk.connection()
    for seq, event_id in ((3, 10), (4, 11), (5, 12), (8, 20), (9, 21)):
        desk.positions.sent(track, session, seq, event_id)
    await desk.positions.save()
    assert await desk.rows() == 1
    places = {3: 10, 4: 11, 5: 12, 6: 12, 7: 12, 8: 20, 9: 21, 500: 21}
    again = desk.again()
    for seq, event_id in places.items():
        place = await again.find(desk.connection(), session, track.connection_id, seq, NOBODY)
        assert place == Place(event_id - 1, 1), f"{event_id} was seen"


async def test_several_messages_of_one_event_are_counted(desk: Desk) -> None:
    session, track = await desk.session(), desk.connection()
    for seq, event_id, nth in ((1, 4, 0), (2, 5, 0), (3, 5, 1), (4, 5, 2), (5, 6, 0), (6, 7, 0)):
        desk.positions.sent(track, session, seq, event_id, nth)
    found = {
        seq: await desk.positions.find(track, session, track.connection_id, seq, NOBODY)
        for seq in range(1, 7)
    }
    assert found == {
        1: Place(3, 1),
        2: Place(4, 1),
        3: Place(4, 2),
        4: Place(4, 3),
        5: Place(5, 1),
        6: Place(6, 1),
    }


async def test_a_message_that_joins_events_is_behind_the_last_and_its_page_begins_before_the_first(
    desk: Desk,
) -> None:
    session = await desk.session()
    track = Track(new_id(), desk.people.ann.user_id, page_runs=1)
    for seq, (first, last) in enumerate(((4, 9), (10, 10), (11, 30)), 1):
        desk.positions.sent(track, session, seq, last, first_id=first)
    find = desk.positions.find
    found = [await find(track, session, track.connection_id, seq, NOBODY) for seq in range(4)]
    assert found == [Place(3), Place(8, 1), Place(9, 1), Place(29, 1)]


async def test_who_began_in_the_middle_of_an_event_is_behind_its_later_messages(
    desk: Desk,
) -> None:
    session, track = await desk.session(), desk.connection()
    await desk.positions.begin(track, session, 2, Place(4, 1))
    desk.positions.sent(track, session, 2, 5, 1)
    find = desk.positions.find
    assert await find(track, session, track.connection_id, 1, NOBODY) == Place(4, 1)
    assert await find(track, session, track.connection_id, 2, NOBODY) == Place(4, 2)


async def test_sessions_on_one_connection_have_places_of_their_own(desk: Desk) -> None:
    one, other, track = await desk.session(), await desk.session(), desk.connection()
    for seq in range(1, 7):
        desk.positions.sent(track, one if seq % 2 else other, seq, 100 + seq)
    find = desk.positions.find
    assert await find(track, one, track.connection_id, 4, NOBODY) == Place(102, 1)
    assert await find(track, other, track.connection_id, 4, NOBODY) == Place(103, 1)


async def test_who_has_got_nothing_yet_goes_on_where_following_began(desk: Desk) -> None:
    session, track = await desk.session(), desk.connection()
    await desk.positions.begin(track, session, 2, Place(30))
    find = desk.again().find
    assert await find(track, session, track.connection_id, 1, NOBODY) == Place(30)
    desk.positions.sent(track, session, 5, 33)
    await desk.positions.save()
    assert await find(track, session, track.connection_id, 1, NOBODY) == Place(30)
    assert await find(track, session, track.connection_id, 4, NOBODY) == Place(30)


async def test_following_from_anew_changes_nothing_of_what_was_sent_before(desk: Desk) -> None:
    session, track = await desk.session(), desk.connection()
    await desk.positions.begin(track, session, 2, Place(0))
    desk.positions.sent(track, session, 2, 1)
    await desk.positions.begin(track, session, 3, Place(9))
    await desk.positions.begin(track, session, 3, Place(20))
    desk.positions.sent(track, session, 4, 21)
    find = desk.positions.find
    found = [await find(track, session, track.connection_id, seq, NOBODY) for seq in (2, 3, 4)]
    assert found == [Place(0, 1), Place(20), Place(20, 1)]


async def test_what_is_written_goes_on_growing_and_nothing_is_lost(desk: Desk) -> None:
    session, track = await desk.session(), desk.connection()
    for seq in range(1, 10):
        desk.positions.sent(track, session, seq, seq)
        if seq % 3 == 0:
            await desk.positions.save()
    place = await desk.again().find(track, session, track.connection_id, 8, NOBODY)
    assert place == Place(7, 1)
    assert await desk.rows() == 1


async def test_sessions_that_take_turns_on_a_connection_need_few_rows(desk: Desk) -> None:
    sessions, track = [await desk.session(), await desk.session()], desk.connection()
    count = limits.MYAGENT_PAGE_RUNS
    for seq in range(1, 2 * count + 1):
        desk.positions.sent(track, sessions[seq % 2], seq, 1000 + 2 * seq)
        if seq % 50 == 0:
            await desk.positions.save()
    assert await desk.rows() == 2
    for seq in (1, 77, 2 * count):
        place = await desk.again().find(track, sessions[seq % 2], track.connection_id, seq, NOBODY)
        assert place == Place(1000 + 2 * seq - 1, 1)


async def test_the_rows_of_a_connection_are_bounded_and_without_them_more_is_repeated(
    desk: Desk,
) -> None:
    session = await desk.session()
    track = Track(new_id(), desk.people.ann.user_id, page_runs=2, pages_max=4)
    await desk.positions.begin(track, session, 1, Place(0))
    for seq in range(1, 41):
        desk.positions.sent(track, session, seq, 2 * seq)
        if seq % 10 == 0:
            await desk.positions.save()
    assert await desk.rows() == 4
    for seq in range(1, 41):
        place = await desk.positions.find(track, session, track.connection_id, seq, NOBODY)
        assert place is not None
        assert place.event_id <= 2 * seq - 1, "never a gap"
        assert place == Place(2 * seq - 1, 1) or 2 < seq <= 34, "the newest, and the first"


async def test_without_a_connection_the_last_one_that_has_ended_counts(desk: Desk) -> None:
    session, here = await desk.session(), desk.connection()
    old, new, live = desk.connection(), desk.connection(), desk.connection()
    for track, event_id in ((old, 10), (new, 20), (live, 30)):
        desk.positions.sent(track, session, 5, event_id)
        desk.clock.advance(1)
    find = desk.positions.find
    assert await find(here, session, None, None, {live.connection_id}) == Place(19, 1)
    assert await find(here, session, None, 5, {live.connection_id}) == Place(19, 1)
    everybody = {one.connection_id for one in (old, new, live)}
    assert await find(here, session, None, None, everybody) == Place(29, 1)
    assert await find(live, session, None, 5, everybody) == Place(29, 1), "its own number"


async def test_what_was_acknowledged_counts_before_what_was_sent(desk: Desk) -> None:
    session, track = await desk.session(), desk.connection()
    for seq in range(1, 10):
        desk.positions.sent(track, session, seq, seq)
    await desk.positions.acknowledged(track, 4)
    await desk.positions.acknowledged(track, 2)
    for positions in (desk.positions, desk.again()):
        place = await positions.find(desk.connection(), session, None, None, NOBODY)
        assert place == Place(3, 1), "after a restart too"


async def test_a_session_that_was_quiet_when_others_were_acknowledged_is_not_taken_for_read(
    desk: Desk,
) -> None:
    session, other, track = await desk.session(), await desk.session(), desk.connection()
    await desk.positions.begin(track, session, 1, Place(7))
    desk.positions.sent(track, other, 1, 1)
    await desk.positions.acknowledged(track, 1)
    desk.positions.sent(track, session, 2, 8)
    place = await desk.positions.find(desk.connection(), session, None, None, NOBODY)
    assert place == Place(7)


async def test_another_users_connection_is_not_found_and_an_unknown_one_is_no_place(
    desk: Desk,
) -> None:
    session, track = await desk.session(), desk.connection()
    desk.positions.sent(track, session, 1, 1)
    stranger = desk.connection(desk.people.bob.user_id)
    with pytest.raises(NotFound):
        await desk.positions.find(stranger, session, track.connection_id, 1, NOBODY)
    assert await desk.positions.find(stranger, session, new_id(), 1, NOBODY) is None
    assert await desk.positions.find(stranger, session, None, None, NOBODY) is None


async def test_places_that_are_too_old_go(desk: Desk) -> None:
    session, track = await desk.session(), desk.connection()
    desk.positions.sent(track, session, 1, 1)
    await desk.positions.save()
    desk.clock.advance(limits.MYAGENT_RUNS_KEPT_S - 1)
    await desk.positions.purge()
    assert await desk.rows() == 1
    desk.clock.advance(2)
    await desk.positions.purge()
    assert await desk.rows() == 0


async def test_a_session_that_was_deleted_costs_the_others_nothing(desk: Desk) -> None:
    gone, kept, track = await desk.session(), await desk.session(), desk.connection()
    async with desk.store.write() as connection:
        await connection.execute(delete(schema.sessions).where(schema.sessions.c.id == gone))
    desk.positions.sent(track, gone, 1, 1)
    desk.positions.sent(track, kept, 2, 1)
    place = await desk.positions.find(track, kept, track.connection_id, 2, NOBODY)
    assert place == Place(0, 1)
    assert track.unsaved == 0


class BrokenStore:
    """A store whose disk is full for a while."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_broken = True

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        if self.is_broken:
            raise OSError("disk full")
        async with self._store.write() as connection:
            yield connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_what_cannot_be_written_now_is_written_later(desk: Desk) -> None:
    broken: Any = BrokenStore(desk.store)
    session, track = await desk.session(), desk.connection()
    positions = Positions(broken, desk.tasks, desk.clock)
    positions.sent(track, session, 1, 1)
    with pytest.raises(OSError, match="disk full"):
        await positions.save()
    assert track.unsaved == 1
    positions.sent(track, session, 2, 2)
    broken.is_broken = False
    place = await positions.find(track, session, track.connection_id, 2, NOBODY)
    assert place == Place(1, 1)


async def test_a_save_that_is_due_is_work_that_ends_with_the_rest(desk: Desk) -> None:
    """A timer would begin it anew when the store is closed."""
    session, track = await desk.session(), desk.connection()
    desk.positions.sent(track, session, 1, 1)
    desk.positions.sent(track, session, 2, 2)
    assert len(desk.tasks) == 1
    await desk.tasks.cancel()
    assert len(desk.tasks) == 0
