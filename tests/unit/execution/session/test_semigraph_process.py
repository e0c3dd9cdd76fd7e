"""A session's process as the daemon sees it: start, ready, settings, stop, death, going on."""

from structlog.testing import capture_logs

from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.conftest import daemon as daemon
from tests.unit.execution.orchestrator.conftest import model as model
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.session import ipc


async def test_a_session_that_cannot_be_opened_says_why_and_ends(daemon: Daemon) -> None:
    (daemon.home.sessions / "s1").write_text("a file where a folder should be")
    with capture_logs():
        await daemon.start()
    assert daemon.ready is None
    assert daemon.error is not None
    assert daemon.error.message
    assert await daemon.process == 1


async def test_what_a_session_has_to_do_without_is_said_when_it_is_ready(daemon: Daemon) -> None:
    skill = {
        "id": "k1",
        "name": "pdf",
        "description": "reads PDF",
        "requires": {"binaries": ["no-such-program"]},
    }
    await daemon.start(skill_index=[skill], agent_config={"temperature": "hot", "max_tokens": -1})
    assert daemon.ready is not None
    told = " ".join(daemon.ready.problems)
    assert "no-such-program" in told
    assert "temperature" in told
    assert "max_tokens" in told


async def test_a_ping_is_answered_in_the_middle_of_a_turn(
    daemon: Daemon, model: ModelServer
) -> None:
    gate = Gate()
    model.script(Turn(chunks=["a", gate]))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("text_chunk")
    await daemon.settled()
    assert daemon.pongs == 1
    gate.open()
    await daemon.end(turn)


async def test_new_settings_hold_from_the_next_model_call(
    daemon: Daemon, model: ModelServer
) -> None:
    call = ToolUse(name="bash", arguments={"command": "until [ -e go ]; do sleep 0.01; done"})
    model.script(Turn(tool_calls=[call]), Turn(text="ok"))
    await daemon.start(agent_config={"system_prompt": "old", "temperature": 0.1})
    turn = daemon.say("go")
    await daemon.event("tool_call_start")
    patch = {"system_prompt": "new", "temperature": 0.9, "model": "gpt-other", "max_tokens": 77}
    daemon.send(ipc.ConfigUpdate(data=patch | {"tools": ["bash"]}))
    await daemon.settled()
    (daemon.home.workspace / "go").touch()
    await daemon.end(turn)
    before, after = model.requests
    assert "old" in before.system
    assert (before.model, before.body["temperature"]) == ("gpt-scripted", 0.1)
    assert "new" in after.system
    assert (after.model, after.body["temperature"]) == ("gpt-other", 0.9)
    assert "read_file" in before.tool_names
    assert "read_file" not in after.tool_names
    assert "77" in str(after.body)


async def test_settings_that_are_no_good_are_ignored(daemon: Daemon, model: ModelServer) -> None:
    model.script(Turn(text="ok"))
    await daemon.start(agent_config={"temperature": 0.1})
    bad = {
        "temperature": "warm",
        "max_tokens": 10**12,
        "confirm": "sometimes",
        "model": ["gpt"],
        "tools": "bash",
        "no_such_setting": 1,
        "max_turns": 0,
    }
    daemon.send(ipc.ConfigUpdate(data=bad))
    assert (await daemon.ask("go"))["content"] == "ok"
    request = model.requests[0]
    assert (request.model, request.body["temperature"]) == ("gpt-scripted", 0.1)


async def test_stop_ends_the_running_turn_and_the_process_with_zero(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(chunks=["half", Gate()]), Turn(text="on we go"))
    await daemon.start()
    turn, waiting = daemon.say("go"), daemon.say("later")
    await daemon.event("text_chunk")
    assert await daemon.stop() == 0
    for each in (turn, waiting):
        end = await daemon.end(each)
        assert (end["type"], end["code"]) == ("execution_error", "SESSION_STOPPED")
    await daemon.start()
    assert (await daemon.ask("again"))["content"] == "on we go"
    said = [text for _, text in model.requests[1].said]
    assert said == ["go", "half", "again"]


async def test_a_daemon_that_is_gone_ends_the_process_and_its_tools(
    daemon: Daemon, model: ModelServer
) -> None:
    call = ToolUse(name="bash", arguments={"command": "touch begun; sleep 600; touch ended"})
    model.script(Turn(tool_calls=[call]), Turn(text="ok"))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("tool_call_start")
    assert await daemon.drop() == 1
    assert daemon.ends(turn) == []
    await daemon.start()
    assert (await daemon.ask("what happened?"))["content"] == "ok"
    results = [text for role, text in model.requests[1].said if role == "tool"]
    assert len(results) == 1
    assert "not finished" in results[0]


async def test_an_open_turn_that_no_longer_waits_is_ended_by_the_next_process(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(chunks=["half", Gate()]))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("text_chunk")
    await daemon.drop()
    await daemon.start(turn_id=turn)
    end = await daemon.end(turn)
    assert (end["type"], end["code"]) == ("execution_error", "SESSION_CRASHED")


async def test_an_unexpected_fault_ends_the_turn_and_not_the_process(
    daemon: Daemon, model: ModelServer
) -> None:
    model.otherwise(lambda _: Turn(text="ok"))
    await daemon.start()
    await daemon.ask("one")
    checkpoints = daemon.home.session("s1") / "checkpoints"
    checkpoints.rename(checkpoints.with_name("away"))
    checkpoints.write_text("a file where a folder should be")
    with capture_logs() as logged:
        end = await daemon.ask("two")
    assert (end["type"], end["code"]) == ("execution_error", "TURN_FAILED")
    assert end["error"]
    assert "turn failed" in [one["event"] for one in logged]
    checkpoints.unlink()
    checkpoints.with_name("away").rename(checkpoints)
    assert (await daemon.ask("three"))["content"] == "ok"


async def test_lines_that_are_no_messages_are_passed_over(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="ok"))
    await daemon.start()
    daemon.send_raw(b"nonsense\n{}\n[]\n" + b'{"type":"no_such_type"}\n{"type":"start"}\n')
    assert (await daemon.ask("hi"))["content"] == "ok"
