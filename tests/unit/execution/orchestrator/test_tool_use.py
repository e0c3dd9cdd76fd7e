"""Tools in a turn: shown, run side by side, checked, limited; failures go back to the model."""

import json

import pytest

from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline import limits
from trunkline.execution.orchestrator.loops import SAME_FAILURES_MAX


def bash(command: str, call_id: str | None = None) -> ToolUse:
    return ToolUse(name="bash", arguments={"command": command}, id=call_id)


def read(path: str) -> ToolUse:
    return ToolUse(name="read_file", arguments={"path": path})


def write(path: str, content: str) -> ToolUse:
    return ToolUse(name="write_file", arguments={"path": path, "content": content})


def search(query: str) -> ToolUse:
    return ToolUse(name="search_files", arguments={"query": query})


def delegate(task: str) -> ToolUse:
    return ToolUse(name="delegate", arguments={"agent": "helper", "task": task})


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
async def test_calls_that_have_nothing_to_do_with_each_other_run_side_by_side(
    daemon: Daemon, model: ModelServer
) -> None:
    daemon.answers["get_config"] = lambda _: {"config": {}}
    gates = [Gate(), Gate()]
    tasks = [delegate("first"), delegate("second")]
    model.script(Turn(tool_calls=tasks), Turn(gate=gates[0], text="a"), Turn(gate=gates[1]))
    model.otherwise(lambda _: Turn(text="ok"))
    await daemon.start(sub_agents=[{"id": "a-1", "name": "helper"}])
    turn = daemon.say("go")
    for gate in gates:  # both are reached before one of them goes on
        await gate.reached.wait()
    for gate in gates:
        gate.open()
    assert (await daemon.end(turn))["content"] == "ok"
    begun = [one["tool_call_id"] for one in daemon.of_type("tool_call_start")]
    said = [one["parent_tool_call_id"] for one in daemon.of_type("text_chunk") if "agent" in one]
    assert set(said) <= set(begun)
    assert said


@pytest.mark.parametrize(
    ("calls", "results"),
    [
        ([write("a", "new"), read("a")], ["Wrote", "new"]),
        ([read("a"), write("a", "new"), read("a")], ["old", "Wrote", "new"]),
        ([bash("sleep 0.2; echo made > a"), read("a")], ["", "made"]),
        ([bash("sleep 0.2; echo 1 >> a"), bash("echo 2 >> a"), bash("cat a")], ["", "", "old1\n2"]),
        ([write("b/c", "deep"), search("deep")], ["Created", "b/c"]),
    ],
)
async def test_calls_of_one_step_that_depend_on_each_other_run_in_their_order(
    daemon: Daemon, model: ModelServer, calls: list[ToolUse], results: list[str]
) -> None:
    (daemon.home.workspace / "a").write_text("old")
    model.script(Turn(tool_calls=calls), Turn(text="ok"))
    await daemon.start()
    assert (await daemon.ask("go"))["content"] == "ok"
    for said, expected in zip(model.requests[1].tool_results, results, strict=True):
        assert expected in said


async def test_what_another_agent_may_do_and_an_edit_beside_it_run_in_their_order(
    daemon: Daemon, model: ModelServer
) -> None:
    daemon.answers["get_config"] = lambda _: {"config": {}}
    gate = Gate()
    model.script(Turn(tool_calls=[delegate("look"), write("a", "new"), delegate("too")]))
    model.otherwise(lambda _: Turn(gate=gate, text="ok"))
    await daemon.start(sub_agents=[{"id": "a-1", "name": "helper"}])
    turn = daemon.say("go")
    await daemon.event("tool_call_start")
    await daemon.settled()
    assert [one["tool_name"] for one in daemon.of_type("tool_call_start")] == ["delegate"]
    gate.open()
    assert (await daemon.end(turn))["content"] == "ok"
    named = [one["tool_name"] for one in daemon.of_type("tool_call_complete")]
    assert named == ["delegate", "write_file", "delegate"]


async def test_a_harmless_call_does_not_wait_behind_its_steps_question(
    daemon: Daemon, model: ModelServer
) -> None:
    asking = bash("touch made")
    model.script(Turn(tool_calls=[read("other"), asking, bash("cat other")]), Turn(text="ok"))
    (daemon.home.workspace / "other").write_text("there")
    await daemon.start(agent_config={"confirm": "dangerous"})
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    done = await daemon.event("tool_call_complete")
    assert (done["tool_name"], done["result"]) == ("read_file", "there")
    daemon.answer(asked["request_id"], False)
    await daemon.end(turn)
    results = sorted(model.requests[1].tool_results)
    assert results == ["Error: the person said no", "there", "there"]


async def test_a_question_is_asked_while_a_slow_call_beside_it_still_runs(
    daemon: Daemon, model: ModelServer
) -> None:
    daemon.answers["get_config"] = lambda _: {"config": {}}
    gate = Gate()
    model.script(Turn(tool_calls=[delegate("slow"), bash("touch made")]), Turn(gate=gate, text="x"))
    model.otherwise(lambda _: Turn(text="ok"))
    await daemon.start(
        agent_config={"confirm": "dangerous"}, sub_agents=[{"id": "a-1", "name": "helper"}]
    )
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    daemon.answer(asked["request_id"], True)
    await daemon.settled()
    assert daemon.of_type("tool_call_complete") == []
    gate.open()
    assert (await daemon.end(turn))["content"] == "ok"
    assert (daemon.home.workspace / "made").exists()
    assert len(daemon.of_type("approval_request")) == 1


@pytest.mark.proves("000-6-replan-after-failed-tools")
async def test_a_failed_tool_is_told_to_the_model_which_plans_anew(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(
        Turn(tool_calls=[read("missing.txt")]),
        Turn(tool_calls=[bash("echo found > missing.txt; cat missing.txt")]),
        Turn(text="done"),
    )
    await daemon.start()
    assert (await daemon.ask("go"))["content"] == "done"
    failed, worked = daemon.of_type("tool_call_complete")
    assert failed["is_error"] is True
    assert "no file missing.txt" in model.requests[1].tool_results[0]
    assert worked["is_error"] is False
    assert [one["stage"] for one in daemon.of_type("thinking")] == ["replan"]


async def test_the_same_call_that_fails_again_and_again_ends_the_turn(
    daemon: Daemon, model: ModelServer
) -> None:
    model.otherwise(lambda _: Turn(tool_calls=[read("missing"), bash("echo other")]))
    await daemon.start()
    end = await daemon.ask("go")
    assert (end["type"], end["code"]) == ("execution_error", "TOOLS_KEEP_FAILING")
    assert "no file missing" in end["error"]
    assert len(model.requests) == SAME_FAILURES_MAX


async def test_misses_and_exit_codes_end_no_turn(daemon: Daemon, model: ModelServer) -> None:
    tries = [Turn(tool_calls=[bash("grep nothing a"), read(f"missing-{n}")]) for n in range(8)]
    model.script(*tries, Turn(text="gave up"))
    (daemon.home.workspace / "a").write_text("x")
    await daemon.start()
    assert (await daemon.ask("go"))["content"] == "gave up"
    told = [one for one in daemon.of_type("tool_call_complete") if one["tool_name"] == "bash"]
    assert {(one["is_error"], one["details"]["exit_code"]) for one in told} == {(False, 1)}
    said = [one for request in model.requests for one in request.tool_results]
    assert sum("Do something else" in one for one in said) == 1


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
async def test_a_step_has_at_most_ten_tool_calls_and_the_next_one_ten_more(
    daemon: Daemon, model: ModelServer
) -> None:
    names = [f"n{number}" for number in range(12)]
    model.script(
        Turn(tool_calls=[write(name, "x") for name in names]),
        Turn(tool_calls=[write(f"later-{name}", "x") for name in names[:10]]),
        Turn(text="enough"),
    )
    await daemon.start()
    assert (await daemon.ask("go"))["content"] == "enough"
    made = {one.name for one in daemon.home.workspace.iterdir()}
    assert made == {*names[:10], *(f"later-{name}" for name in names[:10])}
    assert all("at most 10" in one for one in model.requests[1].tool_results[10:12])


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
    model.script(Turn(tool_calls=[bash("true"), read("missing")]), Turn(text="ok"))
    await daemon.start()
    await daemon.ask("go")
    memory = daemon.home.session("s1") / "memory"
    noted = json.loads((memory / "context.json").read_text())["last_action"]["value"]
    assert (noted["tools"], noted["failed"]) == (["bash", "read_file"], 1)
    assert "read_file: failed" in (memory / "scratchpad.md").read_text()


@pytest.mark.proves("004-7.3-evolution")
async def test_a_turn_of_several_good_steps_is_offered_as_a_skill_where_that_is_wanted(
    daemon: Daemon, model: ModelServer
) -> None:
    steps = [bash("echo 1"), bash("echo 2"), bash("echo 3"), read("missing")]
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
