"""How an agent is talked to: in order, once, and not for ever."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.unit.control.edges.yeaft_line import MemoryLine, World, world
from trunkline import limits
from trunkline.control.sessions.records import NewSession
from trunkline.wire.commands import Forward

Json = dict[str, Any]


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(limits, "YEAFT_QUIET_S", 0.0)
    async with world(tmp_path / "data") as made:
        yield made


def kinds(line: MemoryLine) -> list[str]:
    return [one["type"] for one in line.sent]


def said(session: str, text: str) -> Json:
    content = [{"type": "text", "text": text}]
    data = {"type": "assistant", "message": {"role": "assistant", "content": content}}
    return {"type": "claude_output", "conversationId": session, "data": data}


async def ends(here: World, session: str) -> list[Json]:
    found = await here.events(session)
    return [one for one in found if one["type"].startswith("execution_")]


async def test_a_turn_that_is_answered_with_an_error_ends_with_its_words(here: World) -> None:
    session = await here.turn()
    here.line.hear({"type": "error", "conversationId": session, "message": "no such thing"})
    await here.say(session, "next")
    here.host.sweep()  # it is seen
    here.host.sweep()  # nothing came since
    (end,) = await ends(here, session)
    assert (end["type"], end["code"], end["error"]) == (
        "execution_error",
        "AGENT_ERROR",
        "no such thing",
    )
    await here.line.until("send_message", lambda one: one["text"] == "next")


async def test_a_turn_that_goes_on_behind_an_error_does_not_end(here: World) -> None:
    session = await here.turn()
    here.line.hear({"type": "error", "conversationId": session, "message": "a remark"})
    here.host.sweep()
    here.line.hear(said(session, "but"))
    here.host.sweep()
    here.host.sweep()
    assert await ends(here, session) == []


async def test_a_turn_that_the_agent_says_it_is_at_does_not_end(here: World) -> None:
    session = await here.turn()
    here.line.hear({"type": "error", "conversationId": session, "message": "a remark"})
    listed = [{"id": session, "processing": True}]
    here.line.hear({"type": "conversation_list", "conversations": listed})
    for _ in range(3):
        here.host.sweep()
    assert await ends(here, session) == []


async def test_a_message_that_nothing_was_heard_of_is_said_again(here: World) -> None:
    session = await here.turn()
    back = await here.again()
    back.hear({"type": "agent_sync_complete"})
    await back.until("resume_conversation")
    back.hear({"type": "session_ready", "conversationId": session})
    assert (await back.until("send_message"))["text"] == "go"


async def test_a_conversation_is_resumed_with_what_it_was_created_with(here: World) -> None:
    chosen = {"work_dir": "/srv/x", "disallowed_tools": ["Bash"], "options": {"model": "m"}}
    new = NewSession(machine_id=here.machine_id, session_config=chosen)
    session = (await here.core.sessions.create(here.who, new)).id
    created = await here.line.until("create_conversation")
    here.line.hear({"type": "session_ready", "conversationId": session, "sessionId": "own"})
    back = await here.again()
    back.hear({"type": "agent_sync_complete"})
    await here.say(session, "go")
    resumed = await back.until("resume_conversation")
    own = {"type": "resume_conversation", "sessionId": "own", "claudeSessionId": "own"}
    assert resumed == {**created, **own}
    assert resumed["disallowedTools"] == ["Bash"]


async def test_a_conversation_that_cannot_be_resumed_is_created_anew(here: World) -> None:
    session = await here.session()
    back = await here.again()
    back.hear({"type": "agent_sync_complete"})
    await here.say(session, "go")
    await back.until("resume_conversation")
    back.hear({"type": "error", "conversationId": session, "message": "not found"})
    await back.until("create_conversation")
    assert back.of_type("send_message") == []
    back.hear({"type": "session_ready", "conversationId": session})
    await back.until("send_message")
    assert await ends(here, session) == []


async def test_a_conversation_that_the_agent_lists_is_not_resumed(here: World) -> None:
    """A deployed agent stops what runs in a conversation that it is told to resume."""
    session = await here.session()
    back = await here.again()
    listed = [{"id": session, "processing": False}]
    back.hear({"type": "conversation_list", "conversations": listed})
    back.hear({"type": "agent_sync_complete"})
    await here.say(session, "go")
    await back.until("send_message")
    assert back.of_type("resume_conversation") == []


async def test_a_cancel_is_told_again_on_the_next_line(here: World) -> None:
    session = await here.turn()
    await here.core.sessions.cancel(here.who, session, "user")
    await here.line.until("cancel_execution")
    back = await here.again()
    back.hear({"type": "agent_sync_complete"})
    await back.until("cancel_execution")
    assert back.of_type("send_message") == []


async def test_messages_that_pass_do_not_overtake_those_that_wait(here: World) -> None:
    session = await here.session()
    machine = await here.core.machines.get(here.machine_id)
    back = await here.again()
    before, behind = (f'{{"type":"custom","n":{number}}}' for number in (1, 2))
    back.hear({"type": "agent_sync_complete"})
    await here.say(session, "one")
    await back.until("resume_conversation")
    with machine.input() as core:
        core.forward(Forward(session, "yeaft", before))
    await here.say(session, "two")
    with machine.input() as core:
        core.forward(Forward(session, "yeaft", behind))
    await here.core.log.flushed()
    assert "custom" not in kinds(back)
    back.hear({"type": "session_ready", "conversationId": session})
    told = [json.loads(text) for text in back.texts if "custom" in text or "send_message" in text]
    assert [one.get("text", one.get("n")) for one in told] == ["one", 1, 2]
    back.hear({"type": "claude_output", "conversationId": session, "data": {"type": "result"}})
    await back.until("send_message", lambda one: one["text"] == "two")


async def _lists_late(
    here: World, session: str, *said_first: Json, processing: bool | None
) -> None:
    back = await here.again()
    back.hear({"type": "agent_sync_complete"})

    async def begun() -> int:
        return len(back.begun)

    await eventually(begun, lambda count: count == 1)
    back.take_all([json.dumps(one, separators=(",", ":")) for one in said_first])
    listed = [] if processing is None else [{"id": session, "processing": processing}]
    back.hear({"type": "conversation_list", "conversations": listed})


@pytest.mark.parametrize("processing", [None, False], ids=["unlisted", "at rest"])
async def test_a_turn_that_a_late_list_does_not_have_is_lost(
    here: World, processing: bool | None
) -> None:
    session = await here.turn()
    here.line.hear(said(session, "begun"))
    await _lists_late(here, session, processing=processing)
    (end,) = await eventually(lambda: ends(here, session))
    assert (end["type"], end["code"]) == ("execution_error", "MACHINE_RESTARTED")


async def test_a_turn_that_a_late_list_has_goes_on(here: World) -> None:
    session = await here.turn()
    here.line.hear(said(session, "begun"))
    await _lists_late(here, session, processing=True)
    here.line.hear({"type": "conversation_list", "conversations": []})  # only the first one counts
    here.line.hear({"type": "claude_output", "conversationId": session, "data": {"type": "result"}})
    (end,) = await eventually(lambda: ends(here, session))
    assert (end["type"], end["content"]) == ("execution_complete", "begun")


@pytest.mark.parametrize("processing", [None, False], ids=["unlisted", "at rest"])
async def test_a_turn_that_speaks_on_the_same_line_outlives_a_late_list(
    here: World, processing: bool | None
) -> None:
    session = await here.turn()
    here.line.hear(said(session, "begun, "))
    more = said(session, "still here, ")
    await _lists_late(here, session, more, processing=processing)
    await here.core.tasks.done()
    here.line.hear(said(session, "done"))
    here.line.hear({"type": "claude_output", "conversationId": session, "data": {"type": "result"}})
    (end,) = await eventually(lambda: ends(here, session))
    assert (end["type"], end["content"]) == ("execution_complete", "begun, still here, done")


async def test_an_end_in_two_parts_is_not_cut_by_a_list_between_them(here: World) -> None:
    session = await here.session(ready=False)
    here.line.hear({"type": "conversation_created", "conversationId": session})
    await here.say(session, "go")
    await here.line.until("execute")
    here.line.hear(said(session, "all of it"))
    result = {"type": "claude_output", "conversationId": session, "data": {"type": "result"}}
    await _lists_late(here, session, result, processing=False)
    await here.core.tasks.done()
    here.line.hear({"type": "turn_completed", "conversationId": session})
    (end,) = await eventually(lambda: ends(here, session))
    assert (end["type"], end["content"]) == ("execution_complete", "all of it")


async def test_what_others_say_in_between_does_not_keep_a_lost_turn_alive(here: World) -> None:
    session = await here.turn()
    here.line.hear(said(session, "begun"))
    back = await here.again()
    back.hear(said(session, " and kept"))  # it was said before the agent's program was lost
    back.hear({"type": "agent_sync_complete"})
    await here.say(session, "next")
    back.hear({"type": "conversation_list", "conversations": []})
    (end,) = await eventually(lambda: ends(here, session))
    assert (end["type"], end["code"]) == ("execution_error", "MACHINE_RESTARTED")
