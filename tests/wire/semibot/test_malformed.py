"""Hostile and broken messages: `Malformed`, whatever came, so that the line can live on."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trunkline.execution.ws.messages import read
from trunkline.wire.errors import Malformed
from trunkline.wire.semibot.codec import Unknown, decode_uplink
from trunkline.wire.semibot.messages import DOWNLINK, UPLINK

BROKEN: dict[str, str | bytes] = {
    "nothing": "",
    "no object": "null",
    "a list": "[]",
    "a word": "heartbeat",
    "an open brace": "{",
    "two messages": '{"type":"heartbeat"}{"type":"heartbeat"}',
    "a trailing comma": '{"type":"heartbeat",}',
    "a byte order mark": b'\xef\xbb\xbf{"type":"heartbeat"}',
    "no type": "{}",
    "a number as type": '{"type":5}',
    "null as type": '{"type":null}',
    "an object as type": '{"type":{}}',
    "an unknown type and broken JSON": '{"type":"new","x":}',
    "auth without a token": '{"type":"auth"}',
    "a token that is no text": '{"type":"auth","token":7}',
    "sessions that are no list": '{"type":"heartbeat","active_sessions":"s"}',
    "sessions that are no text": '{"type":"heartbeat","active_sessions":[1]}',
    "an event of no session": '{"type":"sse_event","data":"{}"}',
    "an event without data": '{"type":"sse_event","session_id":"s"}',
    "null data": '{"type":"sse_event","session_id":"s","data":null}',
    "a list as data": '{"type":"sse_event","session_id":"s","data":[]}',
    "a request without an id": '{"type":"request","session_id":"s","method":"get_config"}',
    "a request without a method": '{"type":"request","session_id":"s","id":"1"}',
    "a number as id": '{"type":"request","session_id":"s","id":1,"method":"get_config"}',
    "parameters that are a list": '{"type":"request","id":"1","method":"m","params":[]}',
    "a batch of no list": '{"type":"batch","events":{}}',
    "one bad event in a batch": '{"type":"batch","events":[{"session_id":"s","data":"{}"},{}]}',
    "ids that are no text": '{"type":"resume","pending_ids":[1]}',
    "not a number": '{"type":"request","id":"1","method":"m","params":{"a":NaN}}',
    "a number beyond floats": '{"type":"request","id":"1","method":"m","params":{"a":1e999}}',
    "an integer of 5000 digits": '{"type":"request","id":"1","method":"m","params":{"a":'
    + "9" * 5000
    + "}}",
    "half a surrogate pair": '{"type":"sse_event","session_id":"s","data":"\\ud800"}',
    "half a pair in an unknown type": '{"type":"new","x":"\\udfff"}',
    "half a pair as text": '{"type":"sse_event","session_id":"s","data":"\ud800"}',
    "bytes that are no UTF-8": b'{"type":"sse_event","session_id":"s","data":"\xff\xfe"}',
    "an overlong encoding": b'{"type":"sse_event","session_id":"\xc0\xaf","data":""}',
    "a control character in text": '{"type":"sse_event","session_id":"a\x00b","data":""}',
    "ten thousand open braces": '{"type":"sse_event","session_id":"s","data":' + '{"a":' * 10_000,
    "ten thousand levels, closed": '{"type":"sse_event","session_id":"s","data":'
    + '{"a":' * 10_000
    + "1"
    + "}" * 10_001,
    "deep lists in an unknown type": '{"type":"new","a":' + "[" * 100_000 + "]" * 100_000 + "}",
}


@pytest.mark.proves("000-8-malformed-message-is-skipped")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_message_is_malformed(name: str) -> None:
    with pytest.raises(Malformed):
        decode_uplink(BROKEN[name])


@pytest.mark.parametrize("seq", [-1, 0, 2**63, 2**64, 10**30])
def test_an_event_number_that_no_database_holds_is_malformed(seq: int) -> None:
    event = {"session_id": "s", "data": "{}", "seq": seq}
    with pytest.raises(Malformed):
        decode_uplink(json.dumps({"type": "sse_event", **event}))
    with pytest.raises(Malformed):
        decode_uplink(json.dumps({"type": "batch", "events": [event]}))


@pytest.mark.parametrize("seq", ["true", '"1"', "1.5", "1e3", "[1]"])
def test_an_event_number_of_another_type_is_malformed(seq: str) -> None:
    with pytest.raises(Malformed):
        decode_uplink(f'{{"type":"sse_event","session_id":"s","data":"{{}}","seq":{seq}}}')


def _decode(payload: str | bytes) -> None:
    """On both ends of the line: the execution plane has a reader of its own, of text."""
    with contextlib.suppress(Malformed):
        assert isinstance(decode_uplink(payload), (*UPLINK, Unknown))
    if isinstance(payload, str):
        with contextlib.suppress(Malformed):
            read(payload)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
FIELDS = st.sampled_from(
    [
        *("token", "capabilities", "active_sessions", "session_id", "data", "seq", "events"),
        *("id", "method", "params", "pending_ids", "turns", "results", "error", "acked"),
    ]
)


@given(st.binary())
@example(b"\xff")
def test_arbitrary_bytes_raise_nothing_else(payload: bytes) -> None:
    _decode(payload)


@given(st.text(st.characters()))
@example("\ud800")
def test_arbitrary_text_raises_nothing_else(payload: str) -> None:
    _decode(payload)


@given(JSON)
def test_arbitrary_json_raises_nothing_else(value: Any) -> None:
    _decode(json.dumps(value))


@given(
    st.sampled_from([str(one.__struct_config__.tag) for one in (*UPLINK, *DOWNLINK)]),
    st.dictionaries(FIELDS, JSON, max_size=6),
)
def test_known_types_with_arbitrary_fields_raise_nothing_else(
    message_type: str, fields: dict[str, Any]
) -> None:
    _decode(json.dumps({**fields, "type": message_type}))
    _decode(json.dumps({"type": message_type, **fields})[:-1])
