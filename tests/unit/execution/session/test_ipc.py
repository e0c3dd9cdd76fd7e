"""The protocol between the daemon and a session's process, as the document names it (004 §4.5)."""

import json
from typing import Any

import msgspec
import pytest

from trunkline.execution.session import ipc

Json = dict[str, Any]

DOWN: list[Json] = [
    {
        "type": "start",
        "session_id": "s-1",
        "home": "folder",
        "agent_config": {"model": "gpt-4o"},
        "skill_index": [{"id": "pdf"}],
        "api_keys": {"openai": "sk-1"},
        "openclaw_config": {"tool_profile": "coding"},
    },
    {"type": "user_message", "data": {"message": "hi", "history": [{"role": "user"}]}},
    {"type": "cancel", "reason": "admin"},
    {"type": "stop", "reason": "user_closed"},
    {"type": "response", "id": "r-1", "result": {"results": []}},
    {"type": "response", "id": "r-1", "error": {"code": "TIMEOUT", "message": "too slow"}},
]
UP: list[Json] = [
    {"type": "ready", "problems": ["no pdf"]},
    {"type": "sse_event", "data": '{"type":"text_chunk","content":"a\\nb"}'},
    {"type": "request", "id": "r-1", "method": "memory_search", "params": {"query": "x"}},
    {"type": "fire_and_forget", "method": "usage_report", "params": {"model": "gpt-4o"}},
    {"type": "error", "message": "no room", "code": "NO_ROOM"},
]


def kind(message: Json) -> str:
    return str(message["type"])


@pytest.mark.proves("004-4.5-down-types", "004-4.5-json-lines")
@pytest.mark.parametrize("message", DOWN, ids=kind)
def test_a_message_of_the_daemon_is_read_and_written_as_one_line(message: Json) -> None:
    line = ipc.line(ipc.decode_down(json.dumps(message).encode()))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == message


@pytest.mark.proves("004-4.5-up-types", "004-4.5-json-lines")
@pytest.mark.parametrize("message", UP, ids=kind)
def test_a_message_of_a_process_is_read_and_written_as_one_line(message: Json) -> None:
    line = ipc.line(ipc.decode_up(json.dumps(message).encode()))
    assert line.count(b"\n") == 1
    assert json.loads(line) == message


@pytest.mark.proves("004-4.5-json-lines")
@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"data": {}}', b'{"type": "weather"}'])
def test_a_line_without_a_known_type_is_no_message(text: bytes) -> None:
    for decode in (ipc.decode_down, ipc.decode_up):
        with pytest.raises(msgspec.DecodeError):
            decode(text)


@pytest.mark.proves("004-4.5-down-types", "004-4.5-up-types")
def test_neither_side_takes_the_messages_of_the_other() -> None:
    for message in DOWN:
        with pytest.raises(msgspec.DecodeError):
            ipc.decode_up(json.dumps(message).encode())
    for message in UP:
        with pytest.raises(msgspec.DecodeError):
            ipc.decode_down(json.dumps(message).encode())
