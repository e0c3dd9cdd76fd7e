"""Odd, broken and greedy Yeaft web clients: answered, bounded, and nobody else's trouble."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.control import TestUser, running
from tests.support.metrics import metric
from tests.support.raw_ws import BINARY, RawWs
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import ScriptedWeb, web_of, web_url
from trunkline import limits
from trunkline.control.edges.yeaft_web.connection import HANDLERS
from trunkline.control.tuning import Tuning

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

UNREADABLE = ["", "{", "null", "[]", "7", '"x"', '{"a":1}', '{"type":null}', '{"type":["x"]}']
DEEP = "[" * 5_000 + "]" * 5_000
ODD: list[Any] = [None, True, -1, 10**30, "\u0000", "é" * 500, [[]], {"a": {}}]
FIELDS = [
    "conversationId",
    "agentId",
    "sessionId",
    "claudeSessionId",
    "groupId",
    "requestId",
    "clientMessageId",
    "text",
    "prompt",
    "title",
    "provider",
    "workDir",
    "options",
    "attachments",
    "mentions",
    "fileIds",
    "answer",
    "answers",
    "lastEventId",
    "beforeId",
    "afterMessageId",
    "turns",
    "limit",
    "silent",
    "positions",
    "catalogKey",
    "routeRef",
    "hidden",
    "sortRank",
    "sessions",
    "openFiles",
    "activeIndex",
    "workbenchRoute",
    "restoreRequestId",
]


async def _is_alive(web: ScriptedWeb) -> bool:
    await web.send("ping", requestId="alive?")
    return bool(await web.expect("pong", lambda one: one.get("requestId") == "alive?"))


async def test_what_cannot_be_read_is_an_error_and_the_connection_lives(user: TestUser) -> None:
    async with web_of(user) as web:
        before = await metric(user.control, "ws_malformed_messages_total")
        for text in (*UNREADABLE, DEEP, '{"type":"chat","conversationId":"\\ud800"}'):
            seen = len(web.received)
            await web.send_text(text)
            error = await web.expect("error", since=seen)
            assert error["code"], text
            assert error["message"], text
        assert await metric(user.control, "ws_malformed_messages_total") >= before + len(UNREADABLE)
        assert await _is_alive(web)


@pytest.mark.parametrize("kind", sorted({one: name for name, one in HANDLERS.items()}.values()))
async def test_no_field_of_any_message_however_odd_breaks_anything(
    user: TestUser, vm: ScriptedVm, kind: str
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        good: dict[str, Any] = {"conversationId": session, "requestId": "r", "text": "hi"}
        for field in FIELDS:
            for value in ODD:
                await web.send(kind, **{**good, field: value})
        assert await _is_alive(web)
        codes = {one["code"] for one in web.of_type("error")}
        assert "INTERNAL_ERROR" not in codes, web.of_type("error")
        assert all(one["message"] for one in web.of_type("error"))


async def test_frames_that_are_no_text_end_the_connection(user: TestUser) -> None:
    async with RawWs(web_url(user)) as raw:
        await raw.expect("auth_result")
        await raw.frame(BINARY, b"{}")
        assert await raw.closed() == 1003
    async with RawWs(web_url(user)) as raw:
        await raw.expect("auth_result")
        await raw.text(b'{"type":"\xff"}')
        assert await raw.closed() == 1007


async def test_a_message_over_the_bound_ends_the_connection(user: TestUser) -> None:
    async with RawWs(web_url(user)) as raw:
        await raw.expect("auth_result")
        await raw.text(b'{"type":"' + b"x" * limits.FRAME_BYTES_MAX + b'"}')
        assert await raw.closed() == 1009


async def test_messages_and_fields_over_their_bounds_are_refused(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        file = {"name": "a", "mime": "x", "base64": "QQ=="}
        large = {**file, "base64": "Q" * (limits.ATTACHMENTS_BYTES_MAX + 1)}
        for fields in (
            {"text": "x" * (limits.MESSAGE_CHARS_MAX + 1)},
            {"text": ""},
            {"text": "x", "attachments": [file] * (limits.ATTACHMENTS_MAX + 1)},
            {"text": "x", "attachments": [large]},
            {"text": "x", "clientMessageId": "c" * (limits.NAME_CHARS_MAX + 1)},
            {"text": "x", "more": "y" * limits.YEAFT_FIELDS_BYTES_MAX},
            {"text": "x", "mentions": ["m"] * (limits.PERSONS_PER_USER_MAX + 1)},
        ):
            refused = await web.ask("send_message", "error", conversationId=session, **fields)
            assert refused["code"] in ("INVALID_REQUEST", "TOO_LARGE"), fields
        long = "t" * (limits.NAME_CHARS_MAX + 1)
        assert (await web.ask("create_conversation", "error", title=long))["code"]
        assert vm.of_type("user_message") == []


async def test_many_messages_at_once_are_answered_in_order(user: TestUser) -> None:
    async with web_of(user) as web:
        for number in range(500):
            await web.send("ping", requestId=number)
        await web.expect("pong", lambda one: one["requestId"] == 499)
        assert [one["requestId"] for one in web.of_type("pong")] == list(range(500))


async def test_a_client_that_does_not_read_is_cut_and_slows_nobody(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web, RawWs(web_url(user)) as deaf:
        session = await web.create()
        await vm.expect("start_session")
        await deaf.send({"type": "resume_conversation", "conversationId": session})
        await deaf.expect("session_ready")
        deaf.stop_reading()
        for _ in range(60):
            seen = len(web.received)
            await vm.text(session, "x" * 500_000)
            await web.expect("claude_output", since=seen)
        deaf.go_on_reading()
        await deaf.until(lambda: deaf.ended, "end of the connection")
        assert len(deaf.frames) < 60
        assert await _is_alive(web)


async def test_handshakes_that_fail_leave_room_for_those_that_do_not(user: TestUser) -> None:
    parts = urlsplit(web_url(user))
    broken = (
        f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    ).encode()
    for _ in range(50):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(broken)
        await reader.read()
        writer.close()
    async with web_of(user) as web:
        assert await _is_alive(web)


async def test_a_request_that_is_no_name_of_ours_is_cut_in_the_answer(user: TestUser) -> None:
    async with web_of(user) as web:
        error = await web.ask("y" * 10_000, "error")
        assert len(error["request"]) <= limits.NAME_CHARS_MAX
        assert len(json.dumps(error)) < 20_000


async def test_a_client_with_much_that_waits_is_not_read_until_it_is_done(
    tmp_path: Path,
) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        reached.set()
        await go_on.wait()

    tuning = Tuning(yeaft_requests_bytes_max=200_000)
    async with running(tmp_path / "data", tuning=tuning, rate_limit_per_minute=0) as control:
        user = await control.user()
        async with web_of(user) as web:
            with control.records.before("FROM machines", slow):
                await web.send("list_agents", requestId="slow")
                await reached.wait()
                for number in range(20):
                    await web.send("ping", requestId=number, pad="x" * 50_000)
                alive = asyncio.create_task(web.ping())
                for _ in range(5):
                    await control.ok("GET", "/users")  # time enough for an answer
                assert not alive.done()
                go_on.set()
                await alive
            await web.expect("pong", lambda one: one["requestId"] == 19)
            assert [one["requestId"] for one in web.of_type("pong")] == list(range(20))


async def test_a_machine_cannot_put_words_of_the_hub_into_a_clients_stream(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await vm.expect("start_session")
        since = len(web.received)
        for raw in (
            '{"protocol":"yeaft","message":{},"x":1}',
            '{"protocol":"yeaft","message":{"type":"auth_result","success":false}}',
        ):
            data = f'{{"type":"text_chunk","content":"hi","raw":{raw}}}'
            await vm.send({"type": "sse_event", "session_id": session, "data": data})
        await vm.text(session, "!")
        await web.until(lambda _new: web.text_of(session) == "hihi!")
        assert {one["type"] for one in web.received[since:]} == {"claude_output"}
        resumed = await web.ask("resume_conversation", "session_ready", conversationId=session)
        assert "auth_result" not in json.dumps(resumed)
