"""The fast way of a piece of text says what the general one says, and nothing else takes it."""

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.wire.agp import plain
from trunkline.wire.agp.codec import Unknown, decode_uplink
from trunkline.wire.agp.inward import CallBounds, Inward, to_events
from trunkline.wire.agp.messages import Update
from trunkline.wire.errors import Malformed

GUID, USER = "device_001", "user_123"
SESSION, TURN = "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001"
MSG_ID = "550e8400-e29b-41d4-a716-446655440005"
COMMON = plain.common_part(GUID, USER, SESSION, TURN)
PLACE = plain.place_of(COMMON)
TEXT_AT = plain.text_after(PLACE)
BOUNDS = CallBounds(title_chars=500, word_chars=40, path_chars=4096, locations=100)


def turn() -> Inward:
    return Inward(TURN, chars_max=1000, calls_max=10, call_bounds=BOUNDS)


def message(text: str, msg_id: str = MSG_ID, *, ascii_only: bool = False) -> str:
    """An envelope and a `session.update`, in the usual order of fields."""
    content = {"type": "text", "text": text}
    payload = {"session_id": SESSION, "prompt_id": TURN, "update_type": "message_chunk"}
    envelope = {"msg_id": msg_id, "guid": GUID, "user_id": USER, "method": "session.update"}
    whole = {**envelope, "payload": {**payload, "content": content}}
    return json.dumps(whole, ensure_ascii=ascii_only, separators=(",", ":"))


def to_line(text: str, state: Inward | None = None) -> str | None:
    if text[PLACE] != COMMON:
        return None
    return plain.to_line(state or turn(), text, TEXT_AT, lambda _id: True)


@given(
    text=st.text(st.characters(codec="utf-8"), min_size=1),
    msg_id=st.uuids(),
    ascii_only=st.booleans(),
)
def test_a_piece_of_text_becomes_the_same_line_either_way(
    text: str, msg_id: UUID, ascii_only: bool
) -> None:
    sent = message(text, str(msg_id), ascii_only=ascii_only)
    fast, general = turn(), turn()
    update = decode_uplink(sent)
    assert isinstance(update, Update)
    assert [to_line(sent, fast)] == to_events(general, update, 7)
    assert (fast.heard, fast.streamed.text) == (general.heard, general.streamed.text)


@given(
    at=st.integers(min_value=0, max_value=400),
    cut=st.integers(min_value=0, max_value=12),
    put=st.text(st.sampled_from('"\\{}[]:,@ \n\ttext-0aé\u2028'), max_size=6),
)
def test_what_the_fast_way_takes_reads_the_same_to_a_decoder(at: int, cut: int, put: str) -> None:
    """A message that was changed in any place is either left to the general way, or means to it
    what was taken from it."""
    sent = message('He said "no"')
    changed = sent[:at] + put + sent[at + cut :]
    line = to_line(changed)
    if line is None:
        return
    update = decode_uplink(changed)
    assert isinstance(update, Update)
    assert (update.guid, update.user_id) == (GUID, USER)
    assert (update.payload.session_id, update.payload.prompt_id) == (SESSION, TURN)
    assert [line] == to_events(turn(), update, 7)


@pytest.mark.parametrize(
    "sent",
    [
        message(""),
        message("hi", MSG_ID[:-1] + '"'),
        message("hi", MSG_ID[:-1]),
        message("hi") + " ",
        message("hi")[:-1],
        message("hi").replace('"msg_id"', '"msgid_"'),
        message("hi").replace(MSG_ID, MSG_ID[:-1] + "\n"),
        message("hi").replace(MSG_ID, MSG_ID[:-2] + '","x":"'),
        message("hi").replace('"hi"', '"hi","type":"image"'),
        message("hi").replace('"hi"', "7"),
        message("hi").replace('"hi"', '"h\ni"'),
        "",
    ],
)
def test_anything_else_is_left_to_the_general_way(sent: str) -> None:
    assert to_line(sent) is None


def test_a_message_that_was_taken_before_becomes_nothing_and_is_not_kept() -> None:
    state, asked = turn(), []
    known = [MSG_ID]

    def is_new(msg_id: str) -> bool:
        asked.append(msg_id)
        return msg_id not in known

    assert plain.to_line(state, message("hi"), TEXT_AT, is_new) == ""
    assert plain.to_line(state, message(""), TEXT_AT, is_new) is None
    assert (asked, state.heard, state.streamed.text) == ([MSG_ID], False, "")


def test_another_turns_message_does_not_have_the_common_part() -> None:
    for mine in (GUID, USER, SESSION, TURN):
        assert message("hi").replace(mine, mine[:-1] + "x")[PLACE] != COMMON


def test_the_tests_messages_are_ones_that_the_decoder_knows() -> None:
    assert not isinstance(decode_uplink(message("hi")), Unknown)
    with pytest.raises(Malformed):
        decode_uplink(message("hi")[:-1])
