"""Questions to people: asked, answered, denied, timed out, and still there after a restart."""

import pytest

from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.orchestrator.turns import APPROVAL_AGAIN_S
from trunkline.execution.session import ipc

MAKE = ToolUse(name="bash", arguments={"command": "touch made; echo did it"})
ALWAYS = {"confirm": "always"}


async def test_a_confirmed_call_runs_and_an_unconfirmed_one_waits(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[MAKE]), Turn(text="done"))
    await daemon.start(agent_config=ALWAYS)
    turn = daemon.say("make it")
    asked = await daemon.event("approval_request")
    assert asked["kind"] == "approve"
    assert asked["tool_name"] == "bash"
    assert asked["tool_input"] == MAKE.arguments
    assert asked["timeout_seconds"] == 300
    assert asked["turn_id"] == turn
    assert asked["message"]
    await daemon.settled()
    assert not (daemon.home.workspace / "made").exists()
    assert daemon.of_type("tool_call_start") == []
    daemon.answer(asked["request_id"], True)
    assert (await daemon.end(turn))["content"] == "done"
    assert (daemon.home.workspace / "made").exists()
    entries = [one for one in daemon.reported("audit_log") if one["event"] == "approval_answered"]
    assert [one["details"]["confirmed"] for one in entries] == [True]


async def test_a_denied_call_is_told_to_the_model_with_the_persons_words(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[MAKE]), Turn(text="all right"))
    await daemon.start(agent_config=ALWAYS)
    turn = daemon.say("make it")
    asked = await daemon.event("approval_request")
    daemon.answer(asked["request_id"], False, "not on a Friday")
    assert (await daemon.end(turn))["content"] == "all right"
    assert "the person said no: not on a Friday" in model.requests[1].tool_results[0]
    [completed] = daemon.of_type("tool_call_complete")
    assert (completed["is_error"], completed["denied"]) == (False, True)
    [entry] = [one for one in daemon.reported("audit_log") if one["event"].startswith("tool_")]
    assert entry["event"] == "tool_refused"
    assert entry["details"]["result"] == "the person said no: not on a Friday"
    assert daemon.of_type("thinking") == []
    assert not (daemon.home.workspace / "made").exists()


async def test_a_question_nobody_answers_is_denied_when_its_time_is_over(
    timed: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[MAKE]), Turn(text="nobody there"))
    await timed.start(agent_config=ALWAYS)
    turn = timed.say("make it")
    asked = await timed.event("approval_request")
    assert timed.clock is not None
    await timed.clock.pass_time(299)
    await timed.settled()
    assert timed.of_type("approval_resolved") == []
    await timed.clock.pass_time(2)
    resolved = await timed.event("approval_resolved")
    assert resolved["request_id"] == asked["request_id"]
    assert (resolved["confirmed"], resolved["reason"]) == (False, "timeout")
    assert (await timed.end(turn))["content"] == "nobody there"
    assert "nobody answered" in model.requests[1].tool_results[0]
    timed.answer(asked["request_id"], True)
    await timed.settled()
    assert not (timed.home.workspace / "made").exists()


async def test_dangerous_asks_only_for_what_can_change_something(
    daemon: Daemon, model: ModelServer
) -> None:
    look = ToolUse(name="bash", arguments={"command": "ls"})
    model.script(Turn(tool_calls=[look]), Turn(tool_calls=[MAKE]), Turn(text="ok"))
    await daemon.start(agent_config={"confirm": "dangerous"})
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    assert asked["tool_input"] == MAKE.arguments
    assert len(daemon.of_type("tool_call_complete")) == 1
    daemon.answer(asked["request_id"], True)
    await daemon.end(turn)
    assert len(daemon.of_type("approval_request")) == 1


@pytest.mark.parametrize("scope", ["session", "always"])
async def test_a_tool_that_is_allowed_for_longer_does_not_ask_again(
    daemon: Daemon, model: ModelServer, scope: str
) -> None:
    model.script(
        Turn(tool_calls=[MAKE]), Turn(text="once"), Turn(tool_calls=[MAKE]), Turn(text="twice")
    )
    await daemon.start(agent_config=ALWAYS)
    turn = daemon.say("make it")
    asked = await daemon.event("approval_request")
    daemon.answer(asked["request_id"], True, scope=scope)
    await daemon.end(turn)
    again = daemon.say("again")
    assert (await daemon.end(again))["content"] == "twice"
    assert len(daemon.of_type("approval_request")) == 1


async def test_a_lasting_yes_is_for_one_command_and_for_a_whole_tool_of_another_kind(
    daemon: Daemon, model: ModelServer
) -> None:
    def write(text: str) -> ToolUse:
        return ToolUse(name="write_file", arguments={"path": "a.txt", "content": text})

    other = ToolUse(name="bash", arguments={"command": "touch other"})
    model.script(Turn(tool_calls=[MAKE, write("a")]), Turn(tool_calls=[write("b"), MAKE]))
    model.script(Turn(tool_calls=[other]), Turn(text="done"))
    await daemon.start(agent_config=ALWAYS)
    turn = daemon.say("go")
    for number in range(2):
        asked = await daemon.event("approval_request", number)
        daemon.answer(asked["request_id"], True, scope="session")
    asked = await daemon.event("approval_request", 2)
    assert asked["tool_input"] == other.arguments
    daemon.answer(asked["request_id"], False)
    await daemon.end(turn)
    assert (daemon.home.workspace / "a.txt").read_text() == "b"
    assert not (daemon.home.workspace / "other").exists()


async def test_what_was_allowed_outlives_the_process_and_not_a_change_of_the_rules(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[MAKE]), Turn(text="once"))
    await daemon.start(agent_config=ALWAYS)
    turn = daemon.say("make it")
    asked = await daemon.event("approval_request")
    daemon.answer(asked["request_id"], True, scope="session")
    await daemon.end(turn)
    await daemon.stop()
    await daemon.start(agent_config=ALWAYS)
    model.script(Turn(tool_calls=[MAKE]), Turn(text="twice"))
    await daemon.end(daemon.say("again"))
    assert len(daemon.of_type("approval_request")) == 1
    daemon.send(ipc.ConfigUpdate(data={"confirm": "always"}))
    model.script(Turn(tool_calls=[MAKE]), Turn(text="thrice"))
    turn = daemon.say("and again")
    asked = await daemon.event("approval_request", 1)
    daemon.answer(asked["request_id"], True, scope="forever")
    await daemon.end(turn)
    model.script(Turn(tool_calls=[MAKE]), Turn(text="no more"))
    turn = daemon.say("and again")
    asked = await daemon.event("approval_request", 2)
    daemon.answer(asked["request_id"], False, scope="always", reason="it is late")
    await daemon.end(turn)
    assert "the person said no: it is late" in model.requests[-1].tool_results[-1]


async def test_a_step_goes_on_when_all_its_questions_are_answered(
    daemon: Daemon, model: ModelServer
) -> None:
    other = ToolUse(name="bash", arguments={"command": "echo other"})
    model.script(Turn(tool_calls=[MAKE, other]), Turn(text="ok"))
    await daemon.start(agent_config=ALWAYS)
    turn = daemon.say("go")
    first = await daemon.event("approval_request", 0)
    second = await daemon.event("approval_request", 1)
    daemon.answer(second["request_id"], True)
    await daemon.settled()
    assert daemon.of_type("tool_call_start") == []
    daemon.answer(first["request_id"], False)
    await daemon.end(turn)
    denied, ran = model.requests[1].tool_results
    assert "the person said no" in denied
    assert ran.strip() == "other"


async def test_answers_that_fit_no_question_change_nothing(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[MAKE]), Turn(text="ok"))
    await daemon.start(agent_config=ALWAYS)
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    request_id = asked["request_id"]
    for data in (
        {},
        {"request_id": request_id},
        {"request_id": request_id, "confirmed": "yes"},
        {"request_id": "another", "confirmed": True},
        {"request_id": [request_id], "confirmed": True},
    ):
        daemon.send(ipc.ApprovalResponse(data=data))
    await daemon.settled()
    assert daemon.of_type("tool_call_start") == []
    daemon.answer(request_id, False)
    daemon.answer(request_id, True)
    await daemon.end(turn)
    assert not (daemon.home.workspace / "made").exists()


async def test_a_question_survives_the_process_and_is_asked_again_with_its_id(
    timed: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="I will.", tool_calls=[MAKE]), Turn(text="done"))
    await timed.start(agent_config=ALWAYS)
    turn = timed.say("make it")
    asked = await timed.event("approval_request")
    assert await timed.drop() != 0
    await timed.start(agent_config=ALWAYS, turn_id=turn)
    again = await timed.event("approval_request", 1)
    assert (again["request_id"], again["turn_id"]) == (asked["request_id"], turn)
    timed.answer(asked["request_id"], True)
    assert (await timed.end(turn))["content"] == "done"
    assert (timed.home.workspace / "made").exists()
    assert len(model.requests) == 2


async def test_time_goes_on_for_a_question_while_no_process_runs(
    timed: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[MAKE]), Turn(text="too late"))
    await timed.start(agent_config=ALWAYS)
    turn = timed.say("make it")
    await timed.event("approval_request")
    assert await timed.stop() == 0
    assert timed.ends(turn) == []
    assert timed.clock is not None
    await timed.clock.pass_time(301)
    await timed.start(agent_config=ALWAYS, turn_id=turn)
    await timed.event("approval_request", 1)
    await timed.settled()
    await timed.clock.pass_time(APPROVAL_AGAIN_S)
    assert (await timed.event("approval_resolved"))["reason"] == "timeout"
    assert (await timed.end(turn))["content"] == "too late"


async def test_a_yes_given_while_no_process_ran_counts_when_it_is_repeated_after_the_time(
    timed: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[MAKE]), Turn(text="done"))
    await timed.start(agent_config=ALWAYS)
    turn = timed.say("make it")
    asked = await timed.event("approval_request")
    await timed.stop()
    assert timed.clock is not None
    await timed.clock.pass_time(301)
    await timed.start(agent_config=ALWAYS, turn_id=turn)
    await timed.event("approval_request", 1)
    await timed.settled()
    timed.answer(asked["request_id"], True)
    assert (await timed.end(turn))["content"] == "done"
    assert timed.of_type("approval_resolved") == []
    assert (timed.home.workspace / "made").exists()


async def test_an_answer_right_behind_the_start_counts(daemon: Daemon, model: ModelServer) -> None:
    model.script(Turn(tool_calls=[MAKE]), Turn(text="done"))
    await daemon.start(agent_config=ALWAYS)
    turn = daemon.say("make it")
    asked = await daemon.event("approval_request")
    await daemon.stop()
    answer = ipc.ApprovalResponse(data={"request_id": asked["request_id"], "confirmed": True})
    await daemon.start(agent_config=ALWAYS, turn_id=turn, behind=answer)
    assert (await daemon.end(turn))["content"] == "done"


@pytest.mark.parametrize("open_turn", [None, "another"])
async def test_a_question_of_a_turn_that_was_ended_elsewhere_is_not_asked_again(
    daemon: Daemon, model: ModelServer, open_turn: str | None
) -> None:
    model.script(Turn(tool_calls=[MAKE]), Turn(text="next"))
    await daemon.start(agent_config=ALWAYS)
    daemon.say("make it")
    await daemon.event("approval_request")
    await daemon.drop()
    await daemon.start(agent_config=ALWAYS, turn_id=open_turn)
    assert (await daemon.ask("never mind"))["content"] == "next"
    assert len(daemon.of_type("approval_request")) == 1
    roles = [one["role"] for one in model.requests[1].messages if one["role"] != "system"]
    assert roles == ["user", "assistant", "tool", "user"]


async def test_ask_user_gets_the_persons_answer_as_its_result(
    daemon: Daemon, model: ModelServer
) -> None:
    question = ToolUse(name="ask_user", arguments={"question": "Which colour?"})
    choice = ToolUse(name="ask_user", arguments={"question": "Sure?", "options": ["yes", "no"]})
    model.script(Turn(tool_calls=[question]), Turn(tool_calls=[choice]), Turn(text="ok"))
    await daemon.start()
    turn = daemon.say("paint it")
    asked = await daemon.event("approval_request")
    assert (asked["kind"], asked["message"]) == ("input", "Which colour?")
    daemon.answer(asked["request_id"], True, "blue")
    asked = await daemon.event("approval_request", 1)
    assert (asked["kind"], asked["options"]) == ("select", ["yes", "no"])
    daemon.answer(asked["request_id"], True, {"choice": "yes"})
    await daemon.end(turn)
    assert model.requests[1].tool_results == ["blue"]
    assert model.requests[2].tool_results == ['{"choice":"yes"}']


async def test_a_long_call_is_asked_about_whole_and_one_that_cannot_be_shown_is_not_made(
    daemon: Daemon, model: ModelServer
) -> None:
    long, too_long = (
        ToolUse(name="write_file", arguments={"path": "made", "content": "x" * chars})
        for chars in (100_000, 300_000)
    )
    model.script(Turn(tool_calls=[too_long]), Turn(tool_calls=[long]), Turn(text="done"))
    await daemon.start(agent_config=ALWAYS)
    turn = daemon.say("make it")
    asked = await daemon.event("approval_request")
    assert asked["tool_input"] == long.arguments
    assert "smaller parts" in model.requests[1].tool_results[0]
    daemon.answer(asked["request_id"], False)
    await daemon.end(turn)
    assert len(daemon.of_type("approval_request")) == 1
    assert not (daemon.home.workspace / "made").exists()
