"""A step with a question and calls beside it, whatever is restarted meanwhile; what an agent has
to do stays with it."""

from typing import Any

import pytest

from tests.support.eventually import until
from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.orchestrator.act import LOST

AGENTS = [{"id": "a-1", "name": "helper"}]
CAREFUL = {"confirm": "dangerous"}
DELEGATE = ToolUse(name="delegate", arguments={"agent": "helper", "task": "go"}, id="d")


def bash(command: str, call_id: str | None = None, **more: Any) -> ToolUse:
    return ToolUse(name="bash", arguments={"command": command, **more}, id=call_id)


def todos(*statuses: str) -> ToolUse:
    listed = [{"content": f"step {n}", "status": one} for n, one in enumerate(statuses)]
    return ToolUse(name="todo_write", arguments={"todos": listed})


@pytest.mark.parametrize("how", ["drop", "stop"])
async def test_a_call_that_was_cut_off_beside_a_question_is_not_made_twice(
    daemon: Daemon, model: ModelServer, how: str
) -> None:
    """`bash` is allowed by name, so that it runs beside what needs a question."""
    slow = bash("echo x >> count; touch began; sleep 600", "slow")
    write = ToolUse(name="write_file", arguments={"path": "asked", "content": "x"}, id="write")
    done = ToolUse(name="list_files", arguments={}, id="done")
    model.script(Turn(tool_calls=[done, DELEGATE, write]), Turn(tool_calls=[slow]))
    model.otherwise(lambda _: Turn(text="ok"))
    daemon.answers["get_config"] = lambda _: {"config": {}}
    rules = [{"effect": "allow", "rule": "bash"}]
    await daemon.start(agent_config=CAREFUL, sub_agents=AGENTS, rules=rules)
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    assert asked["tool_call_id"] == "write"
    await until((daemon.home.workspace / "began").exists)
    await (daemon.drop() if how == "drop" else daemon.stop())
    assert daemon.ends(turn) == []
    await daemon.start(agent_config=CAREFUL, sub_agents=AGENTS, rules=rules, turn_id=turn)
    again = await daemon.event("approval_request", 1)
    assert again["request_id"] == asked["request_id"]
    daemon.answer(asked["request_id"], True)
    assert (await daemon.end(turn))["content"] == "ok"
    assert (daemon.home.workspace / "asked").exists()
    assert (daemon.home.workspace / "count").read_text() == "x\n"
    said = [one for request in model.requests for one in request.tool_results]
    assert sum(LOST in one for one in said) == 1
    for kind in ("tool_call_start", "tool_call_complete"):
        told = [one["tool_call_id"] for one in daemon.of_type(kind)]
        assert sorted(told) == sorted(set(told)), kind
    lists = [one for one in daemon.of_type("tool_call_complete") if one["tool_call_id"] == "done"]
    assert len(lists) == 1


async def test_a_session_that_went_on_from_a_question_ends_its_later_turns_when_it_is_stopped(
    daemon: Daemon, model: ModelServer
) -> None:
    gate = Gate()
    ask = ToolUse(name="ask_user", arguments={"question": "Which?"})
    model.script(Turn(tool_calls=[ToolUse(name="list_files", arguments={}), ask]))
    model.script(Turn(tool_calls=[ask]), Turn(text="ok"), Turn(gate=gate, text="never"))
    await daemon.start()
    turn = daemon.say("go")
    daemon.answer((await daemon.event("approval_request"))["request_id"], True, "this")
    await daemon.event("approval_request", 1)
    await daemon.drop()
    await daemon.start(turn_id=turn)
    daemon.answer((await daemon.event("approval_request", 2))["request_id"], True, "that")
    await daemon.end(turn)
    later = daemon.say("more")
    await gate.reached.wait()
    await daemon.stop()
    assert [one["code"] for one in daemon.ends(later)] == ["SESSION_STOPPED"]


async def test_questions_of_two_agents_are_asked_at_the_same_time(
    daemon: Daemon, model: ModelServer
) -> None:
    daemon.answers["get_config"] = lambda _: {"config": {"confirm": "always"}}
    gate = Gate()
    other = ToolUse(name="delegate", arguments={"agent": "helper", "task": "other"}, id="e")
    model.script(Turn(tool_calls=[DELEGATE, other]), Turn(tool_calls=[bash("touch a", "a")]))
    model.script(Turn(gate=gate, tool_calls=[bash("touch b", "b")]))
    model.otherwise(lambda _: Turn(text="ok"))
    await daemon.start(sub_agents=AGENTS)
    turn = daemon.say("go")
    first = await daemon.event("approval_request")
    await gate.reached.wait()
    gate.open()
    second = await daemon.event("approval_request", 1)
    assert {first["parent_tool_call_id"], second["parent_tool_call_id"]} == {"d", "e"}
    for one in (first, second):
        daemon.answer(one["request_id"], True)
    assert (await daemon.end(turn))["content"] == "ok"
    assert {one.name for one in daemon.home.workspace.iterdir()} == {"a", "b"}
    parents = {one.get("parent_tool_call_id") for one in daemon.of_type("tool_call_start")}
    assert parents == {None, "d", "e"}


async def test_what_an_agent_has_to_do_is_its_plan_and_outlives_turn_and_process(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[todos("completed", "in_progress", "pending")]), Turn(text="ok"))
    await daemon.start()
    await daemon.ask("go")
    [plan] = daemon.of_type("plan")
    assert [one["status"] for one in plan["plan"]["tasks"]] == [
        *("completed", "in_progress", "pending"),
    ]
    assert plan["content"] == "[x] step 0\n[>] step 1\n[ ] step 2"
    model.otherwise(lambda _: Turn(text="ok"))
    await daemon.stop()
    await daemon.start()
    await daemon.ask("next")
    newest = max((daemon.home.session("s1") / "checkpoints").rglob("*.json"))
    assert "step 2" in newest.read_text()


async def test_a_background_command_goes_on_in_the_next_turn(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[bash("echo up; sleep 600", background=True)]), Turn(text="ok"))
    await daemon.start()
    await daemon.ask("serve")
    [started] = daemon.of_type("tool_call_complete")
    look = ToolUse(name="bash_output", arguments={"id": started["details"]["id"]})
    end = ToolUse(name="bash_stop", arguments={"id": started["details"]["id"]})
    model.script(Turn(tool_calls=[look, end]), Turn(text="ok"))
    await daemon.ask("look")
    assert model.requests[-1].tool_results == ["up\n[running]", "(nothing new)\n[stopped]"]


async def test_what_ended_and_what_it_changed_meanwhile_is_told_in_the_next_turn(
    daemon: Daemon, model: ModelServer
) -> None:
    waits = "until [ -e ../go ]; do sleep 0.01; done; echo x > late.txt"
    model.script(Turn(tool_calls=[bash(waits, background=True)]), Turn(text="ok"))
    await daemon.start()
    await daemon.ask("build")
    [started] = daemon.of_type("tool_call_complete")
    assert daemon.of_type("file_changed") == []
    (daemon.home.root / "go").touch()
    await daemon.settled()
    while daemon.is_working:
        await daemon.settled()
    model.script(Turn(text="Good."))
    await daemon.ask("and?")
    [change] = daemon.of_type("file_changed")
    assert (change["path"], change["change"]) == ("late.txt", "created")
    assert (change["turn_id"], change["tool_call_id"]) == ("turn-2", started["tool_call_id"])
    assert "Commands in the background that have ended" in str(model.requests[-1].messages)
