"""Sessions on a machine: started, refused, told and stopped, each for itself."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import pids
from tests.support.eventually import until
from tests.support.recording_line import RecordingLine
from tests.unit.execution.session.conftest import MakeManager
from trunkline.execution.health import DEGRADED, WORKS
from trunkline.execution.home import Home
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.session.manager import SessionManager

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


def start(session_id: str, **fields: Any) -> Json:
    return {"session_id": session_id, "runtime_type": "semigraph", "agent_config": {}, **fields}


async def about(line: RecordingLine, session_id: str, turn_id: str) -> Json:
    """What a session's process says of itself."""
    line.say(session_id, "who", turn_id)
    found: Json = json.loads((await line.end_of(session_id, turn_id))["content"])
    return found


@pytest.mark.proves("004-5-handlers-after-start")
async def test_a_session_answers(manager: SessionManager, line: RecordingLine) -> None:
    await manager.start_session(start("s-1"))
    assert manager.names() == ["s-1"]
    line.say("s-1", "hello")
    assert (await line.end_of("s-1"))["content"] == "hello"
    assert [event["type"] for event in line.events("s-1")] == ["text_chunk", "execution_complete"]


async def test_messages_that_come_while_a_session_starts_keep_their_order(
    manager: SessionManager, line: RecordingLine
) -> None:
    starting = manager.start_session(start("s-1"))
    await until(lambda: "s-1" in line.sessions)
    for number in range(20):
        line.say("s-1", f"message {number}", f"t-{number}")
    await starting
    await line.end_of("s-1", "t-19")
    said = [event["content"] for event in line.events("s-1", "text_chunk")]
    assert said == [f"message {number}" for number in range(20)]


async def test_a_session_that_is_started_while_it_stops_comes_back_after_its_stop(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    stopping = manager.stop_session({"session_id": "s-1", "reason": "user_closed"})
    starting = manager.start_session(start("s-1"))
    assert "s-1" not in line.sessions  # what comes now is for the next start
    await starting
    assert stopping.done()
    line.say("s-1", "hello")
    assert (await line.end_of("s-1"))["content"] == "hello"


async def test_a_daemon_that_ends_starts_no_session(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.close()
    await manager.start_session(start("s-1"))
    assert (manager.names(), list(line.sessions)) == ([], [])


async def test_a_session_that_is_stopped_while_it_starts_is_gone(
    manager: SessionManager, line: RecordingLine
) -> None:
    starting = manager.start_session(start("s-1"))
    await manager.stop_session({"session_id": "s-1", "reason": "user_closed"})
    assert starting.done()
    assert (manager.names(), list(line.sessions)) == ([], [])


async def test_starting_a_session_that_runs_changes_nothing(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    first = await about(line, "s-1", "t-1")
    await manager.start_session(start("s-1", agent_config={"start": "crash"}))
    assert (await about(line, "s-1", "t-2"))["pid"] == first["pid"]


@pytest.mark.parametrize("runtime", ["openclaw", "SemiGraph", "", "x" * 500])
@pytest.mark.proves(
    "004-5-runtime-type-unknown",
    "004-4.10-no-fallback",
    "004-4.1-adapter-by-runtime-type",
)
async def test_an_unknown_runtime_is_refused_with_what_there_is_and_never_replaced(
    manager: SessionManager, line: RecordingLine, spawner: Spawner, runtime: str
) -> None:
    await manager.start_session(start("s-1", runtime_type=runtime))
    [event] = line.events("s-1")
    assert (event["type"], event["code"]) == ("execution_error", "RUNTIME_UNSUPPORTED")
    assert "semigraph" in event["error"]
    assert runtime[:20] in event["error"]
    assert manager.names() == []
    assert pids.below(await spawner.pid()) == set()


async def test_a_message_to_a_refused_session_is_answered_with_the_reason(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1", runtime_type="openclaw"))
    line.say("s-1", "hello", "t-7")
    assert (await line.end_of("s-1", "t-7"))["code"] == "RUNTIME_UNSUPPORTED"


async def test_one_session_too_many_is_refused_and_the_others_stay(
    make_manager: MakeManager, line: RecordingLine
) -> None:
    manager = make_manager(sessions_max=2)
    for name in ("s-1", "s-2", "s-3"):
        await manager.start_session(start(name))
    assert line.events("s-3")[0]["code"] == "SESSION_LIMIT"
    assert manager.names() == ["s-1", "s-2"]
    await manager.stop_session({"session_id": "s-1", "reason": "user_closed"})
    await manager.start_session(start("s-3"))
    assert manager.names() == ["s-2", "s-3"]


async def test_a_session_that_does_not_start_leaves_nothing_and_can_be_tried_again(
    manager: SessionManager, line: RecordingLine, spawner: Spawner, home: Home
) -> None:
    await manager.start_session(start("s-1", agent_config={"start": "crash"}))
    event = line.events("s-1")[0]
    assert (event["type"], event["code"]) == ("execution_error", "SESSION_START_FAILED")
    assert "exit code 9" in event["error"]
    assert manager.names() == []
    assert pids.below(await spawner.pid()) == set()
    await manager.start_session(start("s-1"))
    line.say("s-1", "hello")
    assert (await line.end_of("s-1"))["content"] == "hello"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"session_id": 7},
        {"session_id": "../up"},
        {"session_id": "a/b"},
        {"session_id": ""},
        {"session_id": "s-1", "agent_config": "none"},
        {"session_id": "s-1", "skill_index": [1]},
    ],
)
async def test_a_start_that_makes_no_sense_is_ignored(
    manager: SessionManager, line: RecordingLine, home: Home, data: Json
) -> None:
    await manager.start_session(data)
    assert manager.names() == []
    assert list(home.sessions.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "code"), [("crash 7", "SESSION_CRASHED"), ("kill", "SESSION_CRASHED")]
)
@pytest.mark.proves(
    "004-4.10-crash-is-the-sessions-own",
    "004-4.10-exit-is-reported",
    "004-5-handlers-after-start",
)
async def test_a_crash_ends_its_own_turn_and_nobody_elses(
    manager: SessionManager, line: RecordingLine, command: str, code: str
) -> None:
    for name in ("s-1", "s-2"):
        await manager.start_session(start(name))
    line.say("s-2", "wait", "t-2")
    line.say("s-1", command, "t-1")
    end = await line.end_of("s-1", "t-1")
    assert (end["type"], end["code"], end["turn_id"]) == ("execution_error", code, "t-1")
    assert end.get("exit_code") == 7 or end.get("signal") == "SIGKILL"
    assert line.events("s-2", "execution_error") == []
    line.tell("s-2", "cancel", reason="user_cancelled")
    assert (await line.end_of("s-2", "t-2"))["cancelled"] is True


async def test_the_next_message_after_a_crash_starts_a_new_process(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    first = await about(line, "s-1", "t-1")
    line.say("s-1", "crash", "t-2")
    await line.end_of("s-1", "t-2")
    assert manager.names() == ["s-1"]
    assert (await about(line, "s-1", "t-3"))["pid"] != first["pid"]


async def test_a_message_right_behind_the_death_of_an_idle_process_is_answered_by_the_next(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    first = await about(line, "s-1", "t-1")
    os.kill(first["pid"], signal.SIGKILL)
    while Path("/proc", str(first["pid"])).exists():
        time.sleep(0.001)  # not the event loop's turn: it has not heard of it yet
    assert (await about(line, "s-1", "t-2"))["pid"] != first["pid"]


async def test_a_message_that_comes_again_runs_once(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    for _ in range(2):
        line.say("s-1", "wait", "t-1")
    line.say("s-1", "last", "t-2")
    await line.end_of("s-1", "t-2")
    assert len(line.events("s-1", "thinking")) == 1


async def test_a_message_whose_end_was_lost_does_not_run_again_but_ends(
    manager: SessionManager, line: RecordingLine
) -> None:
    """The control plane sends a turn again only if it has not seen its end."""
    await manager.start_session(start("s-1"))
    line.say("s-1", "hello", "t-1")
    await line.end_of("s-1", "t-1")
    line.sent.clear()
    line.say("s-1", "hello", "t-1")
    [event] = line.events("s-1")
    assert (event["turn_id"], event["code"]) == ("t-1", "MACHINE_RESTARTED")


@pytest.mark.parametrize(
    "data", [{}, {"message": None}, {"message": ["hi"]}, {"message": "hi", "history": "none"}]
)
async def test_a_message_that_is_none_ends_its_turn_with_an_error(
    manager: SessionManager, line: RecordingLine, data: dict[str, Any]
) -> None:
    await manager.start_session(start("s-1"))
    line.tell("s-1", "user_message", **data, turn_id="t-1")
    end = await line.end_of("s-1")
    assert (end["turn_id"], end["code"]) == ("t-1", "INVALID_MESSAGE")


async def test_a_config_update_reaches_its_session_or_all_of_them(
    manager: SessionManager, line: RecordingLine
) -> None:
    for name in ("s-1", "s-2"):
        await manager.start_session(start(name))
    line.tell("s-1", "config_update", temperature=0.5)
    manager.config_update({"model": "m"})
    assert (await about(line, "s-1", "t-1"))["config"] == {"temperature": 0.5, "model": "m"}
    assert (await about(line, "s-2", "t-2"))["config"] == {"model": "m"}


async def test_a_config_update_outlives_the_process(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1", session_config={"max_turns": 3}))
    line.tell("s-1", "config_update", temperature=0.5)
    line.say("s-1", "crash", "t-1")
    await line.end_of("s-1", "t-1")
    told = (await about(line, "s-1", "t-2"))["session_config"]
    assert told == {"max_turns": 3, "temperature": 0.5}


@pytest.mark.proves(
    "000-9-api-keys-in-memory-only",
    "004-9-keys-in-memory-only",
    "004-4.1-keys-for-every-session",
)
async def test_keys_reach_the_process_through_its_socket_and_are_nowhere_else(
    manager: SessionManager, line: RecordingLine, home: Home
) -> None:
    manager.initialized({"api_keys": {"openai": "a-very-secret-key"}})
    await manager.start_session(start("s-1"))
    said = await about(line, "s-1", "t-1")
    assert said["keys"] == {"openai": "a-very-secret-key"}
    for pid in (said["pid"], said["parent"]):
        assert "secret" not in pids.environment(pid) + pids.command_line(pid)
    files = [path for path in home.root.rglob("*") if path.is_file()]
    assert files
    assert not any(b"secret" in path.read_bytes() for path in files)


async def test_a_cancel_on_a_session_without_a_process_does_nothing(
    manager: SessionManager, line: RecordingLine, spawner: Spawner
) -> None:
    await manager.start_session(start("s-1"))
    line.say("s-1", "crash", "t-1")
    await line.end_of("s-1", "t-1")
    line.tell("s-1", "cancel")
    line.tell("s-1", "config_update", temperature=0.5)
    await manager.stop_session({"session_id": "s-1", "reason": "timeout"})
    assert len(line.events("s-1")) == 1
    assert pids.below(await spawner.pid()) == set()


@pytest.mark.parametrize(
    ("reason", "is_kept"), [("user_closed", False), ("admin", False), ("timeout", True)]
)
@pytest.mark.proves("004-5-stop-session", "004-6-session-cleanup", "004-6-workspace-stays")
async def test_stopping_a_session_cleans_up_unless_it_may_come_back(
    manager: SessionManager,
    line: RecordingLine,
    home: Home,
    spawner: Spawner,
    reason: str,
    is_kept: bool,
) -> None:
    await manager.start_session(start("s-1"))
    (home.workspace / "kept.txt").write_text("mine")
    await manager.stop_session({"session_id": "s-1", "reason": reason})
    assert line.events("s-1", "stopped") == [{"type": "stopped", "reason": reason}]
    assert manager.names() == []
    assert "s-1" not in line.sessions
    assert home.session("s-1").exists() is is_kept
    assert (home.workspace / "kept.txt").exists()
    assert pids.below(await spawner.pid()) == set()


@pytest.mark.proves("004-5-stop-unknown-session")
async def test_stopping_what_does_not_run_is_harmless(manager: SessionManager) -> None:
    for data in ({}, {"session_id": "s-9"}, {"session_id": "../..", "reason": "admin"}):
        await manager.stop_session(data)


async def test_a_turn_that_runs_when_its_session_is_closed_ends(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    line.say("s-1", "wait")
    await line.until("s-1", "thinking")
    await manager.stop_session({"session_id": "s-1", "reason": "timeout"})
    assert (await line.end_of("s-1"))["code"] == "SESSION_CLOSED"


async def test_readers_learn_what_works_when_the_line_changes(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    manager.line_changed(False)
    manager.line_changed(True)
    down, up = line.events("s-1", "session_status")
    assert (down["machine"], down["works"]) == ("degraded", list(WORKS))
    assert down["degraded"] == list(DEGRADED)
    assert (up["machine"], up["degraded"]) == ("online", [])
