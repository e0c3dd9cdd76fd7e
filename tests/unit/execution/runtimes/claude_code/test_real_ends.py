"""How turns and processes of the real Claude Code end, and how a conversation goes on after it."""

import asyncio
import json

import psutil
import pytest

from tests.support.eventually import until
from tests.support.model_server import Gate, ModelServer, Turn
from tests.unit.execution.runtimes.claude_code.conftest import Talk, bash, real_program
from trunkline.execution.session import ipc

pytestmark = pytest.mark.programs


@pytest.fixture
def talk(talk: Talk) -> Talk:
    talk.program = real_program()
    return talk


def claude(talk: Talk) -> psutil.Process:
    return talk.children()[0]


def running(name: str) -> list[psutil.Process]:
    return [one for one in psutil.Process().children(recursive=True) if one.name() == name]


async def test_a_cancel_in_the_middle_of_the_text_keeps_the_conversation(
    talk: Talk, model: ModelServer
) -> None:
    gate = Gate()
    model.script(Turn(chunks=["One ", gate, "two"]), Turn(text="Fine"))
    await talk.host()
    turn = talk.say("count")
    await talk.event("text_chunk")
    pid = claude(talk).pid
    talk.send(ipc.Cancel())
    end = await talk.end(turn)
    assert (end["type"], end["cancelled"]) == ("execution_complete", True)
    assert (await talk.ask("and now?"))["content"] == "Fine"
    assert "One" in json.dumps(model.requests[-1].messages)
    assert claude(talk).pid == pid
    assert len(talk.ends(turn)) == 1


async def test_a_cancel_in_a_tool_ends_the_command(talk: Talk, model: ModelServer) -> None:
    model.script(bash("tail -f /dev/null"), Turn(text="Fine"))
    await talk.host()
    turn = talk.say("wait")
    [command] = await until(lambda: running("tail"))
    talk.send(ipc.Cancel())
    assert (await talk.end(turn))["cancelled"]
    await until(lambda: not command.is_running())
    assert (await talk.ask("and now?"))["content"] == "Fine"


async def test_a_cancel_while_a_person_is_asked(talk: Talk, model: ModelServer) -> None:
    model.script(bash("touch never"), Turn(text="Fine"))
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("make it")
    question = await talk.question()
    talk.send(ipc.Cancel())
    assert (await talk.end(turn))["cancelled"]
    [resolved] = talk.of_type("approval_resolved")
    assert (resolved["request_id"], resolved["reason"]) == (question["request_id"], "cancelled")
    assert (await talk.ask("and now?"))["content"] == "Fine"


async def test_a_program_that_is_killed_ends_its_turn_and_the_next_remembers(
    talk: Talk, model: ModelServer
) -> None:
    gate = Gate()
    model.script(Turn(text="Noted"), Turn(chunks=["Once ", gate, "more"]), Turn(text="Seven"))
    await talk.host()
    await talk.ask("my number is seven")
    turn = talk.say("tell me a story")
    await talk.event("text_chunk", 1)
    claude(talk).kill()
    end = await talk.end(turn)
    assert (end["type"], end["code"]) == ("execution_error", "RUNTIME_CRASHED")
    assert "signal 9" in end["error"]
    assert (await talk.ask("my number?"))["content"] == "Seven"
    assert "my number is seven" in json.dumps(model.requests[-1].messages)
    costs = [one["cost_usd"] for one in talk.of_type("usage") if "cost_usd" in one]
    assert costs[-1] == pytest.approx(costs[0])


async def test_a_conversation_goes_on_in_another_process(talk: Talk, model: ModelServer) -> None:
    model.script(Turn(text="Noted"), Turn(text="Seven"))
    await talk.host()
    await talk.ask("my number is seven")
    assert await talk.stop() == 0
    assert talk.children() == []
    await talk.host()
    history = [{"role": "user", "content": "something else"}]
    assert (await talk.ask("my number?", history=history))["content"] == "Seven"
    said = json.dumps(model.requests[-1].messages)
    assert "my number is seven" in said
    assert "something else" not in said
    first, second = talk.of_type("usage")
    assert first["cost_usd"] == pytest.approx(second["cost_usd"])


async def test_a_conversation_that_is_not_on_this_machine_begins_with_what_was_said(
    talk: Talk, model: ModelServer
) -> None:
    model.script(Turn(text="Noted"), Turn(text="Seven"))
    await talk.host()
    await talk.ask("my number is seven")
    await talk.stop()
    talk.env["HOME"] = str(talk.workspace)  # another user's, which knows nothing
    await talk.host()
    history = [
        {"role": "user", "content": "my number is seven"},
        {"role": "assistant", "content": "Noted"},
    ]
    assert (await talk.ask("my number?", history=history))["content"] == "Seven"
    assert "Person: my number is seven" in json.dumps(model.requests[-1].messages)


async def test_nothing_is_left_when_the_session_stops_in_the_middle(
    talk: Talk, model: ModelServer
) -> None:
    model.script(bash("tail -f /dev/null"))
    await talk.host()
    turn = talk.say("wait")
    await talk.event("tool_call_start")
    await until(lambda: running("tail"))
    everyone = [claude(talk), *claude(talk).children(recursive=True)]
    assert await talk.stop() == 0
    assert (await talk.end(turn))["code"] == "SESSION_STOPPED"
    await until(lambda: not any(one.is_running() for one in everyone))


async def test_two_turns_that_were_said_at_once_are_done_in_order(
    talk: Talk, model: ModelServer
) -> None:
    model.script(Turn(text="One"), Turn(text="Two"))
    await talk.host()
    turns = [talk.say("first"), talk.say("second")]
    ends = await asyncio.gather(*map(talk.end, turns))
    assert [end["content"] for end in ends] == ["One", "Two"]
