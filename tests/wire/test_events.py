"""Session events are read leniently: an odd field never hides an event."""

import json
import tracemalloc

import pytest

from trunkline.wire.events import BoundedText, line, original_of, read, text_of


def test_an_event_is_read_with_the_fields_that_translations_need() -> None:
    event = read('{"type":"tool_call_start","tool_name":"bash","arguments":{"a":1},"new":true}')
    assert event is not None
    assert (event.type, event.tool_name, event.given_input) == ("tool_call_start", "bash", {"a": 1})


@pytest.mark.parametrize(
    "odd", ["5", "[]", '"x"', "null", "{", "", '{"content":"x"}', '{"type":5}']
)
def test_what_is_no_event_is_none(odd: str) -> None:
    assert read(odd) is None


def test_half_a_character_does_not_hide_an_event() -> None:
    event = read('{"type":"execution_complete","content":"cut \ud83d"}')
    assert event is not None
    assert event.answer_text.startswith("cut ")


def test_fields_of_any_type_are_taken() -> None:
    event = read('{"type":"text_chunk","content":[1],"turn_id":{},"raw":5,"ts":"x"}')
    assert event is not None
    assert original_of(event, "yeaft") is None


def test_an_original_is_given_back_byte_for_byte() -> None:
    envelope = '{"type":"claude_output",  "data":{"n":1.50,"t":"\\u00e9"}}'
    event = read('{"type":"foreign","raw":{"protocol":"yeaft","message":' + envelope + "}}")
    assert event is not None
    original = original_of(event, "yeaft")
    assert original is not None
    assert bytes(original.message) == envelope.encode()
    assert original_of(event, "agp") is None


def test_the_final_answer_has_two_names() -> None:
    for name in ("content", "final_response"):
        event = read(json.dumps({"type": "execution_complete", name: "done"}))
        assert event is not None
        assert event.answer_text == "done"


def test_a_line_leaves_out_what_is_nothing() -> None:
    made = line("text_chunk", content="", turn_id=None, is_error=False)
    assert json.loads(made) == {"type": "text_chunk", "content": "", "is_error": False}


def test_a_field_that_is_no_text_shows_as_json() -> None:
    assert (text_of("a"), text_of(None), text_of({"b": [1]})) == ("a", "", '{"b":[1]}')


def test_half_of_a_character_in_an_object_is_text_too() -> None:
    assert text_of({"a": ["\ud800b", 1]}) == '{"a":["?b",1]}'


def test_a_bounded_text_is_the_beginning_of_all_pieces_and_says_when_it_is_cut() -> None:
    text = BoundedText(5)
    for piece in ("ab", "", "cde"):
        text.add(piece)
    assert (text.text, text.is_cut) == ("abcde", False)
    text.add("f")
    assert (text.text, text.is_cut) == ("abcde", True)
    large = BoundedText(2)
    large.add("abc")
    assert (large.text, large.is_cut) == ("ab", True)


def test_a_text_of_many_pieces_weighs_little_more_than_its_letters() -> None:
    pieces = 50_000
    tracemalloc.start()
    try:
        text = BoundedText(10 * pieces)
        for number in range(pieces):
            text.add(f"{number:6d}")
            text.add("")
        weight, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text.text == "".join(f"{number:6d}" for number in range(pieces))
    assert weight < 2 * len(text.text)
