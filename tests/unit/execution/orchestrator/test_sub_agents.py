"""Delegation: another agent's prompt, model and tools, in the same turn."""

from typing import Any

import pytest

from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.session import ipc

AGENTS = [{"id": "a-1", "name": "researcher", "description": "finds things out"}]
DEEP = [*AGENTS, {"id": "a-2", "name": "reader", "description": "reads"}]
TASK = ToolUse(name="delegate", arguments={"agent": "researcher", "task": "find the answer"})
DEEPER = ToolUse(name="delegate", arguments={"agent": "reader", "task": "read"})
ASK = ToolUse(name="ask_user", arguments={"question": "May I?"})
MAKE = ToolUse(name="bash", arguments={"command": "touch made; echo did it"})


@pytest.fixture
def config(daemon: Daemon) -> dict[str, Any]:
    """The sub-agent's, as the control plane has it."""
    kept: dict[str, Any] = {
        "system_prompt": "You research.",
        "model": "gpt-small",
        "tools": ["bash"],
        "name": "researcher",
    }
    daemon.answers["get_config"] = lambda params: {"config": kept}
    return kept


@pytest.mark.proves("004-5-sub-agents")
async def test_a_sub_agent_works_with_its_own_prompt_model_and_tools(
    daemon: Daemon, model: ModelServer, config: dict[str, Any]
) -> None:
    model.script(
        Turn(tool_calls=[TASK]),
        Turn(text="I look.", tool_calls=[MAKE]),
        Turn(text="It is 42."),
        Turn(text="They say 42."),
    )
    await daemon.start(sub_agents=AGENTS)
    end = await daemon.ask("ask them")
    assert end["content"] == "They say 42."
    assert [one.params for one in daemon.requests if one.method == "get_config"] == [
        {"agent_id": "a-1"}
    ]
    first, nested, _, last = model.requests
    assert "researcher: finds things out" in str(first.body["tools"])
    assert (nested.model, nested.prompt) == ("gpt-small", "find the answer")
    assert "You research." in nested.system
    assert "read_file" not in nested.tool_names
    assert last.tool_results == ["It is 42."]
    agents = {one.get("agent") for one in daemon.of_type("text_chunk")}
    assert agents == {"researcher", None}
    inner = [one for one in daemon.of_type("tool_call_complete") if one["tool_name"] == "bash"]
    assert [one["agent"] for one in inner] == ["researcher"]
    assert len(daemon.of_type("execution_complete")) == 1
    usage = await daemon.event("usage")
    assert usage["calls"] == 4


async def test_the_sub_agents_text_is_no_part_of_the_conversation(
    daemon: Daemon, model: ModelServer, config: dict[str, Any]
) -> None:
    model.script(Turn(tool_calls=[TASK]), Turn(text="inner"), Turn(text="outer"), Turn(text="ok"))
    await daemon.start(sub_agents=AGENTS)
    await daemon.ask("one")
    await daemon.ask("two")
    roles = [one["role"] for one in model.requests[3].messages if one["role"] != "system"]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


async def test_delegation_ends_at_the_second_level(
    daemon: Daemon, model: ModelServer, config: dict[str, Any]
) -> None:
    config["sub_agents"] = ["a-1", "a-2"]
    model.script(
        Turn(tool_calls=[TASK]),
        Turn(tool_calls=[DEEPER]),
        Turn(tool_calls=[TASK]),
        Turn(text="no one left to ask"),
        Turn(text="level 1"),
        Turn(text="level 0"),
    )
    await daemon.start(sub_agents=DEEP)
    assert (await daemon.ask("go"))["content"] == "level 0"
    offered = ["delegate" in one.tool_names for one in model.requests[:3]]
    assert offered == [True, True, False]
    assert "no tool named 'delegate'" in model.requests[3].tool_results[0]


async def test_a_question_of_a_sub_agent_survives_a_restart(
    daemon: Daemon, model: ModelServer, config: dict[str, Any]
) -> None:
    config["confirm"] = "always"
    model.script(
        Turn(tool_calls=[TASK]), Turn(tool_calls=[MAKE]), Turn(text="made"), Turn(text="good")
    )
    await daemon.start(sub_agents=AGENTS)
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    assert (asked["agent"], asked["tool_name"]) == ("researcher", "bash")
    await daemon.drop()
    await daemon.start(sub_agents=AGENTS, turn_id=turn)
    again = await daemon.event("approval_request", 1)
    assert again["request_id"] == asked["request_id"]
    daemon.answer(again["request_id"], True)
    assert (await daemon.end(turn))["content"] == "good"
    assert (daemon.home.workspace / "made").exists()
    started = [one["tool_name"] for one in daemon.of_type("tool_call_start")]
    assert started == ["delegate", "bash"]
    assert model.requests[3].tool_results == ["made"]


@pytest.mark.parametrize("ended", ["answered", "cancelled"])
@pytest.mark.parametrize("restarted", [False, True])
async def test_tasks_that_wait_for_a_person_start_once_and_end_once(
    daemon: Daemon, model: ModelServer, config: dict[str, Any], restarted: bool, ended: str
) -> None:
    config["sub_agents"] = ["a-2"]
    model.script(Turn(tool_calls=[TASK]), Turn(tool_calls=[DEEPER]))
    model.script(Turn(tool_calls=[ASK]))
    model.otherwise(lambda _: Turn(text="done"))
    await daemon.start(sub_agents=DEEP)
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    assert "above" not in asked
    if restarted:
        await daemon.drop()
        await daemon.start(sub_agents=DEEP, turn_id=turn)
        await daemon.event("approval_request", 1)
    if ended == "answered":
        daemon.answer(asked["request_id"], True)
    else:
        daemon.send(ipc.Cancel())
    await daemon.end(turn)
    started = daemon.of_type("tool_call_start")
    assert [one["tool_name"] for one in started][:2] == ["delegate", "delegate"]
    expected = [(one["tool_call_id"], one.get("agent")) for one in reversed(started)]
    assert len(set(expected)) == (3 if ended == "answered" else 2)
    completed = daemon.of_type("tool_call_complete")
    found = [(one["tool_call_id"], one.get("agent")) for one in completed]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert {one["is_error"] for one in completed} == {ended == "cancelled"}


async def test_a_sub_agent_is_never_less_careful_than_the_agent_that_asks(
    daemon: Daemon, model: ModelServer, config: dict[str, Any]
) -> None:
    model.script(
        Turn(tool_calls=[TASK]), Turn(tool_calls=[MAKE]), Turn(text="well"), Turn(text="ok")
    )
    await daemon.start(sub_agents=AGENTS, agent_config={"confirm": "dangerous"})
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    assert asked["tool_name"] == "bash"
    daemon.answer(asked["request_id"], False)
    await daemon.end(turn)
    assert not (daemon.home.workspace / "made").exists()


async def test_a_session_made_more_careful_is_so_for_the_sub_agent_that_runs(
    daemon: Daemon, model: ModelServer, config: dict[str, Any]
) -> None:
    gate = Gate()
    model.script(
        Turn(tool_calls=[TASK]),
        Turn(chunks=["hm", gate], tool_calls=[MAKE]),
        Turn(text="well"),
        Turn(text="ok"),
    )
    await daemon.start(sub_agents=AGENTS)
    turn = daemon.say("go")
    await gate.reached.wait()
    daemon.send(ipc.ConfigUpdate(data={"confirm": "always"}))
    await daemon.settled()
    gate.open()
    asked = await daemon.event("approval_request")
    assert (asked["agent"], asked["tool_name"]) == ("researcher", "bash")
    daemon.answer(asked["request_id"], False)
    await daemon.end(turn)
    assert not (daemon.home.workspace / "made").exists()


@pytest.mark.parametrize("restarted", [False, True])
async def test_tool_calls_of_agents_that_count_alike_have_ids_of_their_own(
    daemon: Daemon, model: ModelServer, config: dict[str, Any], restarted: bool
) -> None:
    config["confirm"] = "always" if restarted else "never"
    task = ToolUse(name="delegate", arguments=TASK.arguments, id="call_1")
    first = ToolUse(name="ask_user", arguments={"question": "May I?"}, id="call_0")
    make = ToolUse(name="bash", arguments=MAKE.arguments, id="call_1")
    model.script(
        Turn(tool_calls=[task]),
        Turn(tool_calls=[first]),
        Turn(tool_calls=[make]),
        Turn(text="made"),
        Turn(text="good"),
    )
    await daemon.start(sub_agents=AGENTS)
    turn = daemon.say("go")
    await daemon.event("approval_request")
    if restarted:
        await daemon.drop()
        await daemon.start(sub_agents=AGENTS, turn_id=turn)
        await daemon.event("approval_request", 1)
    asked = daemon.of_type("approval_request")[-1]
    daemon.answer(asked["request_id"], True)
    if restarted:
        asked = await daemon.event("approval_request", 2)
        daemon.answer(asked["request_id"], True)
    assert (await daemon.end(turn))["content"] == "good"
    started = [one["tool_call_id"] for one in daemon.of_type("tool_call_start")]
    completed = [one["tool_call_id"] for one in daemon.of_type("tool_call_complete")]
    assert len(set(started)) == 3
    assert sorted(started) == sorted(completed)


async def test_cancel_ends_the_sub_agents_stream_too(
    daemon: Daemon, model: ModelServer, config: dict[str, Any]
) -> None:
    model.script(Turn(tool_calls=[TASK]), Turn(chunks=["thinking", Gate()]), Turn(text="ok"))
    await daemon.start(sub_agents=AGENTS)
    turn = daemon.say("go")
    await daemon.event("text_chunk")
    daemon.send(ipc.Cancel())
    assert (await daemon.end(turn))["cancelled"] is True
    await model.requests[1].disconnected.wait()
    await daemon.ask("next")
    contents = [text for _, text in model.requests[2].said]
    assert "thinking" not in contents


@pytest.mark.parametrize(
    "said",
    [
        ipc.ErrorBody(code="CONNECTION_LOST", message="the line is down"),
        ipc.ErrorBody(code="AGENT_NOT_FOUND", message="no such agent"),
        {"config": "nonsense"},
    ],
)
async def test_a_sub_agent_that_cannot_be_asked_is_an_error_for_the_model(
    daemon: Daemon, model: ModelServer, said: object
) -> None:
    daemon.answers["get_config"] = lambda _: said
    model.script(Turn(tool_calls=[TASK]), Turn(text="then not"))
    await daemon.start(sub_agents=[*AGENTS, {"id": 5}, {"name": "no id"}])
    assert (await daemon.ask("go"))["content"] == "then not"
    assert "researcher" in model.requests[1].tool_results[0]
    assert daemon.of_type("tool_call_complete")[0]["is_error"] is True


async def test_an_agent_without_sub_agents_has_nobody_to_delegate_to(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="ok"))
    await daemon.start()
    await daemon.ask("go")
    assert "delegate" not in model.requests[0].tool_names


@pytest.mark.parametrize(
    ("own", "offered"),
    [
        ([], None),
        (["a-1"], None),  # itself
        (["a-1", "a-2", "unknown"], ["reader"]),
    ],
)
async def test_a_sub_agent_hands_tasks_to_its_own_sub_agents_and_never_to_itself(
    daemon: Daemon,
    model: ModelServer,
    config: dict[str, Any],
    own: list[str],
    offered: list[str] | None,
) -> None:
    config["sub_agents"] = own
    model.script(
        Turn(tool_calls=[TASK]), Turn(tool_calls=[TASK]), Turn(text="alone"), Turn(text="ok")
    )
    await daemon.start(sub_agents=DEEP)
    await daemon.ask("go")
    nested = model.requests[1]
    tools = {one["function"]["name"]: one["function"] for one in nested.body["tools"]}
    assert ("delegate" in tools) is (offered is not None)
    if offered is not None:
        assert tools["delegate"]["parameters"]["properties"]["agent"]["enum"] == offered
    assert daemon.of_type("tool_call_complete")[0]["is_error"] is True
