"""Turns that wait for a person and go on in another process: nothing starts anew there."""

from typing import Any

import pytest

from tests.support.clock import Clock
from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.session import ipc

AGENTS = [{"id": "a-1", "name": "researcher"}, {"id": "a-2", "name": "helper"}]
ASK = ToolUse(name="ask_user", arguments={"question": "May I?"})
SECRET = "sk-of-a-server-1234567890"


def task(agent: str, call_id: str | None = None) -> ToolUse:
    return ToolUse(name="delegate", arguments={"agent": agent, "task": "go"}, id=call_id)


def bash(command: str, call_id: str | None = None) -> ToolUse:
    return ToolUse(name="bash", arguments={"command": command}, id=call_id)


async def restart(daemon: Daemon, turn: str, **config: Any) -> None:
    """Another process, which has asked what was open."""
    asked = len(daemon.of_type("approval_request"))
    await daemon.drop()
    await daemon.start(turn_id=turn, **config)
    await daemon.event("approval_request", asked)


async def pass_time(daemon: Daemon, seconds: float) -> None:
    assert isinstance(daemon.clock, Clock)
    await daemon.clock.pass_time(seconds)
    await daemon.settled()


@pytest.mark.parametrize("restarts", [0, 1, 2])
async def test_a_turn_has_the_same_time_to_work_whatever_is_restarted_while_it_waits(
    timed: Daemon, model: ModelServer, restarts: int
) -> None:
    gates = [Gate(), Gate()]
    model.script(Turn(gate=gates[0], tool_calls=[ASK]), Turn(gate=gates[1], text="too late"))
    config: dict[str, Any] = {"session_config": {"timeout_seconds": 100}}
    await timed.start(**config)
    turn = timed.say("go")
    await gates[0].reached.wait()
    await pass_time(timed, 60)
    gates[0].open()
    asked = await timed.event("approval_request")
    for _ in range(restarts):
        await pass_time(timed, 50)
        await restart(timed, turn, **config)
    await pass_time(timed, 150)
    timed.answer(asked["request_id"], True)
    await gates[1].reached.wait()
    await pass_time(timed, 39)
    assert timed.ends(turn) == []
    await pass_time(timed, 2)
    assert (await timed.end(turn))["code"] == "TURN_TIMEOUT"


async def test_a_turn_that_has_no_time_left_does_not_begin_what_was_approved(
    timed: Daemon, model: ModelServer
) -> None:
    gate = Gate()
    model.script(Turn(gate=gate, tool_calls=[bash("touch made")]))
    careful = {"confirm": "always"}
    await timed.start(agent_config=careful)
    turn = timed.say("go")
    await gate.reached.wait()
    await pass_time(timed, 60)
    gate.open()
    await timed.event("approval_request")
    await timed.drop()
    await timed.start(turn_id=turn, agent_config=careful, session_config={"timeout_seconds": 50})
    assert (await timed.end(turn))["code"] == "TURN_TIMEOUT"
    assert timed.of_type("tool_call_start") == []
    assert not (timed.home.workspace / "made").exists()


@pytest.mark.parametrize("agents", [["researcher"], ["researcher", "helper"]])
@pytest.mark.parametrize("restarted", [False, True])
async def test_what_a_person_approved_for_a_sub_agent_is_done_while_the_line_is_down(
    daemon: Daemon, model: ModelServer, restarted: bool, agents: list[str]
) -> None:
    config: dict[str, Any] = {
        "model": "gpt-small",
        "system_prompt": "You help.",
        "confirm": "always",
    }
    config["mcp_servers"] = config["openclaw_config"] = {"env": {"KEY": SECRET}}
    last = {"agent_id": {"researcher": "a-1", "helper": "a-2"}[agents[-1]]}
    daemon.answers["get_config"] = lambda asked: {
        "config": config if asked == last else {"sub_agents": ["a-2"]}
    }
    model.script(*(Turn(tool_calls=[task(name)]) for name in agents))
    model.script(Turn(tool_calls=[bash("touch made")]))
    model.otherwise(lambda _: Turn(text="done"))
    await daemon.start(sub_agents=AGENTS)
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    down = ipc.ErrorBody(code="CONNECTION_LOST", message="the line is down")
    daemon.answers["get_config"] = daemon.answers["memory_search"] = lambda _: down
    if restarted:
        await restart(daemon, turn, sub_agents=AGENTS)
    daemon.answer(asked["request_id"], True)
    assert (await daemon.end(turn))["content"] == "done"
    assert [one["is_error"] for one in daemon.of_type("tool_call_complete")] == [False] * (
        len(agents) + 1
    )
    assert (daemon.home.workspace / "made").exists()
    resumed = model.requests[len(agents) + 1]
    assert (resumed.model, "You help." in resumed.system) == ("gpt-small", True)
    files = [one for one in daemon.home.root.rglob("*") if one.is_file()]
    assert any(b"You help." in one.read_bytes() for one in files)
    assert not any(SECRET.encode() in one.read_bytes() for one in files)


async def test_tool_calls_after_a_restart_have_other_ids_than_those_of_sub_agents_before(
    daemon: Daemon, model: ModelServer
) -> None:
    daemon.answers["get_config"] = lambda _: {"config": {}}
    model.script(
        Turn(tool_calls=[task("researcher", "call_1")]),
        Turn(tool_calls=[bash("echo theirs", "call_2")]),
        Turn(text="found"),
        Turn(tool_calls=[ASK]),
        Turn(tool_calls=[bash("echo mine", "call_2")]),
        Turn(text="ok"),
    )
    await daemon.start(sub_agents=AGENTS)
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    await restart(daemon, turn, sub_agents=AGENTS)
    daemon.answer(asked["request_id"], True)
    await daemon.end(turn)
    started = daemon.of_type("tool_call_start")
    names = [one["tool_name"] for one in started]
    assert names == ["delegate", "bash", "ask_user", "bash"]
    assert len({one["tool_call_id"] for one in started}) == len(started)


@pytest.mark.parametrize("ended", ["answered", "cancelled"])
async def test_what_a_turn_took_before_restarts_is_in_its_usage(
    daemon: Daemon, model: ModelServer, ended: str
) -> None:
    daemon.answers["get_config"] = lambda _: {"config": {"model": "gpt-small"}}
    model.script(
        Turn(tool_calls=[task("researcher")], tokens_in=1, tokens_out=2),
        Turn(tool_calls=[ASK], tokens_in=10, tokens_out=20, cache_read=5),
        Turn(tool_calls=[ASK], tokens_in=100, tokens_out=200),
    )
    model.otherwise(lambda _: Turn(text="done", tokens_in=1000, tokens_out=2000))
    await daemon.start(sub_agents=AGENTS)
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    await restart(daemon, turn, sub_agents=AGENTS)
    daemon.answer(asked["request_id"], True)
    asked = await daemon.event("approval_request", 2)
    await restart(daemon, turn, sub_agents=AGENTS)
    if ended == "answered":
        daemon.answer(asked["request_id"], True)
    else:
        daemon.send(ipc.Cancel())
    await daemon.end(turn)
    (usage,) = daemon.of_type("usage")
    whole = ended == "answered"
    assert (usage["calls"], usage["tokens_in"], usage["tokens_out"]) == (
        (5, 2111, 4222) if whole else (3, 111, 222)
    )
    assert usage["models"]["gpt-small"]["calls"] == (3 if whole else 2)
    assert usage["models"]["gpt-small"]["cache_read_tokens"] == 5
