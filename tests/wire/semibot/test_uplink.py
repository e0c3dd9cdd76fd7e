"""Every message from a VM (docs/protocols/semibot.md#messages-from-the-vm), read from the source
document's own examples."""

from typing import Any

import msgspec
import pytest

from tests.wire.golden import Golden
from trunkline.wire.semibot.codec import Unknown, decode_uplink
from trunkline.wire.semibot.messages import (
    Auth,
    Batch,
    BatchedEvent,
    FireAndForget,
    Heartbeat,
    Request,
    Resume,
    SseEvent,
    Uplink,
)

golden = Golden("semibot")

SESSION = "7b0c1f5e-3d7c-4f7e-9d0a-1f5e3d7c4f7e"


def _request(method: str, **params: Any) -> Request:
    return Request(id="msg-uuid", method=method, session_id=SESSION, params=params)


def _report(method: str, **params: Any) -> FireAndForget:
    return FireAndForget(method=method, session_id=SESSION, params=params)


EXPECTED: dict[str, Uplink] = {
    "auth": Auth(token="eyJhbGciOiJSUzI1NiIs..."),
    "heartbeat": Heartbeat(active_sessions=["session-1", "session-2"]),
    "sse_event": SseEvent(session_id=SESSION, data='{"type":"text","content":"Hello"}'),
    "request_get_skill_package": _request("get_skill_package", skill_id="pdf", version="1.2.0"),
    "request_memory_search": _request("memory_search", query="what did we decide", top_k=5),
    "request_mcp_call": _request(
        "mcp_call", server="github", tool="create_issue", arguments={"title": "x"}
    ),
    "request_get_config": _request("get_config", agent_id="agent-1"),
    "request_get_session": _request("get_session", session_id=SESSION),
    "fire_and_forget_usage_report": _report(
        "usage_report", model="gpt-4o", tokens_in=1200, tokens_out=340, latency_ms=900
    ),
    "fire_and_forget_audit_log": _report(
        "audit_log", event="tool.executed", details={"tool": "search"}
    ),
    "fire_and_forget_evolution_submit": _report(
        "evolution_submit",
        name="csv-report",
        description="Makes a report of a CSV file",
        skill_md="# CSV report",
        quality_score=0.85,
    ),
    "fire_and_forget_snapshot_sync": _report(
        "snapshot_sync",
        checkpoint={"step": 3},
        short_term_memory={"entries": []},
        conversation_state={"turn": 2},
        file_manifest={"files": []},
    ),
    "resume": Resume(pending_ids=["msg-1", "msg-2"]),
}


def test_every_example_of_the_document_is_expected_here() -> None:
    assert golden.names("uplink") == sorted(EXPECTED)


@pytest.mark.proves(
    "000-1-json-text-frames",
    "000-3-type-field",
    "000-4.1-heartbeat-fields",
    "000-4.2-sse-event-fields",
    "000-4.3-request-fields",
    "000-4.4-fire-and-forget-fields",
    "000-4.5-resume-fields",
    "000-9-auth-message-fields",
)
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_is_read_with_all_its_fields(name: str) -> None:
    assert decode_uplink(golden.text("uplink", name)) == EXPECTED[name]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_is_read_from_bytes_as_from_text(name: str) -> None:
    assert decode_uplink(golden.text("uplink", name).encode()) == EXPECTED[name]


@pytest.mark.proves("000-3-timestamp-allowed")
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_timestamp_and_unknown_fields_change_nothing(name: str) -> None:
    more = {
        **golden.load("uplink", name),
        "timestamp": "2026-01-01T00:00:00Z",
        "trace": {"deep": [1, None]},
    }
    assert decode_uplink(msgspec.json.encode(more)) == EXPECTED[name]


@pytest.mark.parametrize("message_type", ["memory_write", "", "HEARTBEAT", "心跳", "init"])
def test_a_type_that_is_not_known_is_no_error(message_type: str) -> None:
    text = msgspec.json.encode({"type": message_type, "session_id": SESSION, "more": [{}]})
    assert decode_uplink(text) == Unknown(type=message_type)


def test_what_deployed_daemons_leave_out_has_a_default() -> None:
    assert decode_uplink('{"type":"heartbeat"}') == Heartbeat(active_sessions=None)
    assert decode_uplink('{"type":"resume"}') == Resume(pending_ids=[], turns=None)
    assert decode_uplink('{"type":"request","id":"1","method":"get_session"}') == Request(
        id="1", method="get_session", session_id="", params={}
    )


def test_the_data_of_an_event_stays_the_text_that_came() -> None:
    data = '{"type" : "text_chunk",  "content":"\\u4f60", "n": 1.50}'
    message = decode_uplink(
        msgspec.json.encode({"type": "sse_event", "session_id": "s", "data": data})
    )
    assert isinstance(message, SseEvent)
    assert message.data == data


def test_an_event_may_carry_an_object_and_a_number() -> None:
    text = '{"type":"sse_event","session_id":"s","data":{"type":"thinking"},"seq":7}'
    assert decode_uplink(text) == SseEvent(session_id="s", data={"type": "thinking"}, seq=7)


def test_auth_names_capabilities_and_batch_carries_events_of_many_sessions() -> None:
    assert decode_uplink('{"type":"auth","token":"t","capabilities":["seq","x"]}') == Auth(
        token="t", capabilities=["seq", "x"]
    )
    text = (
        '{"type":"batch","events":[{"session_id":"a","data":"{}","seq":1},'
        '{"session_id":"b","data":{"type":"usage"}}]}'
    )
    assert decode_uplink(text) == Batch(
        events=[
            BatchedEvent(session_id="a", data="{}", seq=1),
            BatchedEvent(session_id="b", data={"type": "usage"}),
        ]
    )
