"""Messages that cannot be read, or not yet: skipped, counted, and the line lives on."""

import json

import pytest
import pytest_asyncio

from tests.support.alive import assert_alive, texts
from tests.support.control import Control, TestUser
from tests.support.metrics import metric
from tests.support.raw_ws import (
    RawWs,
)

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def session(user: TestUser, line: RawWs) -> str:
    session_id = await user.session()
    await line.expect("start_session")
    return session_id


MALFORMED = {
    "empty": b"",
    "broken JSON": b'{"type": "heartbeat"',
    "more after the end": b'{"type": "heartbeat"} {}',
    "no JSON at all": b"GET / HTTP/1.1",
    "a number": b"42",
    "a list": b'[{"type": "heartbeat"}]',
    "null": b"null",
    "no type": b'{"session_id": "s"}',
    "type is a number": b'{"type": 7}',
    "type is null": b'{"type": null}',
    "event without data": b'{"type": "sse_event", "session_id": "s"}',
    "event without session": b'{"type": "sse_event", "data": "{}"}',
    "data is a number": b'{"type": "sse_event", "session_id": "s", "data": 1}',
    "session is an object": b'{"type": "sse_event", "session_id": {}, "data": "{}"}',
    "seq is text": b'{"type": "sse_event", "session_id": "s", "data": "{}", "seq": "1"}',
    "seq is huge": b'{"type": "sse_event", "session_id": "s", "data": "{}", "seq": 1e30}',
    "sessions are a number": b'{"type": "heartbeat", "active_sessions": 1}',
    "sessions of numbers": b'{"type": "heartbeat", "active_sessions": [1]}',
    "request without id": b'{"type": "request", "session_id": "s", "method": "get_config"}',
    "params are a list": b'{"type": "request", "id": "1", "method": "get_config", "params": []}',
    "resume of an object": b'{"type": "resume", "pending_ids": {"a": 1}}',
    "batch of numbers": b'{"type": "batch", "events": [1, 2]}',
    "auth without token": b'{"type": "auth"}',
    "half a surrogate pair": b'{"type": "sse_event", "session_id": "s", "data": "\\ud800"}',
    "raw control character": b'{"type": "heart\x00beat"}',
    "deep list": b'{"type": "heartbeat", "health": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "deep object": b'{"type": "heartbeat", "health": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "huge number": b'{"type": "heartbeat", "health": {"a": 1e999}}',
}


@pytest.mark.parametrize("message", MALFORMED.values(), ids=MALFORMED.keys())
@pytest.mark.proves("000-8-malformed-message-is-skipped")
async def test_a_malformed_message_is_counted_and_skipped_and_the_line_lives_on(
    control: Control, user: TestUser, line: RawWs, session: str, message: bytes
) -> None:
    before = await metric(control, "ws_malformed_messages_total")
    await line.text(message)
    await assert_alive(user, line, session)
    assert await metric(control, "ws_malformed_messages_total") == before + 1
    assert await texts(user, session) == ["still here"]


TOLERATED = {
    "unknown type": b'{"type": "from_the_future", "session_id": "s", "payload": {}}',
    "unknown fields": b'{"type": "heartbeat", "active_sessions": [], "mood": ["good"]}',
    "timestamp": b'{"type": "heartbeat", "timestamp": "2026-01-01T00:00:00Z"}',
    "escapes": b'{"type":"\\u0068eartbeat"}',
    "huge list": b'{"type": "heartbeat", "active_sessions": [' + b'"s",' * 200_000 + b'"s"]}',
    "many sessions that never were": json.dumps(
        {"type": "heartbeat", "active_sessions": [f"s{number}" for number in range(50_000)]}
    ).encode(),
    "huge unknown field": b'{"type": "heartbeat", "more": "' + b"x" * 5_000_000 + b'"}',
}


@pytest.mark.parametrize("message", TOLERATED.values(), ids=TOLERATED.keys())
async def test_what_this_version_does_not_know_is_tolerated(
    control: Control, user: TestUser, line: RawWs, session: str, message: bytes
) -> None:
    before = await metric(control, "ws_malformed_messages_total")
    await line.text(message)
    await assert_alive(user, line, session)
    assert await metric(control, "ws_malformed_messages_total") == before


@pytest.mark.proves("000-4.2-data-not-parsed")
async def test_event_data_that_is_deep_or_no_json_reaches_readers_as_it_is(
    user: TestUser, line: RawWs, session: str
) -> None:
    strange = ["[" * 100_000, "not json", "", '{"type":"execution_complete"', '"approval_request"']
    strange.append('{"type":"approval_request","request_id":"r","foo":1e999}')
    strange.append('{"type":"execution_error","x":' + "[" * 100_000 + "]" * 100_000 + "}")
    for data in strange:
        await line.send({"type": "sse_event", "session_id": session, "data": data})
    await line.event(session, "last")
    async with user.reader(session) as reader:
        await reader.until(lambda one: one.last_id == len(strange) + 1, "the last event")
        assert [event.data for event in reader.events[:-1]] == strange
    page = await user.ok("GET", f"/sessions/{session}/events")
    assert page["items"][1]["event"] == "not json"


async def test_line_breaks_in_event_data_cannot_forge_an_sse_field(
    user: TestUser, line: RawWs, session: str
) -> None:
    data = '{"type":\r\n"text_chunk",\n\nid: 99\n\ndata: "forged"}'
    await line.send({"type": "sse_event", "session_id": session, "data": data})
    await line.event(session, "last")
    async with user.reader(session) as reader:
        await reader.until(lambda one: one.last_id == 2)
        assert reader.ids == [1, 2]
        assert reader.events[0].data == data.replace("\r", " ").replace("\n", " ")
