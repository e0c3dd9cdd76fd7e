"""What a session keeps when its process, or the whole daemon, is gone."""

import asyncio
import json
import shutil

import pytest

from tests.support.eventually import eventually, until
from tests.support.recording_line import RecordingLine
from tests.unit.execution.session.conftest import MakeManager
from tests.unit.execution.session.test_manager import start
from trunkline.execution.home import Home
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.process import SessionProcess
from trunkline.execution.session.session import PROCESS_REVIVALS_MAX, Session

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def crashed(manager: SessionManager, line: RecordingLine, home: Home) -> None:
    """The daemon is gone without a goodbye: its sessions' processes with it, and what is on disk is
    what was there at that moment."""
    kept = home.root.with_name("kept")
    shutil.copytree(home.root, kept)
    await manager.close()
    shutil.rmtree(home.root)
    kept.rename(home.root)
    line.sessions.clear()
    line.sent.clear()


async def restarted(make_manager: MakeManager) -> SessionManager:
    manager = make_manager()
    manager.find_left()
    await manager.recover()
    return manager


async def test_a_turn_that_ran_ends_when_the_daemon_is_back(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    first = make_manager()
    await first.start_session(start("s-1"))
    line.say("s-1", "hello", "t-0")
    line.say("s-1", "wait", "t-1")
    await line.until("s-1", "thinking")
    await crashed(first, line, home)
    second = await restarted(make_manager)
    [event] = line.events("s-1")
    assert (event["type"], event["code"]) == ("execution_error", "MACHINE_RESTARTED")
    assert event["turn_id"] == "t-1"
    assert second.names() == []
    assert second.turns() == []


async def test_what_an_earlier_daemon_took_is_named_before_anything_is_ended(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    """`resume` says which turns are here; one that is missing there would run again."""
    first = make_manager()
    await first.start_session(start("s-1"))
    line.say("s-1", "wait", "t-1")
    await line.until("s-1", "thinking")
    await crashed(first, line, home)
    second = make_manager()
    second.find_left()
    assert second.turns() == ["t-1"]
    assert line.sent == []


async def test_a_turn_that_waits_for_a_person_goes_on_after_a_restart(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    first = make_manager()
    await first.start_session(start("s-1", session_config={"max_turns": 3}))
    line.say("s-1", "ask", "t-1")
    await line.until("s-1", "approval_request")
    await crashed(first, line, home)
    second = await restarted(make_manager)
    assert (await line.until("s-1", "approval_request"))["turn_id"] == "t-1"
    assert second.names() == ["s-1"]
    assert line.events("s-1", "execution_error") == []
    line.tell("s-1", "approval_response", request_id="r-1", confirmed=True)
    assert (await line.end_of("s-1", "t-1"))["content"] == "confirmed: True"
    line.say("s-1", "who", "t-2")
    told = json.loads((await line.end_of("s-1", "t-2"))["content"])
    assert told["session_config"] == {"max_turns": 3}


async def test_a_waiting_turn_whose_session_cannot_be_started_again_ends(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    first = make_manager()
    await first.start_session(start("s-1"))
    line.say("s-1", "ask", "t-1")
    await line.until("s-1", "approval_request")
    await crashed(first, line, home)
    (home.session("s-1") / "start.json").write_text("{torn")
    await restarted(make_manager)
    assert (await line.end_of("s-1", "t-1"))["code"] == "MACHINE_RESTARTED"


async def test_torn_files_of_other_sessions_do_not_stop_the_recovery(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    first = make_manager()
    await first.start_session(start("s-1"))
    line.say("s-1", "wait", "t-1")
    await line.until("s-1", "thinking")
    await crashed(first, line, home)
    for name, text in (("s-0", '{"open": 7}'), ("s-2", "\x00")):
        home.session(name).mkdir()
        (home.session(name) / "turn.json").write_text(text)
    (home.sessions / "a file").write_text("x")
    await restarted(make_manager)
    assert (await line.end_of("s-1", "t-1"))["code"] == "MACHINE_RESTARTED"


async def test_a_process_that_dies_while_its_turn_waits_comes_back_and_asks_again(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    line.say("s-1", "ask", "t-1")
    await line.until("s-1", "approval_request")
    await killed(manager.active_sessions["s-1"])
    await line.until("s-1", "approval_request", 2)
    assert line.events("s-1", "execution_error") == []
    line.tell("s-1", "approval_response", request_id="r-1", confirmed=False)
    assert (await line.end_of("s-1", "t-1"))["content"] == "confirmed: False"


async def test_a_process_that_keeps_dying_while_its_turn_waits_is_given_up(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    line.say("s-1", "ask", "t-1")
    for number in range(1, PROCESS_REVIVALS_MAX + 2):
        await line.until("s-1", "approval_request", number)
        await killed(manager.active_sessions["s-1"])
    assert (await line.end_of("s-1", "t-1"))["code"] == "SESSION_CRASHED"


async def killed(session: Session) -> None:
    async def alive() -> bool:
        return session.adapter.alive

    await eventually(alive)
    adapter = session.adapter
    assert isinstance(adapter, SessionProcess)
    adapter.kill()
    await until(lambda: not adapter.alive)


async def test_a_shutdown_ends_what_runs_and_keeps_what_waits(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    manager = make_manager()
    for name, word in (("s-1", "wait"), ("s-2", "ask")):
        await manager.start_session(start(name))
        line.say(name, word, f"t-{name}")
    await line.until("s-1", "thinking")
    await line.until("s-2", "approval_request")
    await manager.close()
    assert (await line.end_of("s-1", "t-s-1"))["code"] == "MACHINE_RESTARTED"
    assert line.events("s-2", "execution_error") == []
    assert [event["type"] for event in line.events("s-2")][-1] == "stopped"


async def two_left(make_manager: MakeManager, line: RecordingLine, home: Home) -> SessionManager:
    """A daemon after a restart: a turn of s-1 waits for a person, one of s-2 was running."""
    first = make_manager()
    for name, word in (("s-1", "ask"), ("s-2", "wait")):
        await first.start_session(start(name))
        line.say(name, word, f"t-{name}")
    await line.until("s-1", "approval_request")
    await line.until("s-2", "thinking")
    await crashed(first, line, home)
    second = make_manager()
    second.find_left()
    return second


async def test_what_is_no_session_among_the_sessions_keeps_none_from_being_recovered(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    await two_left(make_manager, line, home)
    waits = (home.session("s-1") / "turn.json").read_bytes()
    for name in (" copy of s-1", ".hidden", "a b", "é", "x" * 101):
        (home.sessions / name).mkdir()
        (home.sessions / name / "turn.json").write_bytes(waits)
    (home.sessions / "a-file").write_text("not a folder")
    home.session("s-0").mkdir()
    (home.session("s-0") / "turn.json").write_bytes(b'{"x":' + b"[" * 100_000)
    manager = await restarted(make_manager)
    assert manager.turns() == ["t-s-1"]
    assert manager.names() == ["s-1"]
    assert {session_id for session_id, _ in line.sent} <= {"s-1", "s-2"}
    assert (await line.end_of("s-2", "t-s-2"))["code"] == "MACHINE_RESTARTED"
    line.tell("s-1", "approval_response", request_id="r-1", confirmed=True)
    assert (await line.end_of("s-1", "t-s-1"))["content"] == "confirmed: True"
    assert (home.sessions / "a b").exists()


async def test_a_session_that_is_started_during_the_recovery_has_no_turn_that_never_ends(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    manager = await two_left(make_manager, line, home)
    recovering = asyncio.create_task(manager.recover())
    await asyncio.sleep(0)  # one turn of the loop: it has begun, and waits for a process
    assert manager.names() == ["s-1"]
    await manager.start_session(start("s-2"))
    await recovering
    assert (await line.end_of("s-2", "t-s-2"))["code"] == "MACHINE_RESTARTED"
    assert manager.active_sessions["s-2"].turns.open == []
    assert manager.turns() == ["t-s-1"]


async def test_a_session_that_is_started_before_the_recovery_ends_its_old_turn_once(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    manager = await two_left(make_manager, line, home)
    await manager.start_session(start("s-2"))
    await manager.start_session(start("s-1"))
    await manager.recover()
    ended = [event["turn_id"] for event in line.events("s-2", "execution_error")]
    assert ended == ["t-s-2"]
    assert manager.active_sessions["s-2"].turns.open == []
    assert line.events("s-1", "execution_error") == []
    assert manager.turns() == ["t-s-1"]
