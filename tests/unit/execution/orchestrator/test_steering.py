"""Messages to a turn that runs: they reach the model at its next call, once, in their place."""

from pathlib import Path

import pytest

from tests.support.model_server import Failure, Gate, ModelRequest, ModelServer, ToolUse, Turn
from tests.support.small_model import SmallModel
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.orchestrator.steering import Steer, Steering
from trunkline.execution.session import ipc


def steer(daemon: Daemon, turn_id: str, message: str, message_id: str = "m1") -> None:
    said = ipc.SteerData(message_id=message_id, steers=turn_id, message=message)
    daemon.send(ipc.Steer(data=said))


def roles(request: ModelRequest) -> list[tuple[str, str]]:
    said = [one for one in request.messages if one["role"] != "system"]
    return [(one["role"], str(one.get("content") or "").strip()) for one in said]


def waiting(file: Path) -> ToolUse:
    command = f"while [ ! -e {file} ]; do sleep 0.02; done; echo done"
    return ToolUse(name="bash", arguments={"command": command})


async def test_it_stands_behind_the_results_of_the_step_and_in_every_later_call(
    daemon: Daemon, model: ModelServer, tmp_path: Path
) -> None:
    model.script(Turn(tool_calls=[waiting(tmp_path / "go")]), Turn(text="blue"), Turn(text="fine"))
    await daemon.start()
    turn = daemon.say("paint it red")
    await daemon.event("tool_call_start")
    steer(daemon, turn, "no, blue")
    steer(daemon, turn, "no, blue")  # sent again after a line broke
    steer(daemon, turn, "light blue", "m2")
    await daemon.settled()
    (tmp_path / "go").touch()
    assert (await daemon.end(turn))["content"] == "blue"
    expected = [
        ("user", "paint it red"),
        ("assistant", ""),
        ("tool", "done"),
        ("user", "no, blue"),
        ("user", "light blue"),
    ]
    assert [(role, text.split("\n\n")[0]) for role, text in roles(model.requests[1])] == expected
    taken = daemon.of_type("steer_taken")
    assert [(one["turn_id"], one["message_id"]) for one in taken] == [(turn, "m1"), (turn, "m2")]
    assert (await daemon.ask("thanks"))["content"] == "fine"
    assert [text.split("\n\n")[0] for _, text in roles(model.requests[2])][3:5] == [
        "no, blue",
        "light blue",
    ]
    text = (daemon.home.session("s1") / "memory" / "conversation.md").read_text()
    assert text.index("paint it red") < text.index("no, blue") < text.index("light blue")
    assert text.count("no, blue") == 1


async def test_a_turn_at_its_last_words_goes_on_for_it(daemon: Daemon, model: ModelServer) -> None:
    gate = Gate()
    model.script(Turn(chunks=["It is ", gate, "done."]), Turn(text="And the tests pass."))
    await daemon.start()
    turn = daemon.say("fix it")
    await daemon.event("text_chunk")
    steer(daemon, turn, "run the tests too")
    await daemon.settled()
    gate.open()
    end = await daemon.end(turn)
    assert end["content"] == "And the tests pass."
    assert [role for role, _ in roles(model.requests[1])] == ["user", "assistant", "user"]


async def test_what_comes_for_another_turn_or_too_late_is_not_acknowledged(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="one"), Turn(text="two"))
    await daemon.start(session_config={"max_turns": 1})
    turn = daemon.say("first")
    await daemon.end(turn)
    steer(daemon, turn, "too late")
    steer(daemon, "unknown", "for nobody", "m2")
    assert (await daemon.ask("second"))["content"] == "two"
    assert daemon.of_type("steer_taken") == []
    assert [text.split("\n\n")[0] for _, text in roles(model.requests[1])] == [
        "first",
        "one",
        "second",
    ]


async def test_a_turn_that_may_call_its_model_no_more_leaves_it_for_the_next(
    daemon: Daemon, model: ModelServer
) -> None:
    gate = Gate()
    model.script(Turn(chunks=["All ", gate, "said."]))
    await daemon.start(session_config={"max_turns": 1})
    turn = daemon.say("go")
    await daemon.event("text_chunk")
    steer(daemon, turn, "more")
    await daemon.settled()
    gate.open()
    assert (await daemon.end(turn))["content"] == "All said."
    assert daemon.of_type("steer_taken") == []


@pytest.mark.parametrize("is_acknowledged", [True, False])
async def test_what_reached_the_conversation_of_a_broken_turn_is_in_it_once(
    daemon: Daemon, model: ModelServer, tmp_path: Path, is_acknowledged: bool
) -> None:
    """The model's failure ends the turn; the message has arrived, and is said to have. Where that
    was lost in a crash, it comes again as a turn."""
    refused = Turn(failure=Failure(kind="bad_request"))
    model.script(Turn(tool_calls=[waiting(tmp_path / "go")]), refused, Turn(text="yes"))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("tool_call_start")
    steer(daemon, turn, "carefully")
    await daemon.settled()
    (tmp_path / "go").touch()
    assert (await daemon.end(turn))["type"] == "execution_error"
    assert [one["message_id"] for one in daemon.of_type("steer_taken")] == ["m1"]
    if is_acknowledged:
        assert (await daemon.ask("again"))["content"] == "yes"
    else:
        said = ipc.UserMessageData(message="carefully", turn_id="m1")
        daemon.send(ipc.UserMessage(data=said))
        assert (await daemon.end("m1"))["content"] == "yes"
    asked = [text.split("\n\n")[0] for role, text in roles(model.requests[-1]) if role == "user"]
    expected = ["go", "carefully", "again"] if is_acknowledged else ["go", "carefully"]
    assert asked == expected


async def test_a_process_that_takes_over_a_waiting_turn_takes_it_once(
    daemon: Daemon, model: ModelServer, tmp_path: Path
) -> None:
    first = waiting(tmp_path / "go")
    asks = ToolUse(name="ask_user", arguments={"question": "Which?"})
    model.script(Turn(tool_calls=[first]), Turn(tool_calls=[asks]), Turn(text="done"))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("tool_call_start")
    steer(daemon, turn, "ask me")
    await daemon.settled()
    (tmp_path / "go").touch()
    asked = await daemon.event("approval_request")
    await daemon.drop()
    await daemon.start(turn_id=turn)
    steer(daemon, turn, "ask me")  # the acknowledgement was lost with the daemon
    steer(daemon, turn, "and hurry", "m2")
    await daemon.event("approval_request", 1)
    await daemon.settled()
    daemon.answer(asked["request_id"], True, "this")
    assert (await daemon.end(turn))["content"] == "done"
    asked_for = [
        text.split("\n\n")[0] for role, text in roles(model.requests[-1]) if role == "user"
    ]
    assert asked_for == ["go", "ask me", "and hurry"]
    assert {one["message_id"] for one in daemon.of_type("steer_taken")} == {"m1", "m2"}


def test_what_a_turn_took_and_did_not_keep_is_not_said_to_have_arrived() -> None:
    """It was cancelled before the step was saved: the message comes again as a turn."""
    steering = Steering()
    for one in ("m1", "m2"):
        steering.add("t1", Steer(one, "on", []))
    assert len(steering.take("t1")) == 2
    steering.keep([{"role": "user", "content": "on", "steers": "m1"}])
    assert steering.acknowledge() == ["m1"]
    assert [steering.is_known(one) for one in ("m1", "m2")] == [True, False]


async def test_results_that_nobody_has_read_stay_when_a_message_comes_and_room_is_made(
    daemon: Daemon, model: ModelServer, tmp_path: Path
) -> None:
    """Between the results and the call that reads them stands what a person said meanwhile."""

    def answer(request: ModelRequest) -> Turn:
        if "and hurry" in request.prompt:
            return Turn(text="ok")
        if "look" in request.prompt:
            command = f"while [ ! -e {tmp_path / 'go'} ]; do sleep 0.02; done; seq 1000 1400"
            return Turn(tool_calls=[ToolUse(name="bash", arguments={"command": command})])
        return Turn(text="Well said.")

    model.otherwise(SmallModel(4096, answer))
    await daemon.start(agent_config={"model": "gpt-tiny", "context_window": 4096})
    await daemon.ask("The quick brown fox. " * 60)
    turn = daemon.say("look")
    await daemon.event("tool_call_start")
    steer(daemon, turn, "and hurry")
    await daemon.settled()
    (tmp_path / "go").touch()
    assert (await daemon.end(turn))["content"] == "ok"
    assert daemon.of_type("context_compacted")
    assert "1200" in str(model.requests[-1].messages)
