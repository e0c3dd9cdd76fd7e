"""The fast way of a piece of text says what the general one says, and nothing else takes it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.wire import events
from trunkline.wire.yeaft import codec, plain
from trunkline.wire.yeaft.inward import to_events
from trunkline.wire.yeaft.inward_state import Inward
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward

ID = "0197a0c0-1111-7222-8333-444455556666"
TURN = "0197a0c0-2222-7222-8333-444455556666"
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1)


def conversation(session_id: str = ID) -> Inward:
    state = Inward(
        session_id,
        "m",
        text_chars_max=1000,
        tools_max=10,
        persons_max=10,
        question_timeout_s=1.0,
    )
    state.begin(TURN)
    return state


def envelope(text: str, session_id: str = ID, *, ascii_only: bool = False) -> str:
    """A `claude_output` with one block of text, in the usual order of fields."""
    content = [{"type": "text", "text": text}]
    data = {"type": "assistant", "message": {"role": "assistant", "content": content}}
    whole = {"type": "claude_output", "conversationId": session_id, "data": data}
    return json.dumps(whole, ensure_ascii=ascii_only, separators=(",", ":"))


def to_line(text: str) -> str | None:
    state = conversation()
    return plain.to_line(state, text) if text[plain.HEAD] == state.plain_head else None


@given(text=TEXTS)
def test_a_piece_of_text_goes_through_the_log_and_comes_out_as_it_went_in(text: str) -> None:
    sent = codec.encode(json.loads(envelope(text))).decode()
    line = to_line(sent)
    assert line is not None
    assert json.loads(line) == {"type": "text_chunk", "content": text, "turn_id": TURN}
    (body,) = plain.from_lines(Outward(ID), [line])
    assert body == sent.encode()
    assert [out.body for out in from_events(Outward(ID, relays=True), 1, line)] == [body]


@given(text=TEXTS, ascii_only=st.booleans())
def test_the_general_way_makes_the_same_of_every_form(text: str, ascii_only: bool) -> None:
    """However it is written, a Yeaft client gets it back as it was written."""
    sent = envelope(text, ascii_only=ascii_only)
    fast, general = to_line(sent), to_events(conversation(), codec.decode(sent), sent, 7)
    assert fast is None or general == [fast]
    assert [out.body.decode() for out in from_events(Outward(ID, relays=True), 1, general[0])] == [
        sent
    ]


@pytest.mark.parametrize(
    "sent",
    [
        envelope(""),
        envelope("é", ascii_only=True),
        envelope("hi").replace('"hi"', ' "hi"'),
        envelope("hi").replace('"hi"', '"\\u0068i"'),
        envelope("hi").replace('"hi"', '"hi","x":1'),
        envelope("hi").replace('"hi"', '"h\ni"'),
        envelope("hi").replace('"hi"', "null"),
        envelope("hi").replace("claude_output", "yeaft_output"),
        envelope("hi", ID[:-1]),
        envelope("hi")[:-1] + " }",
        envelope("hi") + "}",
        "",
    ],
)
def test_anything_else_is_left_to_the_general_way(sent: str) -> None:
    assert to_line(sent) is None


def test_an_id_of_another_length_is_read_as_what_it_is() -> None:
    """A shorter head must not let the end of a text pass for all of it."""
    for session_id in ("c", "c" * 60):
        for text in ("x" * 35 + '"yes"', "hi"):
            sent = envelope(text, session_id)
            (line,) = to_events(conversation(session_id), codec.decode(sent), sent, 7)
            assert json.loads(line)["content"] == text


@given(
    fields=st.fixed_dictionaries(
        {},
        optional={
            "content": st.sampled_from(["hi", "", None, 7, ["hi"], {"a": 1}]),
            "turn_id": st.sampled_from([TURN, None, 7, ""]),
            "person": st.sampled_from([None, "p", {"id": "p", "name": "P"}]),
            "raw": st.sampled_from([None, {"protocol": "yeaft", "message": {"type": "x"}}]),
            "ts": st.sampled_from([7, "7", None]),
        },
    )
)
def test_events_of_any_machine_come_out_the_same_either_way(fields: dict[str, Any]) -> None:
    line = codec.encode({"type": "text_chunk", **fields}).decode()
    fast, general = Outward(ID), Outward(ID)
    bodies = plain.from_lines(fast, [line])
    made = [out.body for out in from_events(general, 1, line)]
    if not bodies:
        return
    assert made == bodies
    end = events.read(events.line("execution_complete", content="hi", turn_id=fields["turn_id"]))
    assert end is not None
    turn_id = general.turn_id(end)
    assert fast.has_said(end, turn_id, "hi") == general.has_said(end, turn_id, "hi")


@pytest.mark.parametrize("kind", ["thinking", "execution_complete", "text_chunk_x"])
def test_only_pieces_of_text_are_taken(kind: str) -> None:
    assert plain.from_lines(Outward(ID), [events.line(kind, content="hi", turn_id=TURN)]) == []


def test_the_end_of_a_long_stream_is_remembered_piece_by_piece() -> None:
    state = Outward(ID)
    end = events.read(events.line("execution_complete", turn_id=TURN))
    assert end is not None
    answer = ""
    for number in range(500):
        answer += str(number % 10)
        state.note(TURN, "", str(number % 10))
        assert state.has_said(end, TURN, answer)
    assert not state.has_said(end, TURN, answer + "!")


def spoken() -> Inward:
    state = conversation()
    state.spoke()
    return state


@given(
    text=TEXTS,
    ascii_only=st.booleans(),
    spaced=st.booleans(),
    beside=st.sampled_from([{}, {"uuid": "u", "parent_tool_use_id": None}]),
    within=st.sampled_from(
        [{}, {"id": "msg_1", "usage": {"input_tokens": 3}, "stop_reason": None}]
    ),
)
def test_a_piece_in_any_form_becomes_what_the_general_way_makes_of_it(
    text: str, ascii_only: bool, spaced: bool, beside: dict[str, Any], within: dict[str, Any]
) -> None:
    message = {**within, "role": "assistant", "content": [{"type": "text", "text": text}]}
    data = {"type": "assistant", "message": message, **beside}
    whole = {"conversationId": ID, "data": data, "type": "claude_output"}
    separators = (", ", ": ") if spaced else (",", ":")
    sent = json.dumps(whole, ensure_ascii=ascii_only, separators=separators)
    piece = plain.read(sent)
    assert piece is not None
    assert piece.conversation_id == ID
    fast, general = spoken(), spoken()
    line = plain.to_whole_line(fast, piece, sent)
    assert [line] == to_events(general, codec.decode(sent), sent, 7)
    assert fast.answer.text == general.answer.text == text
    # The first piece of a turn teaches how its lines end, and goes the general way itself.
    outward = Outward(ID, relays=True)
    assert plain.from_lines(outward, [line]) == []
    assert plain.from_lines(outward, [line, line]) == [sent.encode()] * 2
    # What a machine of another protocol calls an envelope is shown to nobody.
    assert plain.from_lines(Outward(ID), [line, line]) == []


BLOCK = {"type": "text", "text": "hi"}


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("claude_output", "assistant", [BLOCK, BLOCK]),
        ("claude_output", "assistant", []),
        ("claude_output", "assistant", "hi"),
        ("claude_output", "assistant", [{"type": "text", "text": ""}]),
        ("claude_output", "assistant", [{"type": "thinking", "thinking": "hm", "text": "hi"}]),
        ("claude_output", "assistant", [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]),
        ("claude_output", "assistant", [{"type": "text", "text": "x" * 5000}]),
        ("claude_output", "user", [BLOCK]),
        ("yeaft_output", "assistant", [BLOCK]),
    ],
    ids=str,
)
def test_what_is_not_one_piece_of_text_is_left_to_the_general_way(
    name: str, kind: str, content: Any
) -> None:
    data = {"type": kind, "message": {"role": kind, "content": content}}
    assert plain.read(json.dumps({"type": name, "conversationId": ID, "data": data})) is None


@pytest.mark.parametrize("message", ['{"type":', "{}}", '{"a":"\n"}', "", "nothing"])
def test_an_original_that_is_no_json_is_not_passed_on(message: str) -> None:
    """The log of a session that was moved here holds what another machine wrote."""
    good = f'{{"type":"text_chunk","content":"hi","turn_id":"{TURN}"{plain.RAW}{{}}}}}}'
    bad = f'{{"type":"text_chunk","content":"hi","turn_id":"{TURN}"{plain.RAW}{message}}}}}'
    outward = Outward(ID, relays=True)
    plain.from_lines(outward, [good])
    assert plain.from_lines(outward, [good, bad, good]) == [b"{}"]


TURNS = (TURN, TURN[:-1] + "7")
BESIDE: list[dict[str, Any]] = [
    {"ts": 7},
    {"person": {"id": "p", "name": "P"}},
    {"raw": {"protocol": "yeaft", "message": {"type": "claude_output", "x": "é"}}},
    {"raw": {"protocol": "yeaft", "message": {"type": "claude_output", "x": ',"raw":{'}}},
    {"raw": {"protocol": "agp", "message": {"x": 1}}},
    {"raw": {"protocol": "yeaft"}},
]
LINES = st.lists(
    st.one_of(
        st.builds(
            lambda text, turn_id, fields: events.line(
                "text_chunk", content=text, turn_id=turn_id, **fields
            ),
            st.text(st.characters(codec="utf-8"), max_size=500),
            st.sampled_from(TURNS),
            st.sampled_from([{}, {}, {}, *BESIDE]),
        ),
        st.builds(
            lambda turn_id: events.line(
                "tool_call_start", tool_call_id="t", tool_name="x", turn_id=turn_id
            ),
            st.sampled_from(TURNS),
        ),
        st.sampled_from(['{"type":"text_chunk","content":"broken', "", '{"type":"text_chunk"']),
    ),
    max_size=12,
)


@given(lines=LINES, said=st.text(max_size=8), relays=st.booleans())
def test_many_events_come_out_as_one_by_one(lines: list[str], said: str, relays: bool) -> None:
    """Whichever of them are plain: the same messages, and the same is remembered."""
    fast, general = Outward(ID, relays=relays), Outward(ID, relays=relays)
    made: list[list[bytes]] = []
    while len(made) < len(lines):
        made += [[body] for body in plain.from_lines(fast, lines, len(made))]
        if len(made) < len(lines):
            outs = from_events(fast, len(made) + 1, lines[len(made)])
            made.append([out.body for out in outs])
    assert made == [
        [out.body for out in from_events(general, event_id, line)]
        for event_id, line in enumerate(lines, 1)
    ]
    for turn_id in TURNS:
        end = events.read(events.line("execution_complete", content=said, turn_id=turn_id))
        assert end is not None
        answer = "".join(
            one.content
            for one in map(events.read, lines)
            if one is not None and one.turn_id == turn_id and isinstance(one.content, str)
        )
        for text in (answer, said):
            assert fast.has_said(end, turn_id, text) == general.has_said(end, turn_id, text)
