"""Sessions that nobody uses: they give their process back, and go on when they are spoken to."""

import pytest

from tests.support import pids
from tests.support.clock import Clock
from tests.support.eventually import until
from tests.support.recording_line import RecordingLine
from tests.unit.execution.session.conftest import MakeManager
from tests.unit.execution.session.test_manager import about, start
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.session.manager import SESSION_IDLE_S, SESSION_ROOM_S

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def processes(spawner: Spawner, count: int) -> None:
    server = await spawner.pid()
    await until(lambda: len(pids.below(server)), lambda found: found == count)


async def test_an_idle_session_has_no_process_and_still_answers(
    make_manager: MakeManager, line: RecordingLine, spawner: Spawner
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock)
    await manager.start_session(start("s-1"))
    before = await about(line, "s-1", "t-1")
    clock.now += SESSION_IDLE_S
    manager.rest_idle()
    await processes(spawner, 0)
    assert manager.names() == ["s-1"]  # it is still this machine's
    after = await about(line, "s-1", "t-2")
    assert before["pid"] != after["pid"]
    assert line.events("s-1", "execution_error") == []


async def test_a_session_in_a_turn_does_not_rest(
    make_manager: MakeManager, line: RecordingLine, spawner: Spawner
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock)
    await manager.start_session(start("s-1"))
    line.say("s-1", "ask", "t-1")
    await line.until("s-1", "approval_request")
    clock.now += 10 * SESSION_IDLE_S
    manager.rest_idle()
    line.tell("s-1", "approval_response", request_id="q-1", confirmed=True)
    assert (await line.end_of("s-1", "t-1"))["content"] == "confirmed: True"


async def test_a_session_whose_commands_run_in_the_background_does_not_rest(
    make_manager: MakeManager, line: RecordingLine, spawner: Spawner
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock)
    await manager.start_session(start("s-1"))
    session = manager.active_sessions["s-1"]
    line.say("s-1", "work", "t-1")
    await line.end_of("s-1", "t-1")
    await until(lambda: session.adapter.is_working)
    clock.now += 10 * SESSION_IDLE_S
    manager.rest_idle()
    assert session.is_awake
    line.say("s-1", "idle", "t-2")
    await line.end_of("s-1", "t-2")
    await until(lambda: not session.adapter.is_working)
    clock.now += 10 * SESSION_IDLE_S
    manager.rest_idle()
    await processes(spawner, 0)


async def test_a_session_that_was_idle_for_a_while_makes_room_for_another(
    make_manager: MakeManager, line: RecordingLine, spawner: Spawner
) -> None:
    clock = Clock()
    manager = make_manager(sessions_max=2, monotonic=clock)
    await manager.start_session(start("s-1"))
    await manager.start_session(start("s-2"))
    clock.now += SESSION_ROOM_S
    line.say("s-2", "hello")
    await line.end_of("s-2")
    await manager.start_session(start("s-3"))
    line.say("s-3", "hello")
    assert (await line.end_of("s-3"))["content"] == "hello"
    await processes(spawner, 2)
    # The one that rested comes back as soon as there is room, and says so when there is none.
    line.say("s-1", "hello", "t-2")
    end = await line.end_of("s-1", "t-2")
    assert end["code"] == "SESSION_START_FAILED"
    assert "2 sessions already" in end["error"]
    clock.now += SESSION_ROOM_S
    line.say("s-1", "hello", "t-3")
    assert (await line.end_of("s-1", "t-3"))["content"] == "hello"


async def test_other_keys_hold_from_the_next_turn_on(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    manager = make_manager()
    manager.initialized({"api_keys": {"openai": "old"}})
    await manager.start_session(start("s-1"))
    line.say("s-1", "ask", "t-1")
    await line.until("s-1", "approval_request")
    manager.initialized({"api_keys": {"openai": "new"}})
    line.tell("s-1", "approval_response", request_id="q-1", confirmed=True)
    await line.end_of("s-1", "t-1")  # the running turn is left alone
    assert (await about(line, "s-1", "t-2"))["keys"] == {"openai": "new"}


async def test_the_same_keys_again_change_nothing(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    manager = make_manager()
    manager.initialized({"api_keys": {"openai": "old"}})
    await manager.start_session(start("s-1"))
    before = await about(line, "s-1", "t-1")
    manager.initialized({"api_keys": {"openai": "old"}})
    assert (await about(line, "s-1", "t-2"))["pid"] == before["pid"]


async def test_a_line_that_comes_and_goes_keeps_no_idle_session_awake(
    make_manager: MakeManager, line: RecordingLine, spawner: Spawner
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock)
    await manager.start_session(start("s-1"))
    line.say("s-1", "hello")
    await line.end_of("s-1")
    clock.now += SESSION_IDLE_S
    manager.line_changed(False)
    manager.rest_idle()
    await processes(spawner, 0)


async def test_a_wall_clock_that_is_set_forward_ends_no_process(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    wall = Clock()
    manager = make_manager(clock=wall, monotonic=Clock())
    await manager.start_session(start("s-1"))
    before = await about(line, "s-1", "t-1")
    wall.now += 10 * SESSION_IDLE_S
    manager.rest_idle()
    assert (await about(line, "s-1", "t-2"))["pid"] == before["pid"]


async def test_sessions_with_a_process_and_those_that_rest_are_counted_apart(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock)
    await manager.start_session(start("s-1"))
    clock.now += SESSION_IDLE_S
    await manager.start_session(start("s-2"))
    assert manager.counts() == {"running": 2, "resting": 0}
    manager.rest_idle()
    assert manager.counts() == {"running": 1, "resting": 1}
    line.say("s-1", "hello")
    await line.end_of("s-1")
    assert manager.counts() == {"running": 2, "resting": 0}
