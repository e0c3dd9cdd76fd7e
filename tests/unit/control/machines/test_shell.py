"""Append, commit, apply, send: nothing is told that a crash could take back."""

import asyncio
import json

import pytest

from tests.unit.control.machines.pure import NUMBERED, VM, say_of, start_of
from tests.unit.control.machines.stage import KeptLine, Reader, Stage
from trunkline.control.errors import Unavailable
from trunkline.control.log import events
from trunkline.control.machines.actions import Departed, Load
from trunkline.control.machines.traits import Traits
from trunkline.control.sessions.core import SessionCore
from trunkline.control.sessions.projection import Position, Saved
from trunkline.control.sessions.state import SessionState, TurnEnded, TurnOpened, TurnTold
from trunkline.wire.commands import Cancel, Command, Forward, Stop


@pytest.fixture
async def stage() -> Stage:
    made = Stage()
    await made.adopt()
    made.attach()
    return made


async def test_nothing_is_sent_before_it_is_committed(stage: Stage) -> None:
    stage.say_hello()
    await stage.store.called.wait()
    assert (stage.line.told, stage.rows.steps) == ([], [])
    await stage.done()
    assert stage.line.told == [say_of("t")]
    texts = [one.body for segment in stage.store.committed for one in segment.notes]
    assert texts == ['{"type":"told","turn_id":"t","settles":true}']


async def test_a_failed_commit_sends_nothing_until_it_succeeds(stage: Stage) -> None:
    stage.store.failures = 1
    stage.say_hello()
    stage.store.gate.release()
    await stage.store.commits(2)
    assert stage.line.told == []
    await stage.done()
    assert stage.line.told == [say_of("t")]


async def test_one_input_is_one_commit_and_one_step_of_the_records(stage: Stage) -> None:
    stage.say_hello()
    await stage.done()
    assert stage.store.calls == 1
    (step,) = stage.rows.steps
    assert step.changes == [TurnOpened("t", "hello", None), TurnTold("t", is_told=True)]
    assert (step.position, step.at) == (Position(1, 1), 77)
    assert step.state == stage.machine.core.state.sessions["s"].session.encode()


async def test_the_records_follow_in_the_order_of_the_log(stage: Stage) -> None:
    stage.say_hello("t1")
    await stage.store.called.wait()
    stage.say_hello("t2")
    with stage.machine.input() as core:
        core.finish("s", "t1", "execution_complete", cancelled=True)
    await stage.done()
    changes = [change for step in stage.rows.steps for change in step.changes]
    assert changes == [
        TurnOpened("t1", "hello", None),
        TurnTold("t1", is_told=True),
        TurnOpened("t2", "hello", None),
        TurnTold("t2", is_told=True),
        TurnEnded("t1", "cancelled", None),
    ]
    positions = [step.position for step in stage.rows.steps]
    assert positions == sorted(positions)
    assert positions[-1] == Position(3, 2)


async def test_commands_go_out_in_their_order_over_several_commits(stage: Stage) -> None:
    stage.say_hello("t1")
    await stage.store.called.wait()
    stage.say_hello("t2")
    with stage.machine.input() as core:
        core.cancel("s", "user_cancelled")
    await stage.done()
    assert stage.line.told == [say_of("t1"), say_of("t2"), Cancel("s", "user_cancelled")]


async def test_a_command_of_no_session_waits_for_nothing(stage: Stage) -> None:
    stage.say_hello()
    with stage.machine.input() as core:
        core.forward(Forward("", "yeaft", "{}"))
    assert stage.line.told == [Forward("", "yeaft", "{}")]
    await stage.done()


async def test_what_was_meant_for_an_earlier_line_does_not_go_out_on_the_next(stage: Stage) -> None:
    stage.say_hello()
    await stage.store.called.wait()
    stage.machine.line = newer = KeptLine(VM)
    await stage.done()
    assert (stage.line.told, newer.told) == ([], [])


async def test_a_fault_in_an_edge_keeps_no_other_command_back(stage: Stage) -> None:
    stage.line.faults = 1
    stage.say_hello("t1")
    stage.say_hello("t2")
    await stage.done()
    assert stage.line.told == [say_of("t2")]


async def test_an_input_that_is_refused_leaves_nothing_behind(stage: Stage) -> None:
    def refuse() -> None:
        with stage.machine.input() as core:
            core.end("failed", "X", "gone")
            core.state.is_up = False
            core.check_room()

    with pytest.raises(Unavailable):
        refuse()
    assert not stage.machine.core.out


async def test_what_an_action_leads_to_is_run_behind_it(stage: Stage) -> None:
    class Answering(KeptLine):
        """An edge that has something to say about what it is told."""

        def deliver(self, command: Command) -> None:
            if command == Forward("", "yeaft", "first"):
                with stage.machine.input() as core:
                    core.forward(Forward("", "yeaft", "third"))
            super().deliver(command)

    line = Answering(VM)
    stage.machine.line = line
    with stage.machine.input() as core:
        core.forward(Forward("", "yeaft", "first"))
        core.forward(Forward("", "yeaft", "second"))
    assert line.told == [Forward("", "yeaft", name) for name in ("first", "second", "third")]


async def test_a_session_is_started_with_what_the_records_say_then() -> None:
    stage = Stage()
    stage.attach(fresh=True)
    await stage.adopt(is_new=True)
    assert stage.line.told == []
    await stage.done()
    assert stage.line.told == [start_of()]


async def test_a_session_that_cannot_be_read_yet_is_started_later() -> None:
    stage = Stage()
    stage.starts.clear()
    stage.attach(fresh=True)
    await stage.adopt(is_new=True)

    def heals(at: int) -> None:
        stage.starts["s"] = start_of()

    stage.store.free()
    log = stage.machine.logs["s"]
    stage.log.append(log, "{}")
    stage.log.after_commit(log, heals)
    await stage.done()
    assert stage.line.told == [start_of()]


async def test_a_message_that_is_not_in_memory_is_read_and_sent(stage: Stage) -> None:
    stage.says["t"] = say_of("t", text="as it was said")
    with stage.machine.input() as core:
        session = SessionCore("s", core.state.sessions["s"].session, core.out, stage.time)
        session.say("t", {"content": "as it was said"}, {})
        core.listed({"s"})
        assert Load("s", "t") in core.out
    await stage.done()
    assert stage.line.told == [say_of("t", text="as it was said")]


async def test_strays_are_stopped_for_the_reason_that_the_records_give(stage: Stage) -> None:
    with stage.machine.input() as core:
        core.listed({"s", "closed", "moved", "unknown"})
    await stage.done()
    assert sorted(stage.line.told, key=lambda one: one.session_id) == [
        Stop("closed", "user_closed"),
        Stop("moved", "timeout"),
        Stop("unknown", "timeout"),
    ]


async def test_a_machine_that_lists_nothing_is_told_of_what_left_it(stage: Stage) -> None:
    stage.moved = {"moved": "active", "closed later": "closed"}
    with stage.machine.input() as core:
        core.out.append(Departed())
    await stage.done()
    assert stage.line.told == [Stop("moved", "timeout"), Stop("closed later", "user_closed")]


async def test_what_is_not_known_is_left_alone_where_others_start_sessions_too() -> None:
    stage = Stage(Traits(starts=False))
    stage.attach()
    with stage.machine.input() as core:
        core.strays({"closed", "unknown"})
    await stage.done()
    assert stage.line.told == [Stop("closed", "user_closed")]


async def test_sessions_that_were_closed_while_a_machine_was_given_up_are_stopped() -> None:
    stage = Stage()
    closed = SessionState("m", is_closed=True, is_stop_pending=True)
    stage.rows.saved["old"] = Saved(closed, Position())
    stage.closed = ["old"]
    stage.machine.core.state.status = "gone"
    stage.attach()
    await stage.done()
    assert stage.line.told == [Stop("old", "user_closed")]


async def test_the_last_words_of_such_a_session_are_acknowledged() -> None:
    stage = Stage(Traits(numbers=True))
    closed = SessionState("m", is_closed=True, is_stop_pending=True)
    stage.rows.saved["old"] = Saved(closed, Position())
    stage.closed = ["old"]
    stage.machine.core.state.status = "gone"
    stage.attach()
    await stage.done()
    log = stage.machine.logs["old"]
    log.numbered(4)
    stage.log.append(log, "last words")
    await stage.log.committed(log)
    await asyncio.sleep(0)  # it goes out with what the same commit made safe besides
    assert stage.line.acked == [{"old": 4}]


async def test_who_reads_a_session_is_told_of_its_machine_and_others_are_not(stage: Stage) -> None:
    await stage.adopt("unread")
    reader = Reader()
    await stage.log.follow(stage.machine.logs["s"], reader, 0)
    with stage.machine.input() as core:
        core.line_down()
    await stage.done()
    assert [(one["type"], one["machine"]) for one in reader.events] == [
        ("session_status", "offline")
    ]
    assert {one.session_id for one in stage.store.committed} == {"s"}


async def test_a_message_for_a_machine_that_is_away_is_shown_to_wait(stage: Stage) -> None:
    with stage.machine.input() as core:
        core.line_down()
    stage.machine.line = None
    stage.say_hello()
    await stage.done()
    lines = [json.loads(line) for one in stage.store.committed for line in one.lines]
    assert [(one["type"], one.get("held")) for one in lines] == [
        ("user_message", None),
        ("session_status", True),
    ]


async def test_a_session_is_awaited_while_its_next_word_matters(stage: Stage) -> None:
    log = stage.machine.logs["s"]
    awaited = [log.is_awaited]
    stage.say_hello()
    awaited.append(log.is_awaited)
    with stage.machine.input() as core:
        core.spoke("s")
    assert [*awaited, log.is_awaited] == [False, True, False]
    await stage.done()


async def test_a_session_that_is_released_is_held_no_more(stage: Stage) -> None:
    with stage.machine.input() as core:
        core.close("s", "user_closed")
        core.stopped("s")
    assert stage.machine.logs == {}
    await stage.done()
    assert stage.line.told[-1:] == [Stop("s", "user_closed")]


async def test_a_late_terminal_event_is_not_logged_and_its_number_is_kept() -> None:
    stage = Stage(NUMBERED)
    await stage.adopt()
    stage.attach()
    stage.say_hello()
    with stage.machine.input() as core:
        core.finish("s", "t", "execution_complete", is_late=True, cancelled=True)
    await stage.done()
    count = sum(len(one.lines) for one in stage.store.committed)
    log = stage.machine.logs["s"]
    log.numbered(5)
    line = events.make("execution_complete", 1, turn_id="t")
    event = events.look(line)
    assert event is not None
    with stage.machine.input() as core:
        core.heard("s", event, line)
    await stage.done()
    assert sum(len(one.lines) for one in stage.store.committed) == count
    assert log.safe_seq == 5
