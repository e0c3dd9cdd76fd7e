"""Tools in a turn: shown, run side by side, checked, limited; failures go back to the model."""

import json

import pytest

from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline import limits
from trunkline.execution.orchestrator.nodes import REPLANS_MAX


def bash(command: str, call_id: str | None = None) -> ToolUse:
    return ToolUse(name="bash", arguments={"command": command}, id=call_id)


async def test_a_tool_call_is_shown_run_and_its_result_read_by_the_model(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="Looking.", tool_calls=[bash("echo 6*7=42")]), Turn(text="It is 42."))
    await daemon.start()
    end = await daemon.ask("what is 6*7?")
    assert end["content"] == "It is 42."
    (started,), (completed,) = (
        daemon.of_type("tool_call_start"),
        daemon.of_type("tool_call_complete"),
    )
    assert started["tool_name"] == completed["tool_name"] == "bash"
    assert started["tool_input"] == completed["tool_input"] == {"command": "echo 6*7=42"}
    assert started["tool_call_id"] == completed["tool_call_id"]
    assert "6*7=42" in completed["result"]
    assert completed["is_error"] is False
    assert model.requests[1].tool_results == [completed["result"]]
    order = [one["type"] for one in daemon.events if one["type"] != "tool_call_progress"]
    steps = ["tool_call_start", "tool_call_complete"]
    assert [kind for kind in order if kind in steps] == steps
    assert order.index("tool_call_complete") < order.index("execution_complete")


@pytest.mark.proves("004-11-audit-through-the-line")
async def test_every_tool_run_is_in_the_audit_log(daemon: Daemon, model: ModelServer) -> None:
    long = "x" * 5000
    model.script(Turn(tool_calls=[bash(f"echo {long}")]), Turn(text="ok"))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.end(turn)
    (entry,) = daemon.reported("audit_log")
    assert entry["event"] == "tool_executed"
    assert entry["details"]["tool_name"] == "bash"
    assert entry["details"]["turn_id"] == turn
    assert entry["details"]["is_error"] is False
    assert len(json.dumps(entry)) < 4 * limits.AUDIT_VALUE_CHARS_MAX


@pytest.mark.proves("004-7.2-results")
async def test_calls_of_one_step_run_side_by_side_and_results_keep_their_order(
    daemon: Daemon, model: ModelServer
) -> None:
    # The first can only end when the second runs meanwhile.
    waits = "until [ -e made ]; do sleep 0.01; done; echo first"
    model.script(Turn(tool_calls=[bash(waits), bash("touch made; echo second")]), Turn(text="ok"))
    await daemon.start()
    assert (await daemon.ask("go"))["content"] == "ok"
    assert [one.strip() for one in model.requests[1].tool_results] == ["first", "second"]


@pytest.mark.proves("000-6-replan-after-failed-tools")
async def test_a_failed_tool_is_told_to_the_model_which_plans_anew(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(
        Turn(tool_calls=[bash("cat missing.txt")]),
        Turn(tool_calls=[bash("echo found > missing.txt; cat missing.txt")]),
        Turn(text="done"),
    )
    await daemon.start()
    assert (await daemon.ask("go"))["content"] == "done"
    failed, worked = daemon.of_type("tool_call_complete")
    assert failed["is_error"] is True
    assert "No such file" in model.requests[1].tool_results[0]
    assert worked["is_error"] is False
    assert [one["stage"] for one in daemon.of_type("thinking")] == ["replan"]


async def test_steps_that_only_fail_come_to_an_end(daemon: Daemon, model: ModelServer) -> None:
    model.otherwise(lambda _: Turn(tool_calls=[bash("false")]))
    await daemon.start()
    end = await daemon.ask("go")
    assert (end["type"], end["code"]) == ("execution_error", "TOOLS_KEEP_FAILING")
    assert len(model.requests) == REPLANS_MAX


async def test_bad_arguments_and_unknown_tools_are_errors_that_the_model_can_mend(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(
        Turn(
            tool_calls=[
                ToolUse(name="bash", arguments={"command": 5}),
                ToolUse(name="no_such_tool"),
                ToolUse(name="bash", json='{"command": "ls'),
                bash("echo fine"),
            ]
        ),
        Turn(text="ok"),
    )
    await daemon.start()
    assert (await daemon.ask("go"))["content"] == "ok"
    wrong, unknown, torn, fine = model.requests[1].tool_results
    assert "command" in wrong
    assert "no_such_tool" in unknown
    assert "JSON" in torn
    assert fine.strip() == "fine"
    by_id = {one["tool_call_id"]: one for one in daemon.of_type("tool_call_complete")}
    assert len(by_id) == 4
    assert sum(one["is_error"] for one in by_id.values()) == 3


@pytest.mark.proves("004-11-tool-calls")
async def test_a_turn_has_at_most_ten_tool_calls(daemon: Daemon, model: ModelServer) -> None:
    names = [f"n{number}" for number in range(12)]
    model.script(
        Turn(tool_calls=[bash(f"touch {name}; echo {name}") for name in names]),
        Turn(tool_calls=[bash("touch later")]),
        Turn(text="enough"),
        Turn(tool_calls=[bash("touch next-turn")]),
        Turn(text="ok"),
    )
    await daemon.start()
    assert (await daemon.ask("go"))["content"] == "enough"
    made = {one.name for one in daemon.home.workspace.iterdir()}
    assert made == set(names[:10])
    assert all("at most 10" in one for one in model.requests[1].tool_results[10:])
    await daemon.ask("go on")
    assert (daemon.home.workspace / "next-turn").exists()


@pytest.mark.proves("004-5-max-turns")
async def test_model_calls_of_a_turn_are_limited(daemon: Daemon, model: ModelServer) -> None:
    model.otherwise(lambda _: Turn(tool_calls=[bash("true")]))
    await daemon.start(session_config={"max_turns": 3})
    end = await daemon.ask("go")
    assert (end["type"], end["code"]) == ("execution_error", "TURN_LIMIT")
    assert len(model.requests) == 3


@pytest.mark.proves("004-5-timeout-seconds")
async def test_a_turn_that_takes_too_long_is_ended_and_the_next_one_runs(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[bash("echo $$ > pid; sleep 600")]), Turn(text="here"))
    await daemon.start(session_config={"timeout_seconds": 1})
    end = await daemon.ask("go")
    assert (end["type"], end["code"]) == ("execution_error", "TURN_TIMEOUT")
    assert (await daemon.ask("hello?"))["content"] == "here"


@pytest.mark.proves("004-7.2-results")
async def test_repeated_ids_of_a_model_do_not_mix_up_results(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(
        Turn(tool_calls=[bash("echo one", "call_1"), bash("echo two", "call_1")]),
        Turn(tool_calls=[bash("echo three", "call_1")]),
        Turn(text="ok"),
    )
    await daemon.start()
    await daemon.ask("go")
    assert [one.strip() for one in model.requests[1].tool_results] == ["one", "two"]
    assert [one.strip() for one in model.requests[2].tool_results] == ["three"]
    ids = [one["tool_call_id"] for one in daemon.of_type("tool_call_start")]
    assert len(set(ids)) == 3


@pytest.mark.proves("004-5-agent-tools")
async def test_an_agent_is_offered_the_tools_it_names(daemon: Daemon, model: ModelServer) -> None:
    model.script(Turn(tool_calls=[bash("echo no")]), Turn(text="ok"))
    await daemon.start(agent_config={"tools": ["read_file"]})
    await daemon.ask("go")
    assert "bash" not in model.requests[0].tool_names
    assert "ask_user" in model.requests[0].tool_names
    assert "no tool named 'bash'" in model.requests[1].tool_results[0]


@pytest.mark.proves("004-7.3-memory")
async def test_what_was_done_is_noted_for_later(daemon: Daemon, model: ModelServer) -> None:
    model.script(Turn(tool_calls=[bash("true"), bash("false")]), Turn(text="ok"))
    await daemon.start()
    await daemon.ask("go")
    memory = daemon.home.session("s1") / "memory"
    noted = json.loads((memory / "context.json").read_text())["last_action"]["value"]
    assert (noted["tools"], noted["failed"]) == (["bash", "bash"], 1)
    assert "bash: failed" in (memory / "scratchpad.md").read_text()


@pytest.mark.proves("004-7.3-evolution")
async def test_a_turn_of_several_good_steps_is_offered_as_a_skill_where_that_is_wanted(
    daemon: Daemon, model: ModelServer
) -> None:
    steps = [bash("echo 1"), bash("echo 2"), bash("echo 3"), bash("false")]
    model.script(*(Turn(tool_calls=steps), Turn(text="ok")) * 2)
    await daemon.start()
    await daemon.ask("Count to three")
    assert daemon.reported("evolution_submit") == []
    await daemon.stop()
    await daemon.start(agent_config={"evolution": True})
    await daemon.ask("Count to three")
    (found,) = daemon.reported("evolution_submit")
    assert found["quality_score"] == 0.75
    assert found["name"] == "Count to three"
    assert "echo 2" in found["skill_md"]
