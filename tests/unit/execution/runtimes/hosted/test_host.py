"""What the host promises for every program: one end for each turn, whatever the program does."""

import asyncio

import pytest

from tests.unit.execution.runtimes.hosted.conftest import Hosted, Scripted
from trunkline import limits
from trunkline.execution.errors import TurnError
from trunkline.execution.runtimes.hosted.turn import Turn
from trunkline.execution.runtimes.hosted.turns import TURNS_QUEUED_MAX
from trunkline.execution.session import ipc


async def _hello(turn: Turn) -> str:
    turn.emit("text_chunk", content="Hello")
    return "Hello"


async def _for_ever(turn: Turn) -> str:
    turn.emit("text_chunk", content="…")
    await asyncio.Event().wait()
    return ""


def _kinds(hosted: Hosted) -> list[str]:
    return [event["type"] for event in hosted.events]


async def test_a_turn_ends_with_the_answer_after_what_it_took(hosted: Hosted) -> None:
    async def play(turn: Turn) -> str:
        turn.used("m-1", tokens_in=7, tokens_out=2, cost_usd=0.5)
        turn.used("m-1", tokens_in=3, tokens_out=1, cost_usd=0.25)
        return await _hello(turn)

    await hosted.host(Scripted(play))
    end = await hosted.ask("hi")
    assert (end["type"], end["content"]) == ("execution_complete", "Hello")
    assert _kinds(hosted) == ["text_chunk", "usage", "execution_complete"]
    usage = hosted.events[1]
    assert (usage["calls"], usage["tokens_in"], usage["tokens_out"]) == (2, 10, 3)
    assert usage["cost_usd"] == 0.75
    await hosted.settled()
    used = {"model": "m-1", "tokens_in": 10, "tokens_out": 3, "cost_usd": 0.75}
    assert hosted.reported("usage_report") == [used]


async def test_turns_run_one_at_a_time_in_the_order_of_their_messages(hosted: Hosted) -> None:
    running = 0

    async def play(turn: Turn) -> str:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0)
        running -= 1
        return turn.message

    await hosted.host(Scripted(play))
    turns = [hosted.say(text) for text in ("one", "two", "three")]
    ends = [await hosted.end(turn) for turn in turns]
    assert [end["content"] for end in ends] == ["one", "two", "three"]


async def test_a_message_too_many_is_refused_and_the_others_are_not(hosted: Hosted) -> None:
    program = Scripted(_for_ever)
    await hosted.host(program)
    hosted.say("runs")
    await hosted.event("text_chunk")
    waiting = [hosted.say(f"waits {number}") for number in range(TURNS_QUEUED_MAX)]
    refused = await hosted.ask("one too many")
    assert refused["code"] == "TURN_QUEUE_FULL"
    program.play = _hello
    hosted.send(ipc.Cancel())
    ends = [await hosted.end(turn) for turn in waiting]
    assert {end["type"] for end in ends} == {"execution_complete"}


async def test_a_cancelled_turn_has_one_end_that_says_so(hosted: Hosted) -> None:
    program = Scripted(_for_ever)
    await hosted.host(program)
    turn = hosted.say("hi")
    await hosted.event("text_chunk")
    hosted.send(ipc.Cancel())
    hosted.send(ipc.Cancel())
    end = await hosted.end(turn)
    assert (end["type"], end["cancelled"]) == ("execution_complete", True)
    program.play = _hello
    assert (await hosted.ask("again"))["content"] == "Hello"
    assert len(hosted.ends(turn)) == 1


async def test_a_program_that_does_not_stop_is_killed(hosted: Hosted) -> None:
    program = Scripted(_for_ever)

    async def deaf(turn: Turn) -> str:
        turn.emit("text_chunk", content="…")
        while not program.aborted.is_set():
            try:
                await program.aborted.wait()
            except asyncio.CancelledError:
                turn.emit("text_chunk", content="no")
        return "killed"

    program.play = deaf
    await hosted.host(program)
    turn = hosted.say("hi")
    await hosted.event("text_chunk")
    hosted.send(ipc.Cancel())
    await hosted.event("text_chunk", 1)
    assert hosted.clock is not None
    await hosted.clock.pass_time(limits.CANCEL_GRACE_S)
    end = await hosted.end(turn)
    assert (end["type"], end["cancelled"]) == ("execution_complete", True)
    assert program.ended == ["abort"]


@pytest.mark.parametrize(
    ("error", "code"),
    [(TurnError("RUNTIME_CRASHED", "gone"), "RUNTIME_CRASHED"), (ValueError("?"), "TURN_FAILED")],
)
async def test_a_turn_that_fails_says_why_and_the_next_runs(
    hosted: Hosted, error: Exception, code: str
) -> None:
    async def play(turn: Turn) -> str:
        raise error

    program = Scripted(play)
    await hosted.host(program)
    end = await hosted.ask("hi")
    assert (end["type"], end["code"]) == ("execution_error", code)
    assert str(error) in end["error"]
    program.play = _hello
    assert (await hosted.ask("again"))["content"] == "Hello"


async def test_a_turn_that_takes_too_long_ends_but_waiting_for_people_is_not_counted(
    hosted: Hosted,
) -> None:
    async def play(turn: Turn) -> str:
        await turn.permit(tool_name="bash", tool_input={"command": "ls"})
        return await _for_ever(turn)

    config = {"timeout_seconds": 100, "confirm": "always", "approval_timeout_seconds": 9000}
    await hosted.host(Scripted(play), session_config=config)
    turn = hosted.say("hi")
    question = await hosted.event("approval_request")
    assert hosted.clock is not None
    await hosted.clock.pass_time(5000)
    hosted.answer(question["request_id"], True)
    await hosted.event("text_chunk")
    assert hosted.ends(turn) == []
    await hosted.clock.pass_time(101)
    assert (await hosted.end(turn))["code"] == "TURN_TIMEOUT"


async def test_the_turn_of_an_earlier_process_ends(hosted: Hosted) -> None:
    await hosted.host(Scripted(_hello), turn_id="turn-before")
    assert (await hosted.end("turn-before"))["code"] == "SESSION_CRASHED"
    assert (await hosted.ask("go on"))["content"] == "Hello"


async def test_a_session_that_stops_ends_its_turn_and_its_program(hosted: Hosted) -> None:
    program = Scripted(_for_ever)
    await hosted.host(program)
    turn = hosted.say("hi")
    await hosted.event("text_chunk")
    assert await hosted.stop() == 0
    assert (await hosted.end(turn))["code"] == "SESSION_STOPPED"
    assert program.ended == ["close"]


async def test_new_settings_hold_from_the_next_turn_on(hosted: Hosted) -> None:
    async def play(turn: Turn) -> str:
        return turn.settings.model

    program = Scripted(play)
    await hosted.host(program, agent_config={"model": "m-1"})
    assert (await hosted.ask("which?"))["content"] == "m-1"
    hosted.send(ipc.ConfigUpdate(data={"model": "m-2", "mode": "plan"}))
    assert (await hosted.ask("which?"))["content"] == "m-2"
    assert program.configured == [{"model": "m-2", "mode": "plan"}]


async def test_what_a_program_says_after_the_end_goes_nowhere(hosted: Hosted) -> None:
    kept: list[Turn] = []

    async def play(turn: Turn) -> str:
        kept.append(turn)
        return "done"

    await hosted.host(Scripted(play))
    await hosted.ask("hi")
    kept[0].emit("text_chunk", content="late")
    await hosted.settled()
    assert _kinds(hosted) == ["usage", "execution_complete"]


async def test_a_tool_is_asked_about_shown_and_done_in_one(hosted: Hosted) -> None:
    async def shout(text: str) -> str:
        if not text:
            raise ValueError("there is nothing to shout")
        return text.upper()

    async def play(turn: Turn) -> str:
        return await turn.use("shout", {"text": turn.message}, shout)

    await hosted.host(Scripted(play), agent_config={"confirm": "dangerous"})
    for number, (confirmed, scope, said) in enumerate(
        [(False, "once", "the person said no"), (True, "once", "HI"), (True, "session", "HI")]
    ):
        turn = hosted.say("Hi")
        asked = await hosted.event("approval_request", number)
        assert asked["tool_input"] == {"text": "Hi"}
        hosted.answer(asked["request_id"], confirmed, scope=scope)
        assert (await hosted.end(turn))["content"] == said
    assert (await hosted.ask("Hi"))["content"] == "HI"  # for the session
    results = [one["result"] for one in hosted.of_type("tool_call_complete")]
    assert results == ["HI", "HI", "HI"]
    assert len(hosted.of_type("approval_request")) == 3


async def test_a_tool_that_fails_is_told_with_the_reason(hosted: Hosted) -> None:
    async def fail() -> str:
        raise OSError("no room")

    async def play(turn: Turn) -> str:
        return await turn.use("write", {}, fail)

    await hosted.host(Scripted(play))
    assert (await hosted.ask("Write"))["content"] == "no room"
    [done] = hosted.of_type("tool_call_complete")
    assert (done["result"], done["is_error"]) == ("no room", True)
