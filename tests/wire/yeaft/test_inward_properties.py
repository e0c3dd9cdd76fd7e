"""Properties of `to_events`, for any stream: nothing is lost, order is kept, a turn ends once."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.wire.yeaft.inward_talk import ENDS, ID, TURN, conversation, lines
from trunkline.wire import events
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward

FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=12)}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": st.text(max_size=12)}),
    st.fixed_dictionaries(
        {"type": st.just("tool_use"), "id": st.text(max_size=4), "name": st.text(max_size=4)},
        optional={"input": JSON},
    ),
    st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_use_id": st.text(max_size=4), "content": JSON}
    ),
    st.dictionaries(st.sampled_from(["type", "text", "id", "content", "odd"]), JSON, max_size=4),
)
SAID = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["assistant", "user"]),
        "message": st.fixed_dictionaries({"content": st.lists(BLOCKS, max_size=4) | JSON}),
    }
)
RESULTS = st.fixed_dictionaries(
    {
        "type": st.just("result"),
        "subtype": st.sampled_from(["success", "error_max_turns", "error_during_execution"]) | JSON,
    },
    optional={"is_error": JSON, "usage": JSON, "result": JSON, "session_id": JSON},
)
DATA = SAID | RESULTS | st.fixed_dictionaries({"type": st.just("system"), "subtype": JSON}) | JSON
KINDS = [
    "claude_output",
    "claude_output",
    "yeaft_output",
    "turn_completed",
    "execution_cancelled",
    "conversation_closed",
    "conversation_created",
    "session_ready",
    "ask_user_question",
    "error",
    "crew_output",
    "unheard_of",
]
FIELDS = ("requestId", "prompt", "choices", "questions", "claudeSessionId", "message", "vpId")


@st.composite
def messages(draw: st.DrawFn) -> str:
    """Any message of an agent, as some writer of JSON would write it."""
    more = draw(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
    told = {"type": draw(st.sampled_from(KINDS)), "conversationId": ID, **more, "data": draw(DATA)}
    return json.dumps(
        told,
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": ")])),
    )


STREAMS = st.lists(messages(), max_size=12)
DIALECTS = st.sampled_from(["documented", "deployed", ""])


@given(DIALECTS, STREAMS)
def test_nothing_is_lost_and_order_is_kept(dialect: str, stream: list[str]) -> None:
    """Whatever an agent says, Yeaft's own readers get it back as it came, once, in its order."""
    state = conversation(dialect)
    kept = []
    for text in stream:
        made = lines(state, text)
        assert made
        for number, line in enumerate(made):
            event = events.read(line)
            assert event is not None
            original = events.original_of(event, "yeaft")
            if original is None:
                (out,) = from_events(Outward(ID, relays=True), 1, line)
                kept.append(out.body.decode())
            elif original.message:
                assert number == 0
                kept.append(bytes(original.message).decode())
    assert kept == stream


@given(DIALECTS, STREAMS)
def test_a_turn_ends_once_and_nothing_is_of_it_afterwards(dialect: str, stream: list[str]) -> None:
    state = conversation(dialect)
    ended = False
    for text in stream:
        for line in lines(state, text):
            event = json.loads(line)
            assert not (ended and "turn_id" in event)
            if event["type"] in ENDS:
                assert event["turn_id"] == TURN
                ended = True
    assert (state.turn_id is None) is ended


@given(st.lists(st.text(min_size=1, max_size=10), max_size=8), DIALECTS)
def test_the_end_has_all_the_text_that_was_streamed(pieces: list[str], dialect: str) -> None:
    state = conversation(dialect)
    shown = ""
    for piece in pieces:
        content = [{"type": "text", "text": piece}]
        data = {"type": "assistant", "message": {"role": "assistant", "content": content}}
        told = json.dumps({"type": "claude_output", "conversationId": ID, "data": data})
        shown += "".join(json.loads(line).get("content", "") for line in lines(state, told))
    end = json.dumps({"type": "claude_output", "conversationId": ID, "data": {"type": "result"}})
    made = lines(state, end)
    if dialect == "deployed":
        made = lines(state, json.dumps({"type": "turn_completed", "conversationId": ID}))
    assert shown == "".join(pieces)
    assert json.loads(made[-1])["content"] == shown


@given(st.lists(messages(), max_size=20), st.integers(0, 20))
def test_what_is_remembered_is_bounded(stream: list[str], bound: int) -> None:
    state = conversation(text_chars_max=bound, tools_max=bound, persons_max=bound)
    for text in stream:
        lines(state, text)
    assert len(state.answer.text) <= bound
    assert len(state.persons) <= bound
    assert all(len(answer.text) <= bound for answer in state.persons.values())


def test_a_stream_of_a_careless_agent_is_read_to_its_end() -> None:
    """Half a character, which a cut-off answer may end with, hides neither text nor end."""
    state = conversation()
    data = '{"type":"assistant","message":{"content":[{"type":"text","text":"hi \\ud83d"}]}}'
    text = f'{{"type":"claude_output","conversationId":"{ID}","data":{data}}}'
    (line,) = lines(state, text)
    event = events.read(line)
    assert event is not None
    assert (event.type, event.content) == ("text_chunk", "hi ?")
    assert bytes(event.raw).decode() == f'{{"protocol":"yeaft","message":{text}}}'
    (out,) = from_events(Outward(ID, relays=True), 1, line)
    assert out.body.decode() == text
    end: dict[str, Any] = {
        "type": "claude_output",
        "conversationId": ID,
        "data": {"type": "result"},
    }
    assert json.loads(lines(state, json.dumps(end))[-1])["content"] == "hi ?"
