"""What one end encodes, the other end reads: every struct of the wire, with generated values."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.wire.semibot import messages as wire
from trunkline.wire.semibot.codec import decode_uplink, encode

# Surrogates are no text on the wire, and integers beyond 64 bits no numbers of it.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.integers(min_value=-(2**63), max_value=2**63 - 1)
SEQ = st.none() | st.integers(min_value=1, max_value=2**63 - 1)
VALUE = st.recursive(
    st.none() | st.booleans() | NUMBER | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(TEXT, VALUE, max_size=4)
OBJECTS = st.lists(OBJECT, max_size=3)
NAMES = st.lists(TEXT, max_size=4)
MAYBE = st.just(msgspec.UNSET)
POSITIONS = st.dictionaries(TEXT, NUMBER, max_size=3)
DATA = TEXT | OBJECT
ERROR = st.builds(wire.ErrorBody, code=TEXT, message=TEXT)
KEY = TEXT | st.builds(wire.EncryptedKey, alg=TEXT, iv=TEXT, tag=TEXT, ciphertext=TEXT)

UPLINK: dict[type[Any], st.SearchStrategy[Any]] = {
    wire.Auth: st.builds(wire.Auth, token=TEXT, capabilities=NAMES),
    wire.Heartbeat: st.builds(
        wire.Heartbeat, active_sessions=st.none() | NAMES, health=st.none() | OBJECT
    ),
    wire.SseEvent: st.builds(wire.SseEvent, session_id=TEXT, data=DATA, seq=SEQ),
    wire.Batch: st.builds(
        wire.Batch,
        events=st.lists(
            st.builds(wire.BatchedEvent, session_id=TEXT, data=DATA, seq=SEQ), max_size=4
        ),
    ),
    wire.Request: st.builds(wire.Request, id=TEXT, method=TEXT, session_id=TEXT, params=OBJECT),
    wire.FireAndForget: st.builds(wire.FireAndForget, method=TEXT, session_id=TEXT, params=OBJECT),
    wire.Resume: st.builds(wire.Resume, pending_ids=NAMES, turns=st.none() | NAMES),
    wire.QueryResult: st.builds(
        wire.QueryResult, id=TEXT, result=st.none() | OBJECT, error=st.none() | ERROR
    ),
}

DOWNLINK: dict[type[Any], st.SearchStrategy[Any]] = {
    wire.Init: st.builds(
        wire.Init,
        data=st.builds(
            wire.InitData,
            user_id=TEXT,
            org_id=TEXT,
            api_keys=st.dictionaries(TEXT, KEY, max_size=3),
            llm_config=MAYBE | OBJECT,
            capabilities=MAYBE | NAMES,
            acked=MAYBE | POSITIONS,
        ),
    ),
    wire.StartSession: st.builds(
        wire.StartSession,
        data=st.builds(
            wire.StartSessionData,
            session_id=TEXT,
            runtime_type=TEXT,
            agent_config=OBJECT,
            skill_index=OBJECTS,
            mcp_servers=OBJECTS,
            sub_agents=OBJECTS,
            session_config=OBJECT,
            openclaw_config=MAYBE | OBJECT,
            snapshot=MAYBE | OBJECT,
            fork=MAYBE | OBJECT,
            acked=MAYBE | NUMBER,
        ),
    ),
    wire.StopSession: st.builds(
        wire.StopSession, data=st.builds(wire.StopSessionData, session_id=TEXT, reason=TEXT)
    ),
    wire.Response: st.builds(wire.Response, id=TEXT, result=VALUE, error=st.none() | ERROR),
    wire.UserMessage: st.builds(
        wire.UserMessage,
        session_id=TEXT,
        data=st.builds(
            wire.UserMessageData,
            message=TEXT,
            history=OBJECTS,
            metadata=OBJECT,
            turn_id=MAYBE | TEXT,
        ),
    ),
    wire.Steer: st.builds(
        wire.Steer,
        session_id=TEXT,
        data=st.builds(wire.SteerData, message_id=TEXT, steers=TEXT, message=TEXT, metadata=OBJECT),
    ),
    wire.Cancel: st.builds(wire.Cancel, session_id=TEXT, reason=TEXT),
    wire.ConfigUpdate: st.builds(wire.ConfigUpdate, session_id=TEXT, data=OBJECT),
    wire.ResumeResponse: st.builds(
        wire.ResumeResponse, results=st.dictionaries(TEXT, OBJECT, max_size=3)
    ),
    wire.Error: st.builds(wire.Error, error=ERROR, session_id=MAYBE | TEXT),
    wire.Ack: st.builds(wire.Ack, acked=POSITIONS),
    wire.ApprovalResponse: st.builds(wire.ApprovalResponse, session_id=TEXT, data=OBJECT),
    wire.Token: st.builds(
        wire.Token, data=st.builds(wire.TokenData, token=TEXT, expires_at=NUMBER)
    ),
    wire.Query: st.builds(
        wire.Query, id=TEXT, data=st.builds(wire.QueryData, method=TEXT, params=OBJECT)
    ),
}


def test_no_struct_is_left_out() -> None:
    assert set(UPLINK) == set(wire.UPLINK)
    assert set(DOWNLINK) == set(wire.DOWNLINK)


@pytest.mark.parametrize("kind", list(UPLINK), ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_an_uplink_message_is_read_as_it_was_sent(kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(UPLINK[kind])
    assert decode_uplink(encode(message)) == message


@pytest.mark.parametrize("kind", list(DOWNLINK), ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_a_downlink_message_is_read_as_it_was_sent(kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(DOWNLINK[kind])
    assert msgspec.json.decode(encode(message), type=wire.Downlink) == message
