"""Records of before there were projections: made into ones at a start, and none is lost."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from tests.support.committed import commit
from tests.unit.control.services.conftest import add_org, add_session, add_user
from trunkline.control.access.auth import Principal
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.sessions.legacy import convert
from trunkline.control.sessions.projection import Position, Projection
from trunkline.control.sessions.rows import SqlRows
from trunkline.control.sessions.state import Question, SessionState, Turn
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks


class Old:
    """A database and a log as an older version left them."""

    def __init__(self, store: Store, log: Log, ann: Principal, session: str) -> None:
        self.store = store
        self.log = log
        self.ann = ann
        self.session = session

    async def logged(self, kind: str, **fields: Any) -> None:
        session = await self.log.open(self.session)
        await commit(self.log, session, events.make(kind, 1, **fields))

    async def turn(self, turn_id: str, state: str = "sent", *, said: bool = True) -> None:
        row = {
            "id": turn_id,
            "session_id": self.session,
            "state": state,
            "message": "hi",
            "metadata": {},
            "created_at": 1,
        }
        async with self.store.write() as connection:
            await connection.execute(insert(schema.turns).values(row))
        if said:
            await self.logged("user_message", turn_id=turn_id, content="hi")

    async def question(self, request_id: str, state: str, **fields: Any) -> None:
        row = {
            "id": f"id of {request_id}",
            "session_id": self.session,
            "user_id": self.ann.user_id,
            "request_id": request_id,
            "state": state,
            "request": {},
            "created_at": 1,
            **fields,
        }
        async with self.store.write() as connection:
            await connection.execute(insert(schema.approvals).values(row))
        await self.logged("approval_request", request_id=request_id, turn_id="t")

    async def converted(self) -> SessionState:
        await convert(self.store, self.log)
        saved = await SqlRows(self.store).read([self.session])
        state, position = saved[self.session]
        head = (await self.log.heads([self.session])).get(self.session)
        assert position == (Position() if head is None else Position(head.last_id, head.note))
        return state

    async def turns(self) -> dict[str, tuple[str, str | None]]:
        table = schema.turns
        query = select(table.c.id, table.c.state, table.c.answer)
        async with self.store.read() as connection:
            return {row.id: (row.state, row.answer) for row in await connection.execute(query)}


@pytest.fixture
async def old(store: Store, tmp_path: Path) -> AsyncIterator[Old]:
    disk = await SqliteSegments.open(tmp_path / "log.db")
    ann = await add_user(store, await add_org(store, "Acme"), "Ann")
    yield Old(store, Log(disk, lambda: 7), ann, await add_session(store, ann))
    await disk.close()


async def test_a_session_in_which_nothing_is_open_is_taken_as_it_is(old: Old) -> None:
    await old.turn("t", "completed")
    await old.logged("execution_complete", turn_id="t")
    assert await old.converted() == SessionState(None, is_started=True)
    assert await old.turns() == {"t": ("completed", None)}


async def test_a_session_without_a_log_is_taken_too(old: Old) -> None:
    assert await old.converted() == SessionState(None, is_started=True)


@pytest.mark.parametrize("state", ["queued", "sent"])
async def test_a_turn_that_is_open_may_have_been_sent(old: Old, state: str) -> None:
    await old.turn("before", "completed")
    await old.logged("execution_complete", turn_id="before")
    await old.turn("t", state)
    found = await old.converted()
    assert found.turns == {"t": Turn("t", is_told=True, is_heard=True)}
    assert list(found.ended) == ["before"]
    assert (found.is_started, found.is_seen) == (True, True)
    assert (await old.turns())["t"] == (state, None)


async def test_a_turn_that_ended_in_the_log_only_is_ended_in_the_records(old: Old) -> None:
    await old.turn("t1")
    await old.turn("t2")
    await old.logged("execution_complete", content="done")  # without a name: of the oldest
    await old.logged("execution_error", turn_id="t2", error="x")
    assert not (await old.converted()).turns
    assert await old.turns() == {"t1": ("completed", "done"), "t2": ("failed", None)}


async def test_a_turn_that_is_not_in_the_log_has_failed(old: Old) -> None:
    await old.turn("t")
    await old.turn("never said", "queued", said=False)
    assert list((await old.converted()).turns) == ["t"]
    assert await old.turns() == {"t": ("sent", None), "never said": ("failed", None)}


async def test_a_question_that_waits_goes_on_waiting(old: Old) -> None:
    await old.turn("t")
    await old.question("q", "pending")
    assert (await old.converted()).questions == {"q": Question("t")}


async def test_an_answer_that_was_recorded_and_never_logged_goes_to_the_machine(old: Old) -> None:
    await old.turn("t")
    await old.question("yes", "confirmed", answer={"a": 1})
    await old.question("no", "denied")
    assert (await old.converted()).questions == {
        "yes": Question("t", "confirmed", {"a": 1}, True),
        "no": Question("t", "denied", None, True),
    }


async def test_an_answer_that_is_in_the_log_is_not_given_again(old: Old) -> None:
    await old.turn("t")
    await old.question("q", "confirmed", answer="yes")
    await old.logged("approval_resolved", request_id="q", confirmed=True)
    assert (await old.converted()).questions == {"q": Question("t", "confirmed")}


async def test_a_closed_session_has_no_open_turns(old: Old) -> None:
    await old.turn("t")
    async with old.store.write() as connection:
        await connection.execute(update(schema.sessions).values(status="closed"))
    found = await old.converted()
    assert (found.is_closed, found.is_stop_pending, found.turns) == (True, False, {})
    assert await old.turns() == {"t": ("failed", None)}


async def test_it_is_done_once_and_what_comes_later_is_folded_on(old: Old) -> None:
    await old.turn("t")
    await old.converted()
    await old.logged("execution_complete", turn_id="t", content="done")
    await convert(old.store, old.log)
    subject = Projection(SqlRows(old.store), old.log, Tasks())
    assert await subject.recover() == []
    assert await old.turns() == {"t": ("completed", "done")}
