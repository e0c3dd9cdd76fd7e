"""The rows of the projection: what each change writes."""

from typing import Any

import pytest
from sqlalchemy import insert, update

from tests.unit.control.services.conftest import add_org, add_session, add_user
from tests.unit.control.sessions.recorded import OPENED, Records
from trunkline import limits
from trunkline.control.sessions import state as states
from trunkline.control.sessions.projection import Position, Saved, Step
from trunkline.control.sessions.rows import SqlRows, approval_id
from trunkline.control.sessions.state import Change, SessionState
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

Json = dict[str, Any]


async def test_a_turn_from_its_message_to_its_end(records: Records) -> None:
    columns = "id", "session_id", "state", "message", "client_message_id", "metadata", "answer"
    await records.write(OPENED, at=5)
    base = "t", records.session
    assert await records.of("turns", *columns, "created_at", "finished_at") == [
        (*base, "queued", "hello", "c", {}, None, 5, None)
    ]
    await records.write(states.TurnNoted("t", {"a": 1}), states.TurnTold("t", is_told=True))
    assert await records.of("turns", *columns) == [(*base, "sent", "hello", "c", {"a": 1}, None)]
    await records.write(states.TurnTold("t", is_told=False))
    assert await records.of("turns", "state") == [("queued",)]
    await records.write(states.TurnEnded("t", "completed", "done"), at=9)
    assert await records.of("turns", *columns, "created_at", "finished_at") == [
        (*base, "completed", "hello", "c", {"a": 1}, "done", 5, 9)
    ]


@pytest.mark.proves("notes-3-title-from-the-first-prompt")
async def test_a_session_without_a_title_is_called_after_its_first_message(
    records: Records,
) -> None:
    await records.write(states.TurnOpened("t1", " \n Mend the\tbuild, " + "please " * 50, None))
    await records.write(states.TurnOpened("t2", "And now?", None))
    [(title, by)] = await records.of("sessions", "title", "titled_by")
    assert title == "Mend the build, please please please please please please…"
    assert by == "message"


@pytest.mark.parametrize("name", ["mine", None])
async def test_a_title_that_somebody_gave_stays_and_one_that_was_taken_away_stays_away(
    records: Records, name: str | None
) -> None:
    if name is None:
        await records.write(states.TurnOpened("t0", "first", None))
    async with records.store.write() as connection:
        await connection.execute(update(schema.sessions).values(title=name))
    await records.write(states.TurnOpened("t1", "hello", None))
    assert await records.of("sessions", "title") == [(name,)]


async def test_a_message_without_words_gives_no_title(records: Records) -> None:
    await records.write(states.TurnOpened("t1", " \n", None))
    assert await records.of("sessions", "title") == [(None,)]


async def test_a_question_from_its_asking_to_its_answer(records: Records) -> None:
    columns = "id", "request_id", "state", "request", "answer", "answered_by", "answered_at"
    asked = approval_id(records.session, "q", 5)
    await records.write(states.Asked("q", {"tool": "rm"}), at=5)
    assert await records.of("approvals", *columns, "created_at") == [
        (asked, "q", "pending", {"tool": "rm"}, None, None, None, 5)
    ]
    (owner,) = await records.of("approvals", "user_id", "session_id")
    (user,) = await records.of("sessions", "user_id", "id")
    assert owner == user
    answered = states.AnswerNoted("q", {"a": 1}, user[0])
    await records.write(states.Resolved("q", is_confirmed=True), answered, at=9)
    assert await records.of("approvals", *columns) == [
        (asked, "q", "confirmed", {"tool": "rm"}, {"a": 1}, user[0], 9)
    ]


async def test_a_question_that_is_denied(records: Records) -> None:
    await records.write(states.Asked("q", {}), states.Resolved("q", is_confirmed=False))
    assert await records.of("approvals", "state", "answer") == [("denied", None)]


async def test_a_question_under_an_id_of_long_ago_is_a_new_one(records: Records) -> None:
    await records.write(states.Asked("q", {"a": 1}), states.Resolved("q", is_confirmed=True))
    await records.write(states.Asked("q", {"a": 2}), at=6)
    assert await records.of("approvals", "id", "state", "request") == [
        (approval_id(records.session, "q", 6), "pending", {"a": 2})
    ]


def test_the_id_of_a_question_is_the_same_whenever_it_is_made_and_sorts_by_time() -> None:
    now = 1_800_000_000_000
    assert approval_id("s", "q", now) == approval_id("s", "q", now)
    made = [approval_id("s", "q", now), approval_id("s2", "q", now), approval_id("s", "q2", now)]
    assert len(set(made)) == 3
    assert max(made) < approval_id("s", "q", now + 1)
    assert approval_id("s", "\ud800", now)  # half of a character


async def test_a_question_of_a_session_that_is_deleted_is_not_kept(records: Records) -> None:
    step = Step("nowhere", Position(1, 0), 5, [states.Asked("q", {})], b"")
    await records.rows.write([step])
    assert await records.of("approvals", "id") == []


async def test_a_close_is_unsettled_until_the_machine_was_told(records: Records) -> None:
    await records.write(states.SessionClosed(), at=9)
    assert await records.of("sessions", "status", "unsettled", "updated_at") == [
        ("closed", True, 9)
    ]
    assert await records.rows.open_sessions() == [records.session]
    await records.write(states.SessionSettled())
    assert await records.of("sessions", "status", "unsettled") == [("closed", False)]
    assert await records.rows.open_sessions() == []


async def test_a_move_keeps_where_a_session_was(records: Records) -> None:
    await records.write(states.SessionMoved("m"))
    await records.write(states.SessionMoved("other"), at=9)
    assert await records.of("sessions", "machine_id", "left_machines", "updated_at") == [
        ("other", ["m"], 9)
    ]
    for _ in range(limits.SESSION_LEFT_MACHINES_MAX):
        await records.write(states.SessionMoved("m"), states.SessionMoved("other"))
    ((left,),) = await records.of("sessions", "left_machines")
    assert len(left) == limits.SESSION_LEFT_MACHINES_MAX


async def test_a_step_is_written_with_its_position_or_not_at_all(records: Records) -> None:
    first = Step(records.session, Position(1, 0), 5, [OPENED], SessionState("m").encode())
    await records.rows.write([first])
    state = SessionState("m", is_closed=True).encode()
    second: list[Change] = [states.SessionClosed(), OPENED]  # the turn is there already
    with pytest.raises(Exception, match=r"(?i)unique"):
        await records.rows.write([Step(records.session, Position(2, 0), 6, second, state)])
    assert await records.of("sessions", "status", "folded_id") == [("active", 1)]
    saved = await records.rows.read([records.session, "nobody"])
    assert saved == {records.session: Saved(SessionState("m"), Position(1, 0))}


async def test_very_many_sessions_are_read_too(sqlite_store: Store) -> None:
    ann = await add_user(sqlite_store, await add_org(sqlite_store, "Acme"), "Ann")
    first = await add_session(sqlite_store, ann)
    ids = [first]
    async with sqlite_store.write() as connection:
        row = schema.sessions.select().where(schema.sessions.c.id == first)
        template = dict((await connection.execute(row)).mappings().one())
        template["state"] = SessionState("m").encode()
        for number in range(1_100):
            template["id"] = f"session-{number}"
            ids.append(template["id"])
            await connection.execute(insert(schema.sessions).values(template))
    found = await SqlRows(sqlite_store).read(ids[1:])
    assert sorted(found) == sorted(ids[1:])
