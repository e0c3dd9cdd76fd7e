"""Questions as they are listed, on both databases."""

from typing import Any

import pytest
from sqlalchemy import insert

from tests.unit.control.conftest import FakeClock
from tests.unit.control.log.gated import GatedStore
from tests.unit.control.people import People
from trunkline.control.ids import new_id
from trunkline.control.log.log import Log
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.projection import Position, Projection, Step
from trunkline.control.sessions.rows import SqlRows, approval_id
from trunkline.control.sessions.state import Asked, Change, Resolved, SessionState
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks

Json = dict[str, Any]


class Desk:
    """Ann's group, and a person of hers that sits in it."""

    def __init__(self, store: Store, clock: FakeClock, people: People) -> None:
        self.ann = people.ann
        self._log = Log(GatedStore(), clock)
        self._rows = SqlRows(store)
        self.approvals = Approvals(store, Projection(self._rows, self._log, Tasks()))
        self._store = store
        self._clock = clock

    async def seat(self) -> tuple[str, str]:
        """The group's conversation, and the person's session in it."""
        group, member, person = await self.session(), await self.session(), new_id()
        async with self._store.write() as connection:
            await connection.execute(
                insert(schema.persons).values(
                    id=person,
                    user_id=self.ann.user_id,
                    name=f"p{person[-6:]}",
                    prompt="",
                    created_at=self._clock(),
                )
            )
            await connection.execute(
                insert(schema.group_seats).values(
                    session_id=group,
                    person_id=person,
                    member_session_id=member,
                    created_at=self._clock(),
                )
            )
        return group, member

    async def session(self) -> str:
        session_id = new_id()
        row = {
            "id": session_id,
            "org_id": self.ann.org_id,
            "user_id": self.ann.user_id,
            "runtime_type": "semigraph",
            "agent_config": {},
            "session_config": {},
            "status": "active",
            "updated_at": self._clock(),
            "created_at": self._clock(),
        }
        async with self._store.write() as connection:
            await connection.execute(insert(schema.sessions).values(row))
        return session_id

    async def ask(self, session_id: str, name: str, request: Json | None = None) -> str:
        await self._write(session_id, Asked(name, request or {}))
        return approval_id(session_id, name, self._clock())

    async def resolve(self, session_id: str, name: str) -> None:
        await self._write(session_id, Resolved(name, is_confirmed=False))

    async def _write(self, session_id: str, change: Change) -> None:
        self._clock.advance(0.001)
        state = SessionState(None).encode()
        await self._rows.write([Step(session_id, Position(), self._clock(), [change], state)])

    async def listed(self, state: str | None = "pending") -> list[str]:
        return [one.id for one in await self.approvals.page(self.ann, state, members=False)]


@pytest.fixture
async def desk(store: Store, clock: FakeClock) -> Desk:
    return Desk(store, clock, await People.settle(store, clock))


async def test_what_a_group_asks_for_a_person_is_listed_once(desk: Desk) -> None:
    group, member = await desk.seat()
    own = await desk.ask(member, "q")
    assert await desk.listed() == [own]  # the group has not said it yet
    copy = await desk.ask(group, "1.q", {"group": {"session_id": member, "request_id": "q"}})
    assert await desk.listed() == [copy]
    assert [one.id for one in await desk.approvals.page(desk.ann)] == [own, copy]
    found = await desk.approvals.page(desk.ann, session_id=member)
    assert [one.id for one in found] == [own]


async def test_what_waits_is_listed_even_if_the_groups_copy_is_settled(desk: Desk) -> None:
    group, member = await desk.seat()
    own = await desk.ask(member, "q")
    copy = await desk.ask(group, "1.q", {"group": {"session_id": member, "request_id": "q"}})
    await desk.resolve(group, "1.q")
    assert await desk.listed() == [own]
    await desk.resolve(member, "q")
    assert await desk.listed() == []
    assert await desk.listed(None) == [copy]


async def test_what_was_answered_is_listed_from_new_to_old_page_by_page(desk: Desk) -> None:
    session = await desk.session()
    asked = [await desk.ask(session, f"q{number}") for number in range(4)]
    for number in range(3):
        await desk.resolve(session, f"q{number}")
    found = await desk.approvals.page(desk.ann, "answered", 2, newest=True)
    assert [one.id for one in found] == [asked[2], asked[1]]
    rest = await desk.approvals.page(desk.ann, "answered", 2, found[-1].id, newest=True)
    assert [one.id for one in rest] == [asked[0]]


@pytest.mark.parametrize(
    "claimed", [None, 7, "group", [], {}, {"session_id": 7}, {"request_id": "q"}]
)
async def test_only_the_groups_own_copy_hides_a_question(desk: Desk, claimed: Any) -> None:
    """A machine writes what it likes into its questions."""
    group, member = await desk.seat()
    own, elsewhere = await desk.ask(member, "q"), await desk.session()
    odd = await desk.ask(group, "odd", {"group": claimed})
    forged = {"group": {"session_id": member, "request_id": "q"}}
    asked = await desk.ask(elsewhere, "q", forged)
    assert set(await desk.listed()) == {own, odd, asked}
