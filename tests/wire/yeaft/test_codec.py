"""Reading and writing envelopes: lenient with what is unknown, strict with what is broken."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.messages import AskUserAnswer, Execute, Registered, SendMessage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.proves("002-2-routing-fields", "002-1-server-does-not-parse")
def test_an_envelope_is_its_type_its_routing_and_unread_data() -> None:
    found = codec.decode(
        '{"data": {"a" : [1, 2.50]}, "type":"claude_output","conversationId":"c","agentId":"a"}'
    )
    assert (found.type, found.conversation_id, found.session_id) == ("claude_output", "c", None)
    assert bytes(found.data) == b'{"a" : [1, 2.50]}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '"text"',
        "{}",
        '{"type": 5}',
        '{"type": null}',
        '{"type": "x"',
        '{"type": "x"} trailing',
        '{"type": "x", "data": NaN}',
        '{"type": "x", "data": "a\nb"}',
        '{"type": "x", "data": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"type": "\\ud800", "data": }',
    ],
)
def test_what_is_broken_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        codec.decode(text)


@pytest.mark.parametrize("odd", ["5", '["c"]', "{}", "null", "true"])
@pytest.mark.parametrize("name", ["conversationId", "sessionId", "agentId"])
def test_what_a_relay_need_not_read_may_be_anything(name: str, odd: str) -> None:
    assert codec.decode(f'{{"type":"x","{name}":{odd}}}').type == "x"


def test_half_a_character_is_read_as_a_question_mark() -> None:
    text = '{"type":"send_message","conversationId":"c","text":"hi \\ud83d"}'
    assert codec.decode(text).conversation_id == "c"
    assert codec.read(text, SendMessage).text == "hi ?"
    whole = '{"type":"send_message","conversationId":"c","text":"hi \\ud83d\\ude00"}'
    assert codec.read(whole, SendMessage).text == "hi 😀"


def test_fields_that_are_not_given_do_not_travel() -> None:
    assert codec.encode(Execute(conversation_id="c", prompt="p")) == (
        b'{"type":"execute","conversationId":"c","prompt":"p"}'
    )
    assert json.loads(codec.encode(Registered(agent_id="a"))) == {
        "type": "registered",
        "agentId": "a",
        "sessionKey": None,
        "acceptPlaintext": True,
    }


def test_a_field_of_the_wrong_kind_is_malformed() -> None:
    with pytest.raises(Malformed):
        codec.read('{"requestId": 5}', AskUserAnswer)
    with pytest.raises(Malformed):
        codec.read('{"type":"send_message","conversationId":"c"}', SendMessage)


def test_the_other_fields_are_those_that_nobody_names() -> None:
    text = '{"type":"chat","prompt":"p","x":1,"y":null}'
    assert codec.fields(text, without=("type", "prompt")) == {"x": 1, "y": None}
    with pytest.raises(Malformed):
        codec.fields("[1]")


@given(st.dictionaries(st.text(), JSON, max_size=6), JSON)
def test_any_object_with_a_type_is_an_envelope_and_its_data_stays_as_it_is(
    more: dict[str, Any], data: Any
) -> None:
    for name in ("conversationId", "sessionId"):
        more.pop(name, None)
    text = json.dumps({**more, "type": "anything", "data": data})
    found = codec.decode(text)
    assert found.type == "anything"
    assert json.loads(bytes(found.data)) == data


@given(st.text() | st.binary())
def test_no_text_breaks_the_reader(text: str | bytes) -> None:
    with contextlib.suppress(Malformed):
        codec.decode(text)
