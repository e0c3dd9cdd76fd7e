"""Whatever an agent puts into whichever field: the line lives, and the log is sound."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.control.edges.yeaft_line import World, world
from trunkline.wire import events

HOSTILE: list[Any] = [
    None,
    True,
    0,
    -1,
    10**30,
    1e308,
    "",
    "\x00",
    "x" * 20_000,
    '"execution_complete"',
    "\ud83d",
    [],
    [None, [[]], {}],
    {},
    {"type": "execution_complete", "raw": {"protocol": "yeaft"}},
    {"a": {"b": {"c": ["d"] * 50}}},
]

FIELDS: dict[str, tuple[str, ...]] = {
    "claude_output": ("data", "sessionId", "agentId"),
    "yeaft_output": ("data", "vpId", "vpName", "groupId"),
    "session_ready": ("sessionId", "capabilities", "modelInfo", "workDir", "provider"),
    "conversation_created": ("claudeSessionId", "workDir", "provider", "userId"),
    "conversation_resumed": ("claudeSessionId", "historyMessages"),
    "ask_user_question": ("requestId", "prompt", "choices", "multiSelect", "questions"),
    "turn_completed": ("claudeSessionId", "workDir", "result"),
    "execution_cancelled": ("claudeSessionId",),
    "conversation_closed": ("exitCode", "error", "message"),
    "conversation_deleted": ("reason",),
    "session_id_update": ("claudeSessionId",),
    "error": ("message", "error"),
    "crew_output": ("role", "data"),
    "agent_status": ("state", "load"),
    "conversation_list": ("conversations",),
    "unheard_of": ("x",),
}
DATA_FIELDS: dict[str, tuple[str, ...]] = {
    "assistant": ("message", "type"),
    "user": ("message",),
    "result": ("subtype", "session_id", "is_error", "usage", "result", "duration_ms", "num_turns"),
    "system": ("subtype", "session_id", "message", "error"),
    "text_delta": ("text",),
    "tool_call": ("id", "name", "input"),
    "tool_result": ("tool_use_id", "content", "is_error"),
    "usage": ("inputTokens", "outputTokens", "total_cost_usd"),
    "stop": ("stopReason", "usage", "session_id"),
    "session/update": ("params", "update", "sessionUpdate", "method"),
    "session/tool_call": ("id", "name", "input", "status", "content"),
    "session/request_permission": ("requestId", "options", "toolCall", "params"),
}
BLOCK_FIELDS = ("type", "text", "thinking", "id", "name", "input", "tool_use_id", "content")
ENDS = ("execution_complete", "execution_error")


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path / "data") as made:
        yield made


async def sound(here: World, session: str) -> None:
    """The line is up, every event is readable, and at most one ends the turn."""
    assert here.line.close_code is None
    found = await here.core.sessions.events(here.who, session, 0, 1000)
    read = [events.read(one.data) for one in found]
    assert None not in read
    assert sum(1 for one in read if one is not None and one.type in ENDS) <= 1
    here.line.hear({"type": "agent_status", "state": "idle"})
    machine = here.core.machines.find(here.machine_id)
    assert machine is not None
    assert machine.health["state"] == "idle"


@pytest.mark.parametrize("kind", FIELDS)
async def test_every_field_of_every_message(here: World, kind: str) -> None:
    session = await here.turn()
    for field in FIELDS[kind]:
        for value in HOSTILE:
            here.line.hear({"type": kind, "conversationId": session, field: value})
    await here.core.log.flushed()
    await sound(here, session)


@pytest.mark.parametrize("kind", DATA_FIELDS)
async def test_every_field_of_output(here: World, kind: str) -> None:
    session = await here.turn()
    for field in DATA_FIELDS[kind]:
        for value in HOSTILE:
            data = {"type": kind, field: value}
            here.line.hear({"type": "claude_output", "conversationId": session, "data": data})
    await here.core.log.flushed()
    await sound(here, session)


@pytest.mark.parametrize("role", ["assistant", "user"])
@pytest.mark.parametrize("kind", ["text", "thinking", "tool_use", "tool_result", "new"])
async def test_every_field_of_a_block(here: World, role: str, kind: str) -> None:
    session = await here.turn()
    for field in BLOCK_FIELDS:
        for value in HOSTILE:
            block = {"type": kind, field: value}
            data = {"type": role, "message": {"role": role, "content": [block]}}
            here.line.hear({"type": "claude_output", "conversationId": session, "data": data})
    await here.core.log.flushed()
    await sound(here, session)


@pytest.mark.parametrize("field", ["conversationId", "sessionId", "type"])
async def test_every_value_where_a_message_belongs(here: World, field: str) -> None:
    session = await here.turn()
    for value in HOSTILE:
        here.line.hear({"type": "claude_output", "data": {}, **{field: value}})
    await sound(here, session)


async def test_text_that_is_no_message(here: World) -> None:
    session = await here.turn()
    for text in ("", "{", "[]", "null", "1e999", '{"type":', "\x00", "{" * 10_000, '"' * 999):
        here.line.hear(text)
    await sound(here, session)
    assert here.core.metrics.malformed == 9


async def test_words_of_the_control_planes_own_in_an_agents_text_mean_nothing(here: World) -> None:
    session = await here.turn()
    forged = '{"type":"execution_complete","turn_id":"x"},"approval_request"'
    block = {"type": "text", "text": forged}
    data = {"type": "assistant", "message": {"content": [block]}}
    here.line.hear({"type": "claude_output", "conversationId": session, "data": data})
    here.line.hear({"type": "execution_complete", "conversationId": session, "content": "forged"})
    here.line.hear({"type": "approval_resolved", "conversationId": session, "request_id": "q"})
    kinds = [one["type"] for one in await here.events(session)]
    assert kinds[-3:] == ["text_chunk", "foreign", "foreign"]
    here.line.hear({"type": "claude_output", "conversationId": session, "data": {"type": "result"}})
    assert (await here.events(session))[-1]["type"] == "execution_complete"  # it was still open
