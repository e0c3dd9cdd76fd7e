"""Sessions that rest are bounded in number: the oldest are let go, and nobody misses them."""

import pytest

from tests.support.clock import Clock
from tests.support.eventually import until
from tests.support.recording_line import RecordingLine
from tests.unit.execution.session.conftest import MakeManager
from tests.unit.execution.session.test_manager import about, start
from trunkline.execution.home import Home
from trunkline.execution.session.manager import SESSION_IDLE_S, SessionManager
from trunkline.execution.session.session import Session

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def rested(manager: SessionManager, clock: Clock, *names: str) -> None:
    """Those sessions, one after the other, were started and left alone for long; their state is
    safe with the control plane."""
    for name in names:
        await manager.start_session(start(name, session_config={"of": name}))
        session = manager.active_sessions[name]
        clock.now += SESSION_IDLE_S
        await at_rest(manager, session)
        await manager.snapshots.take(session)


async def at_rest(manager: SessionManager, session: Session) -> None:
    manager.rest_idle()
    await until(lambda: session.is_resting)


async def test_of_too_many_that_rest_the_oldest_are_let_go_and_keep_their_files(
    make_manager: MakeManager, home: Home
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock, resting_max=2)
    await rested(manager, clock, "s-1", "s-2", "s-3", "s-4")
    manager.rest_idle()
    assert manager.names() == ["s-3", "s-4"]
    assert manager.counts() == {"running": 0, "resting": 2}
    assert (home.session("s-1") / "start.json").exists()


async def test_a_session_with_a_process_is_not_let_go(make_manager: MakeManager) -> None:
    manager = make_manager(monotonic=Clock(), resting_max=0)
    await manager.start_session(start("s-1"))
    manager.rest_idle()
    assert manager.names() == ["s-1"]


async def test_a_message_that_crosses_the_news_is_answered_with_what_the_session_was_told(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock, resting_max=0)
    await rested(manager, clock, "s-1")
    manager.rest_idle()
    assert manager.names() == []
    line.tell("s-1", "config_update", temperature=0.5)
    assert manager.names() == ["s-1"]
    assert manager.counts() == {"running": 0, "resting": 1}  # that alone takes no process
    await at_rest(manager, manager.active_sessions["s-1"])
    manager.rest_idle()
    assert manager.names() == []
    told = await about(line, "s-1", "t-1")
    assert told["session_config"] == {"of": "s-1", "temperature": 0.5}
    line.say("s-1", "hello", "t-2")
    assert (await line.end_of("s-1", "t-2"))["content"] == "hello"
    assert line.events("s-1", "execution_error") == []


async def test_one_that_was_let_go_is_started_again_with_the_keys_of_now(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock, resting_max=0)
    manager.initialized({"api_keys": {"openai": "old"}})
    await rested(manager, clock, "s-1", "s-2")
    manager.rest_idle()
    manager.initialized({"api_keys": {"openai": "new"}})
    await manager.start_session(start("s-1"))
    assert (await about(line, "s-1", "t-1"))["keys"] == {"openai": "new"}
    assert (await about(line, "s-2", "t-1"))["keys"] == {"openai": "new"}


async def test_one_whose_last_state_was_not_sent_is_kept(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock, resting_max=0)
    line.online = False
    await manager.start_session(start("s-1"))
    line.say("s-1", "remember this")
    await line.end_of("s-1")
    clock.now += SESSION_IDLE_S
    session = manager.active_sessions["s-1"]
    await at_rest(manager, session)
    manager.rest_idle()
    assert manager.names() == ["s-1"]
    line.online = True
    await manager.snapshots.take(session)
    manager.rest_idle()
    assert manager.names() == []
    assert [method for _, method, _ in line.reports] == ["snapshot_sync"]


async def test_one_that_is_closed_after_it_was_let_go_leaves_nothing(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock, resting_max=0)
    await rested(manager, clock, "s-1")
    manager.rest_idle()
    await manager.stop_session({"session_id": "s-1", "reason": "user_closed"})
    assert line.sessions == {}
    assert not home.session("s-1").exists()


@pytest.mark.parametrize("content", [None, b"", b'{"x":' + b"[" * 100_000])
async def test_one_that_cannot_be_found_again_says_so_and_can_be_started(
    make_manager: MakeManager, line: RecordingLine, home: Home, content: bytes | None
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock, resting_max=0)
    await rested(manager, clock, "s-1")
    manager.rest_idle()
    file = home.session("s-1") / "start.json"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    line.say("s-1", "hello")
    [event] = line.events("s-1", "execution_error")
    assert event["code"] == "SESSION_START_FAILED"
    await manager.start_session(start("s-1"))
    line.say("s-1", "hello", "t-2")
    assert (await line.end_of("s-1", "t-2"))["content"] == "hello"


async def test_those_that_were_let_go_are_bounded_too(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    clock = Clock()
    manager = make_manager(monotonic=clock, resting_max=0, retired_max=2)
    await rested(manager, clock, "s-1", "s-2", "s-3")
    manager.rest_idle()
    assert sorted(line.sessions) == ["s-2", "s-3"]
