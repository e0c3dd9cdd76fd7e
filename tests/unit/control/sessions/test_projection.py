"""The records of turns and questions: what each change writes, and how they catch up."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from tests.support.committed import commit
from tests.unit.control.sessions.recorded import OPENED, Records
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.sessions import notes
from trunkline.control.sessions import state as states
from trunkline.control.sessions.notes import Note
from trunkline.control.sessions.projection import Position, Projection, Saved, Step
from trunkline.control.sessions.rows import SqlRows
from trunkline.control.sessions.state import Change, SessionState, fold
from trunkline.control.store import schema
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import Tuning

Json = dict[str, Any]

EVERYTHING: list[str | Note] = [
    events.make("user_message", 1, turn_id="t1", content="one", client_message_id="c1"),
    notes.Said("t1", {"a": 1}),
    notes.Started(),
    notes.Told("t1"),
    events.make("text_chunk", 1, content="x"),
    notes.Heard(),
    events.make("approval_request", 1, request_id="q1", turn_id="t1"),
    events.make("approval_request", 1, request_id="q2", turn_id="t1"),
    events.make("approval_resolved", 1, request_id="q1", confirmed=True),
    notes.Answered("q1", "yes", None),
    events.make("user_message", 1, turn_id="t2", content="two"),
    notes.Told("t2"),
    events.make("execution_complete", 1, turn_id="t1", content="done"),
    events.make("approval_resolved", 1, request_id="q2", confirmed=False),
    notes.Untold("t2"),
    notes.Cancelling("stop"),
    events.make("execution_error", 1, turn_id="t2", error="x"),
    notes.Late("t2"),
    notes.Moved("other"),
    notes.Settled("t2"),
    events.make("user_message", 1, turn_id="t3", content="three"),
    notes.Told("t3"),
    events.make("user_message", 1, turn_id="t4", content="four"),
    notes.Told("t4"),
    events.make("execution_complete", 1, content="of the older one"),
    events.make("user_message", 1, turn_id="t5", content="five"),
    notes.Absent(),
    events.make("session_closed", 1),
    notes.Stopped(),
]


async def write_log(log: Log, session_id: str) -> None:
    session = await log.open(session_id)
    for entry in EVERYTHING:
        if isinstance(entry, str):
            log.append(session, entry)
        else:
            log.note(session, notes.encode(entry))
    await log.flushed()


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    disk = await SqliteSegments.open(tmp_path / "log.db")
    yield Log(disk, lambda: 7)
    await disk.close()


async def begin_at(rows: SqlRows, session_id: str, count: int) -> None:
    """The records as they are when that many entries are folded."""
    state, position, steps = SessionState("m"), Position(), []
    for entry in EVERYTHING[:count]:
        is_note = not isinstance(entry, str)
        text = entry if isinstance(entry, str) else notes.encode(entry)
        changes = fold(state, text, is_note=is_note)
        place = (0, 1) if is_note else (1, 0)
        position = Position(position.event_id + place[0], position.note + place[1])
        steps.append(Step(session_id, position, 7, changes, state.encode()))
    if not steps:
        steps.append(Step(session_id, position, 7, [], state.encode()))
    await rows.write(steps)


async def clear(records: Records) -> None:
    async with records.store.write() as connection:
        await connection.execute(delete(schema.turns))
        await connection.execute(delete(schema.approvals))
        values = {"status": "active", "unsettled": False, "machine_id": "m", "updated_at": 1}
        values |= {"folded_id": 0, "folded_note": 0}
        await connection.execute(update(schema.sessions).values(**values, left_machines=None))


async def test_from_any_position_the_records_catch_up_to_the_same(
    records: Records, log: Log
) -> None:
    await write_log(log, records.session)
    await clear(records)
    await begin_at(records.rows, records.session, len(EVERYTHING))
    wanted = await records.everything()
    ended = ["completed", "failed", "completed"]
    assert [row["state"] for row in wanted["turns"]] == [*ended, "sent", "queued"]
    for count in range(len(EVERYTHING)):
        await clear(records)
        await begin_at(records.rows, records.session, count)
        caught_up = await Projection(records.rows, log, Tasks()).load([records.session])
        assert await records.everything() == wanted, f"from {count}"
        assert caught_up[records.session].encode() == wanted["sessions"][0]["state"]


async def test_what_has_caught_up_is_not_written_again(records: Records, log: Log) -> None:
    await write_log(log, records.session)
    await clear(records)
    await begin_at(records.rows, records.session, len(EVERYTHING))
    counted = CountedRows(records.rows)
    await Projection(counted, log, Tasks()).load([records.session])
    assert counted.writes == 0


async def test_a_long_log_is_caught_up_page_by_page(records: Records, tmp_path: Path) -> None:
    disk = await SqliteSegments.open(tmp_path / "log.db", tuning=Tuning(events_page_bytes_max=10))
    log = Log(disk, lambda: 7)
    session = await log.open(records.session)
    said = events.make("user_message", 1, turn_id="t", content="hi")
    ended = events.make("execution_complete", 1, turn_id="t")
    for line in (said, *["x" * 100] * 5, ended):
        await commit(log, session, line)
    await records.write()
    await begin_at(records.rows, records.session, 0)
    counted = CountedRows(records.rows)
    await Projection(counted, log, Tasks()).load([records.session])
    assert counted.writes > 1
    assert await records.of("turns", "state") == [("completed",)]
    assert await records.of("sessions", "folded_id") == [(7,)]


async def test_a_log_that_cannot_be_understood_keeps_no_other_session_out(
    records: Records, other: str, log: Log
) -> None:
    """As after a return to an older version of this program."""
    for session_id, note in ((records.session, '{"type":"of_tomorrow"}'), (other, None)):
        session = await log.open(session_id)
        log.append(session, events.make("user_message", 1, turn_id=session_id, content="hi"))
        if note is not None:
            log.note(session, note)
        await log.flushed()
        await begin_at(records.rows, session_id, 0)
    subject = Projection(records.rows, log, Tasks())
    assert list(await subject.load([records.session, other])) == [other]


async def test_a_start_catches_up_and_names_the_machines_that_have_open_turns(
    records: Records, log: Log
) -> None:
    session = await log.open(records.session)
    await begin_at(records.rows, records.session, 0)
    subject = Projection(records.rows, log, Tasks())
    assert await subject.recover() == []
    log.append(session, events.make("user_message", 1, turn_id="t", content="hi"))
    log.note(session, notes.encode(notes.Told("t")))
    await log.flushed()
    assert await subject.recover() == ["m"]
    assert await records.of("turns", "state") == [("sent",)]


# Live


class CountedRows:
    """Real rows, with the writes counted, held up, or failed for one session."""

    def __init__(self, rows: SqlRows) -> None:
        self._rows = rows
        self.writes = 0
        self.faults: dict[str, int] = {}
        self.free = asyncio.Event()
        self.free.set()
        self.begun = asyncio.Event()

    async def write(self, steps: Sequence[Step]) -> None:
        self.writes += 1
        self.begun.set()
        await self.free.wait()
        for session_id in {step.session_id for step in steps}:
            if self.faults.get(session_id):
                self.faults[session_id] -= 1
                raise OSError("the disk is full")
        await self._rows.write(steps)

    async def read(self, session_ids: Sequence[str]) -> dict[str, Saved]:
        return await self._rows.read(session_ids)

    async def open_sessions(self) -> list[str]:
        return await self._rows.open_sessions()


class Live:
    def __init__(self, records: Records, log: Log, tuning: Tuning) -> None:
        self.rows = CountedRows(records.rows)
        self.tasks = Tasks()
        self.projection = Projection(self.rows, log, self.tasks, tuning)
        self._count = 0

    def add(self, session_id: str, *changes: Change) -> None:
        self._count += 1
        position = Position(self._count, 0)
        self.projection.add(Step(session_id, position, 5, changes, SessionState("m").encode()))

    async def waits(self, session_id: str | None) -> bool:
        """Whether it is still waiting when everything else that could be done was."""
        waiting = asyncio.ensure_future(self.projection.settled(session_id))
        for _ in range(20):
            await asyncio.sleep(0)
        is_waiting = not waiting.done()
        self.rows.free.set()
        await waiting
        return is_waiting


@pytest.fixture
async def other(records: Records) -> str:
    async with records.store.write() as connection:
        row = dict((await connection.execute(select(schema.sessions))).mappings().one())
        await connection.execute(insert(schema.sessions).values({**row, "id": "other-session"}))
    return "other-session"


@pytest.fixture
def live(records: Records, log: Log) -> Live:
    return Live(records, log, Tuning(retry_s=0.0))


async def test_what_a_sessions_events_mean_is_written_in_their_order(
    records: Records, live: Live
) -> None:
    live.rows.free.clear()
    live.add(records.session, OPENED)
    await live.rows.begun.wait()
    live.add(records.session, states.TurnTold("t", is_told=True))
    live.add(records.session, states.TurnEnded("t", "completed", None))
    assert await live.waits(records.session)
    assert await records.of("turns", "state") == [("completed",)]
    assert await records.of("sessions", "folded_id") == [(3,)]
    assert live.rows.writes == 2  # what gathered meanwhile is one transaction


async def test_one_waits_for_the_records_of_ones_own_session_only(
    records: Records, other: str, live: Live
) -> None:
    await live.projection.settled(records.session)
    live.rows.free.clear()
    live.add(records.session, OPENED)
    assert not await live.waits(other)
    await live.projection.settled()


async def test_over_all_sessions_one_waits_for_all(records: Records, live: Live) -> None:
    live.rows.free.clear()
    live.add(records.session, OPENED)
    assert await live.waits(None)
    assert await records.of("turns", "state") == [("queued",)]


async def test_a_record_that_cannot_be_written_is_tried_again_and_holds_up_no_other(
    records: Records, other: str, live: Live
) -> None:
    live.rows.faults = {records.session: 3}
    live.add(other, states.TurnOpened("first", "hi", None))
    live.add(records.session, OPENED)
    live.add(other, states.TurnTold("first", is_told=True))
    await live.tasks.done()
    assert await records.of("turns", "id", "state") == [("first", "sent"), ("t", "queued")]
    await live.projection.settled()


async def test_what_is_never_written_is_not_waited_for_without_end(
    records: Records, log: Log
) -> None:
    live = Live(records, log, Tuning(records_wait_s=0.0))
    live.rows.free.clear()
    live.add(records.session, OPENED)
    await live.projection.settled(records.session)
    await live.projection.settled()
    assert await records.of("turns", "id") == []
    live.rows.free.set()
    await live.tasks.done()


async def test_what_a_shutdown_keeps_from_being_written_is_caught_up_at_the_next_start(
    records: Records, log: Log, live: Live
) -> None:
    await begin_at(records.rows, records.session, 0)
    session = await log.open(records.session)
    log.append(session, events.make("user_message", 1, turn_id="t", content="hi"))
    await log.flushed()
    live.rows.free.clear()
    live.add(records.session, OPENED)
    await live.rows.begun.wait()
    await live.tasks.cancel()
    assert await records.of("turns", "id") == []
    assert await Projection(records.rows, log, Tasks()).recover() == ["m"]
    assert await records.of("turns", "id", "message") == [("t", "hi")]
