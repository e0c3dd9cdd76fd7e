"""Every id that a client can name, tried by somebody whose it is not.

Each is refused with the very answer that an id gets which exists nowhere, and is audited; what
exists nowhere is not. The owner's machines hear nothing of it.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from tests.support.control import Control, TestUser
from tests.support.matrix.json_socket import Json, JsonSocket
from tests.support.matrix.treasure import (
    NOWHERE,
    Treasure,
    audited,
    refused,
    same,
    untouched,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


REST: list[tuple[str, str, Json | None, str, str]] = [
    ("GET", "/sessions/{}", None, "session", "session"),
    ("POST", "/sessions/{}/messages", {"message": "hi"}, "session", "session"),
    ("POST", "/sessions/{}/cancel", {}, "session", "session"),
    ("DELETE", "/sessions/{}", None, "session", "session"),
    ("PATCH", "/sessions/{}", {"title": "mine"}, "session", "session"),
    ("PATCH", "/sessions/{}/config", {"temperature": 0}, "session", "session"),
    ("GET", "/sessions/{}/events", None, "session", "session"),
    ("GET", "/sessions/{}/snapshot", None, "session", "session"),
    ("POST", "/approvals/{}", {"confirmed": True}, "approval", "approval"),
    ("POST", "/approvals/{}", {"confirmed": True}, "request", "approval"),
    ("GET", "/machines/{}", None, "machine", "machine"),
    ("GET", "/groups/{}", None, "group", "group"),
    ("GET", "/persons/{}", None, "person", "person"),
    ("GET", "/agents/{}", None, "agent", "agent"),
]


@pytest.mark.parametrize(("method", "path", "body", "what", "kind"), REST)
async def test_rest_does_not_find_what_is_anothers(
    control: Control,
    eve: TestUser,
    treasure: Treasure,
    method: str,
    path: str,
    body: Json | None,
    what: str,
    kind: str,
) -> None:
    name = treasure.ids[what]
    status, answer = await eve.call(method, path.format(name), body)
    other_status, other = await eve.call(method, path.format(NOWHERE), body)
    assert (status, other_status) == (404, 404)
    same(answer, other, name)
    await audited(control, eve, "rest", kind, name)
    await untouched(treasure)


async def test_a_reader_does_not_find_what_is_anothers(
    control: Control, eve: TestUser, treasure: Treasure
) -> None:
    name = treasure.ids["session"]
    status, answer = await eve.call("GET", f"/sessions/{name}/stream")
    other_status, other = await eve.call("GET", f"/sessions/{NOWHERE}/stream")
    assert (status, other_status) == (404, 404)
    same(answer, other, name)
    await audited(control, eve, "sse", "session", name)


@pytest.mark.parametrize(
    ("field", "what"),
    [
        ("machine_id", "machine"),
        ("machine_id", "guid"),
        ("machine_id", "group"),
        ("agent_id", "agent"),
    ],
)
async def test_rest_makes_no_session_with_what_is_anothers(
    control: Control, eve: TestUser, treasure: Treasure, field: str, what: str
) -> None:
    name = treasure.ids[what]
    async with await eve.vm():  # else a session of hers would fail for want of a machine
        status, answer = await eve.call("POST", "/sessions", {field: name})
        other_status, other = await eve.call("POST", "/sessions", {field: NOWHERE})
    assert (status, other_status) == (404, 404)
    same(answer, other, name)
    await audited(control, eve, "rest", field.removesuffix("_id"), name)


class Attempt(NamedTuple):
    """A message that names what is Ann's. `make` is given the id; `kind` is what is audited."""

    what: str
    kind: str
    make: Callable[[str], Json]

    def __str__(self) -> str:
        message = self.make("ID")
        return f"{message.get('event') or message.get('type')}-{self.what}"


def myagent(event: str, what: str = "session", kind: str = "session", **fields: Any) -> Attempt:
    def make(name: str) -> Json:
        filled = json.loads(json.dumps(fields).replace("ID", name))
        return {"event": event, "session_id": name, **filled}

    return Attempt(what, kind, make)


def yeaft(kind_: str, field: str, what: str, kind: str, **fields: Any) -> Attempt:
    return Attempt(what, kind, lambda name: {"type": kind_, field: name, **fields})


MYAGENT = [
    myagent("user.message", content="hi"),
    myagent("user.response", step_id=f"confirm_{uuid4()}_bash", content=True),
    myagent("user.cancel"),
    myagent("user.reconnect"),
    myagent("user.reconnect", last_seq=0),
    myagent("user.request_state"),
    Attempt(
        "machine",
        "machine",
        lambda name: {"event": "user.create_session", "content": {"machine_id": name}},
    ),
    Attempt(
        "guid",
        "machine",
        lambda name: {"event": "user.create_session", "content": {"machine_id": name}},
    ),
    Attempt(
        "agent",
        "agent",
        lambda name: {"event": "user.create_session", "content": {"agent_id": name}},
    ),
]

YEAFT = [
    yeaft("send_message", "conversationId", "session", "session", text="hi"),
    yeaft("chat", "conversationId", "session", "session", prompt="hi"),
    yeaft("execute", "conversationId", "session", "session", prompt="hi"),
    yeaft("cancel_execution", "conversationId", "session", "session"),
    yeaft("resume_conversation", "conversationId", "session", "session"),
    yeaft("resume_conversation", "conversationId", "session", "session", lastEventId=0),
    yeaft("resume_conversation", "sessionId", "session", "session"),
    yeaft("delete_conversation", "conversationId", "session", "session"),
    yeaft("select_conversation", "conversationId", "session", "session"),
    yeaft("sync_messages", "conversationId", "session", "session", turns=5),
    yeaft("refresh_conversation", "conversationId", "session", "session"),
    yeaft("ping_session", "conversationId", "session", "session"),
    yeaft("update_conversation_settings", "conversationId", "session", "session", title="mine"),
    yeaft("list_folders", "conversationId", "session", "session"),
    yeaft("something_new", "conversationId", "session", "session"),
    yeaft("ask_user_answer", "requestId", "request", "approval", answer="yes"),
    yeaft("ask_user_answer", "requestId", "approval", "approval", answer="yes"),
    yeaft("create_conversation", "agentId", "machine", "machine", provider="claude-code"),
    yeaft("create_conversation", "agentId", "guid", "machine", provider="claude-code"),
    yeaft("list_folders", "agentId", "machine", "machine"),
    yeaft("select_agent", "agentId", "machine", "machine"),
    yeaft("list_conversations", "agentId", "machine", "machine"),
    yeaft("list_history_sessions", "agentId", "machine", "machine"),
    yeaft("resume_conversation", "agentId", "machine", "machine", sessionId="s"),
    yeaft("restart_agent", "agentId", "machine", "machine"),
    yeaft("yeaft_session_chat", "groupId", "group", "group", text="hi"),
    yeaft("unify_group_chat", "groupId", "group", "group", text="hi"),
]


async def heard_nothing(treasure: Treasure, socket: JsonSocket, attempt: Attempt) -> None:
    """Whoever was refused does not follow the session either."""
    session = treasure.ids["session"]
    await treasure.vm.text(session, "secret")
    async with treasure.ann.reader(session) as reader:
        await reader.until_text("secret")
    await refused(socket, attempt.make(NOWHERE))
    assert "secret" not in json.dumps(socket.received)


@pytest.mark.proves(
    "001-6-session-not-found", "001-7-session-isolation", "001-7-error-kinds-are-told-apart"
)
@pytest.mark.parametrize("attempt", MYAGENT, ids=str)
async def test_a_myagent_client_does_not_find_what_is_anothers(
    control: Control, eve: TestUser, treasure: Treasure, attempt: Attempt
) -> None:
    name = treasure.ids[attempt.what]
    async with await eve.vm():  # else a session of hers would fail for want of a machine
        socket = JsonSocket(control.url.replace("http", "ws", 1) + "/ws/myagent")
        await socket.connect(Authorization=f"Bearer {eve.token}")
        answer = await refused(socket, attempt.make(name))
        same(answer, await refused(socket, attempt.make(NOWHERE)), name)
        code = f"{attempt.kind.upper()}_NOT_FOUND"
        event = "agent.error" if attempt.kind == "session" else "system.error"
        assert (answer["event"], answer["metadata"]["error_code"]) == (event, code)
        await heard_nothing(treasure, socket, attempt)
        await socket.leave()
    await audited(control, eve, "myagent", attempt.kind, name)
    await untouched(treasure)


@pytest.mark.proves("002-9-owner-only")
@pytest.mark.parametrize("attempt", YEAFT, ids=str)
async def test_a_yeaft_client_does_not_find_what_is_anothers(
    control: Control, eve: TestUser, treasure: Treasure, attempt: Attempt
) -> None:
    name = treasure.ids[attempt.what]
    address = control.url.replace("http", "ws", 1)
    socket = await JsonSocket(f"{address}/ws/yeaft?type=web&token={eve.token}").connect()
    answer = await refused(socket, attempt.make(name))
    same(answer, await refused(socket, attempt.make(NOWHERE)), name)
    assert answer["code"] == f"{attempt.kind.upper()}_NOT_FOUND"
    await heard_nothing(treasure, socket, attempt)
    await socket.leave()
    await audited(control, eve, "yeaft", attempt.kind, name)
    await untouched(treasure)
