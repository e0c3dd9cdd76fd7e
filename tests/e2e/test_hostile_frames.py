"""Frames that break RFC 6455 or the wire, each with its documented answer, on a raw socket."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.support.control import Control, ControlProcess, TestUser, running
from tests.support.raw_ws import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    RawWs,
    encode_frame,
    raw_line,
)
from trunkline import limits

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAX = limits.FRAME_BYTES_MAX


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Control]:
    data = tmp_path_factory.mktemp("control") / "data"
    async with running(data, rate_limit_per_minute=0) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def user(control: Control) -> TestUser:
    return await control.user()


@pytest_asyncio.fixture(loop_scope="module")
async def line(user: TestUser) -> AsyncIterator[RawWs]:
    async with await raw_line(user) as live:
        yield live


@pytest_asyncio.fixture(loop_scope="module")
async def session(user: TestUser, line: RawWs) -> str:
    session_id = await user.session()
    await line.expect("start_session")
    return session_id


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_fault_in_the_loop() -> AsyncIterator[None]:
    """What a protocol raises ends in the loop's own handler, where nobody would see it."""
    faults: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: faults.append(context))
    yield
    loop.set_exception_handler(None)
    assert faults == []


async def metric(control: Control, name: str) -> float:
    """The sum of a metric over its labels; 0 while it has none."""
    async with aiohttp.ClientSession() as http, http.get(control.url + "/metrics") as answer:
        text = await answer.text()
    return sum(map(float, re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE)))


async def texts(user: TestUser, session_id: str) -> list[str]:
    """What the session's log holds."""
    page = await user.ok("GET", f"/sessions/{session_id}/events?limit=1000")
    return [item["event"]["content"] for item in page["items"]]


async def assert_alive(user: TestUser, line: RawWs, session_id: str) -> None:
    """The line lives on: an event still flows from it to a reader."""
    await line.event(session_id, "still here")
    async with user.reader(session_id) as reader:
        await reader.until_text("still here")


def an_event(session_id: str, content: str) -> bytes:
    data = json.dumps({"type": "text_chunk", "content": content})
    return json.dumps({"type": "sse_event", "session_id": session_id, "data": data}).encode()


def an_event_of(session_id: str, size: int) -> bytes:
    """An event whose whole message has exactly that many bytes."""
    return an_event(session_id, "x" * (size - len(an_event(session_id, ""))))


# --- Messages that cannot be read: warned of, counted, skipped -----------------------------------

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


# --- Frames that RFC 6455 or the document forbids: the line ends with the code for it ------------


def broken(code: int, name: str, *frames: bytes) -> object:
    return pytest.param(frames, code, id=name)


BAD_UTF8 = b'{"type": "heartbeat", "x": "\xff"}'
EURO = '{"type": "heartbeat", "x": "€"}'.encode()
CUT = EURO.index("€".encode()) + 1  # inside the character

BROKEN = [
    broken(1003, "binary frame", encode_frame(BINARY, b"{}")),
    broken(1003, "binary fragment", encode_frame(BINARY, b"{}", fin=False)),
    broken(1002, "unmasked frame", encode_frame(TEXT, b"{}", masked=False)),
    broken(1002, "unmasked ping", encode_frame(PING, b"", masked=False)),
    *(broken(1002, f"reserved bit {bit}", encode_frame(TEXT, b"{}", rsv=bit)) for bit in (1, 2, 4)),
    broken(1002, "reserved bit on a ping", encode_frame(PING, b"", rsv=4)),
    *(broken(1002, f"opcode {code:#x}", encode_frame(code, b"{}")) for code in (3, 7, 0xB, 0xF)),
    broken(1002, "control frame over 125 bytes", encode_frame(PING, b"x" * 126)),
    broken(1002, "fragmented ping", encode_frame(PING, b"x", fin=False)),
    broken(1002, "continuation of nothing", encode_frame(CONTINUATION, b"{}")),
    broken(
        1002,
        "new message inside another",
        encode_frame(TEXT, b"{", fin=False) + encode_frame(TEXT, b"{}"),
    ),
    broken(1002, "length not minimal", encode_frame(TEXT, b"{}", length_bytes=2)),
    broken(1002, "length with its highest bit", encode_frame(TEXT, b"{}", length=2**63)),
    broken(1002, "close with half a code", encode_frame(CLOSE, b"\x03")),
    broken(1002, "close with a forbidden code", encode_frame(CLOSE, b"\x03\xe7")),
    broken(1007, "close with a reason that is no text", encode_frame(CLOSE, b"\x03\xe8\xff")),
    broken(1007, "bad UTF-8", encode_frame(TEXT, BAD_UTF8)),
    broken(
        1007,
        "bad UTF-8 in the second fragment",
        encode_frame(TEXT, BAD_UTF8[:20], fin=False) + encode_frame(CONTINUATION, BAD_UTF8[20:]),
    ),
    broken(
        1007,
        "half a character at the end of the last fragment",
        encode_frame(TEXT, EURO[:3], fin=False) + encode_frame(CONTINUATION, EURO[3:CUT]),
    ),
    broken(1007, "overlong encoding", encode_frame(TEXT, b'"\xc0\xaf"')),
    broken(1007, "surrogate in UTF-8", encode_frame(TEXT, b'"\xed\xa0\x80"')),
    broken(1009, "length of 2**62", encode_frame(TEXT, b"{}", length=2**62)),
    broken(1009, "one byte too many", encode_frame(TEXT, b"", length=MAX + 1)),
    broken(1009, "too long a fragment", encode_frame(TEXT, b"", fin=False, length=MAX + 1)),
]


@pytest.mark.parametrize(("frames", "code"), BROKEN)
@pytest.mark.proves("000-1-no-binary-frames")
async def test_a_forbidden_frame_ends_the_line_with_its_code_and_nothing_behind_it_is_taken(
    user: TestUser, line: RawWs, session: str, frames: tuple[bytes, ...], code: int
) -> None:
    behind = encode_frame(TEXT, an_event(session, "too late"))
    await line.raw(b"".join(frames) + behind)
    assert await line.closed() == code
    assert await texts(user, session) == []


@pytest.mark.parametrize(("frames", "code"), BROKEN)
async def test_a_forbidden_first_frame_ends_the_line_before_authentication(
    user: TestUser, frames: tuple[bytes, ...], code: int
) -> None:
    async with await RawWs(f"{user.ws_url}?user_id={user.id}").connect() as line:
        await line.raw(b"".join(frames))
        assert await line.closed() == code


async def test_the_machine_is_offline_as_soon_as_its_line_broke_the_rules(
    user: TestUser, line: RawWs, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLOSE_GRACE_S", 3600.0)
    line.stays = True
    async with user.reader(session) as reader:
        await line.frame(TEXT, b"{}", masked=False)
        status = await reader.until_type("session_status")
        assert status["machine"] == "offline"


# --- Size ----------------------------------------------------------------------------------------


@pytest.mark.proves("000-9-frame-10-mb")
async def test_a_message_of_exactly_ten_megabytes_is_taken(
    user: TestUser, line: RawWs, session: str
) -> None:
    message = an_event_of(session, MAX)
    assert len(message) == 10 * 1024 * 1024
    await line.text(message)
    await assert_alive(user, line, session)
    assert (await user.ok("GET", f"/sessions/{session}"))["last_event_id"] == 2


async def test_a_message_of_exactly_ten_megabytes_is_taken_in_fragments(
    user: TestUser, line: RawWs, session: str
) -> None:
    await send_fragments(line, an_event_of(session, MAX), 1_000_000)
    await assert_alive(user, line, session)
    assert (await user.ok("GET", f"/sessions/{session}"))["last_event_id"] == 2


async def send_fragments(
    line: RawWs, message: bytes, size: int, between: Callable[[int], Awaitable[None]] | None = None
) -> None:
    for start in range(0, len(message), size):
        end = start + size
        await line.frame(
            TEXT if start == 0 else CONTINUATION, message[start:end], fin=end >= len(message)
        )
        if between is not None and end < len(message):
            await between(start // size)


@pytest.mark.proves("000-9-frame-10-mb")
async def test_one_byte_over_ten_megabytes_is_closed_with_1009_and_not_taken(
    user: TestUser, line: RawWs, session: str
) -> None:
    await line.text(an_event_of(session, MAX + 1))
    assert await line.closed() == 1009
    assert await texts(user, session) == []


@pytest.mark.proves("000-9-frame-10-mb")
async def test_one_byte_over_ten_megabytes_in_fragments_is_closed_with_1009_and_not_taken(
    user: TestUser, line: RawWs, session: str
) -> None:
    await send_fragments(line, an_event_of(session, MAX + 1), MAX // 3)
    assert await line.closed() == 1009
    assert await texts(user, session) == []


async def test_a_flood_behind_the_forbidden_frame_does_not_hide_the_close_code(
    line: RawWs,
) -> None:
    await line.raw(encode_frame(BINARY, b"x") + encode_frame(TEXT, b"x" * 1_000_000) * 8)
    assert await line.closed() == 1003


# --- Fragments and control frames ----------------------------------------------------------------


async def test_fragments_with_pings_between_them_are_one_message(
    user: TestUser, line: RawWs, session: str
) -> None:
    async def ping(number: int) -> None:
        await line.frame(PING, f"ping {number}".encode())
        await line.frame(PONG, b"nobody asked")

    message = an_event(session, "grüße 你好 in pieces")
    await send_fragments(line, message, 7, ping)
    async with user.reader(session) as reader:
        await reader.until_text("grüße 你好 in pieces")
    await line.pong(b"ping 0")
    pings = (len(message) - 1) // 7
    await line.pong(f"ping {pings - 1}".encode())
    assert [one.payload for one in line.frames if one.opcode == PONG] == [
        f"ping {number}".encode() for number in range(pings)
    ]


async def test_a_message_may_come_byte_by_byte_and_have_empty_fragments(
    user: TestUser, line: RawWs, session: str
) -> None:
    message = an_event(session, "slowly")
    stream = encode_frame(TEXT, b"", fin=False)
    stream += b"".join(encode_frame(CONTINUATION, bytes([one]), fin=False) for one in message)
    stream += encode_frame(CONTINUATION, b"")
    for start in range(0, len(stream), 3):
        await line.raw(stream[start : start + 3])
    async with user.reader(session) as reader:
        await reader.until_text("slowly")


async def test_many_messages_in_one_packet_all_count(
    user: TestUser, line: RawWs, session: str
) -> None:
    contents = [f"t{number}" for number in range(300)]
    await line.raw(b"".join(encode_frame(TEXT, an_event(session, one)) for one in contents))
    async with user.reader(session) as reader:
        await reader.until_text("t299")
        assert reader.texts() == contents


async def test_a_ping_is_answered_with_its_payload_also_before_authentication(
    user: TestUser,
) -> None:
    async with await RawWs(f"{user.ws_url}?user_id={user.id}").connect() as line:
        await line.frame(PING, b"x" * 125)
        await line.pong(b"x" * 125)


@pytest.mark.parametrize("payload", [b"", b"\x03\xe8", b"\x03\xe9bye", b"\x0f\xa0own code"])
@pytest.mark.proves("000-2-vm-closes-the-line")
async def test_the_close_handshake_is_answered(
    user: TestUser, line: RawWs, session: str, payload: bytes
) -> None:
    await line.raw(encode_frame(CLOSE, payload) + encode_frame(TEXT, an_event(session, "late")))
    assert await line.closed() == 1000
    assert await texts(user, session) == []


# --- A machine that does not read ----------------------------------------------------------------


async def test_a_machine_that_does_not_read_is_cut_and_slows_nobody(
    user: TestUser, line: RawWs, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LINE_UNSENT_BYTES_MAX", 1_000_000)
    line.stop_reading()
    async with user.reader(session) as reader:
        offline = asyncio.create_task(reader.until_type("session_status"))
        while not offline.done():
            await user.call("POST", f"/sessions/{session}/messages", {"message": "x" * 900_000})
        assert (await offline)["machine"] == "offline"


async def test_large_answers_that_wait_for_a_slow_reader_arrive_whole(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # On uvloop, as in production: what it cannot send at once it keeps by reference.
    process = await ControlProcess(tmp_path_factory.mktemp("slow") / "data").start()
    try:
        user = await process.user()
        agents = [
            await user.ok("POST", "/agents", {"name": "big", "system_prompt": "字" * size})
            for size in (20_000, 170_000)  # 60 KB and 510 KB
        ]
        async with await raw_line(user) as line:
            session_id = await user.session()
            line.stop_reading()
            for number in range(60):
                await line.send(
                    {
                        "type": "request",
                        "session_id": session_id,
                        "id": f"r{number}",
                        "method": "get_config",
                        "params": {"agent_id": agents[number % 2]["id"]},
                    }
                )
            async with asyncio.timeout(30):
                while await metric(process, "ws_request_duration_seconds_count") < 60:
                    pass  # each look is a request of its own
            line.go_on_reading()
            await line.until(lambda: len(line.frames) >= 62 or line.ended, "the last answer")
            answers = [one for one in line.messages if one["type"] == "response"]
            assert sorted(one["id"] for one in answers) == sorted(f"r{one}" for one in range(60))
    finally:
        await process.terminate()
