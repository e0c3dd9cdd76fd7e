"""Frames that break RFC 6455 or the wire, each with its documented answer, on a raw socket."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from tests.support.alive import assert_alive, texts
from tests.support.control import ControlProcess, TestUser, running
from tests.support.metrics import metric
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
from trunkline.control.tuning import Tuning

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

MAX = limits.FRAME_BYTES_MAX


@pytest_asyncio.fixture(loop_scope="module")
async def session(user: TestUser, line: RawWs) -> str:
    session_id = await user.session()
    await line.expect("start_session")
    return session_id


def an_event(session_id: str, content: str) -> bytes:
    data = json.dumps({"type": "text_chunk", "content": content})
    return json.dumps({"type": "sse_event", "session_id": session_id, "data": data}).encode()


def an_event_of(session_id: str, size: int) -> bytes:
    """An event whose whole message has exactly that many bytes."""
    return an_event(session_id, "x" * (size - len(an_event(session_id, ""))))


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
    user: TestUser, line: RawWs, session: str
) -> None:
    line.stays = True
    async with user.reader(session) as reader:
        await line.frame(TEXT, b"{}", masked=False)
        status = await reader.until_type("session_status")
        assert status["machine"] == "offline"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        pytest.param(encode_frame(TEXT, b"{}", masked=False), 1002, id="unmasked"),
        pytest.param(encode_frame(3, b"{}"), 1002, id="opcode"),
        pytest.param(encode_frame(CLOSE, b"\x03\xe8\xff"), 1007, id="close reason"),
        pytest.param(encode_frame(TEXT, b"", length=MAX + 1), 1009, id="length"),
    ],
)
async def test_a_peers_mistake_is_logged_once_and_not_as_an_error_of_ours(
    user: TestUser, caplog: pytest.LogCaptureFixture, frame: bytes, code: int
) -> None:
    line = RawWs(f"{user.ws_url}?user_id={user.id}")
    with capture_logs() as logs:
        # More than is parsed at once, so that there are mistakes behind the first.
        async with await line.connect(behind=frame * 2000):
            assert await line.closed() == code
    (told,) = (one for one in logs if "rules of WebSocket" in one["event"])
    assert (told["log_level"], told["code"]) == ("info", code)
    assert told["reason"]
    assert [one for one in logs if one["log_level"] == "error"] == []
    assert [one for one in caplog.records if one.levelname in ("ERROR", "CRITICAL")] == []


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


async def test_a_machine_that_does_not_read_is_cut_and_slows_nobody(tmp_path: Path) -> None:
    tuning = Tuning(line_unsent_bytes_max=1_000_000)
    async with running(tmp_path / "data", tuning=tuning) as control:
        user = await control.user()
        async with await raw_line(user) as line:
            session = await user.session()
            line.stop_reading()
            async with user.reader(session) as reader:
                offline = asyncio.create_task(reader.until_type("session_status"))
                large = {"message": "x" * 900_000}
                while not offline.done():
                    await user.call("POST", f"/sessions/{session}/messages", large)
                assert (await offline)["machine"] == "offline"


async def test_large_answers_that_wait_for_a_slow_reader_arrive_whole(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # On uvloop, as in production: what it cannot send at once it keeps by reference.
    async with ControlProcess(tmp_path_factory.mktemp("slow") / "data") as process:
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
