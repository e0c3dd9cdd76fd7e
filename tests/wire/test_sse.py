"""Frames of an event stream, read by the rules of the HTML standard
(docs/protocols/events.md#server-sent-events)."""

from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trunkline.wire import sse


class Dispatched(NamedTuple):
    """What a browser's EventSource would hand to its page."""

    id: str
    name: str
    data: str


def parse(stream: bytes) -> list[Dispatched]:
    """HTML §9.2.6, "Interpreting an event stream", for whole streams."""
    text = stream.decode("utf-8").removeprefix("\ufeff")
    out: list[Dispatched] = []
    last_id, name, data = "", "", ""
    *lines, unfinished = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert unfinished == ""
    for line in lines:
        if not line:
            if data:
                out.append(Dispatched(last_id, name or "message", data.removesuffix("\n")))
            name, data = "", ""
            continue
        if line.startswith(":"):
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data += value + "\n"
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value
    return out


LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))


@pytest.mark.proves("000-7-event-format")
def test_events_have_the_documents_form() -> None:
    lines = [
        '{"type":"text_chunk","content":"Hello"}',
        '{"type":"tool_call_start","tool_name":"search","tool_input":{}}',
    ]
    assert sse.frames(42, lines).decode() == (
        "id: 42\n"
        'data: {"type":"text_chunk","content":"Hello"}\n'
        "\n"
        "id: 43\n"
        'data: {"type":"tool_call_start","tool_name":"search","tool_input":{}}\n'
        "\n"
    )


@pytest.mark.proves("000-7-heartbeat-comment")
def test_a_heartbeat_is_the_documents_comment_and_no_event() -> None:
    assert sse.HEARTBEAT == b": heartbeat\n\n"
    assert parse(sse.HEARTBEAT) == []


@pytest.mark.proves("000-7-resync-format")
def test_resync_is_the_documents_event_and_moves_no_position() -> None:
    assert sse.RESYNC == b"event: resync\ndata: {}\n\n"
    stream = sse.frames(7, ["{}"]) + sse.RESYNC
    assert parse(stream) == [Dispatched("7", "message", "{}"), Dispatched("7", "resync", "{}")]


@given(st.integers(1, 2**53), st.lists(LINE, max_size=20))
@example(1, ["", " ", ": no comment", "id: 9", "data: x", "\u2028", "\x0b\x0c\x85", "\0"])
def test_a_reader_gets_back_every_id_and_line(first_id: int, lines: list[str]) -> None:
    assert parse(sse.frames(first_id, lines)) == [
        Dispatched(str(number), "message", line) for number, line in enumerate(lines, first_id)
    ]


@given(st.lists(st.lists(LINE, min_size=1, max_size=3), max_size=5))
def test_batches_written_one_after_the_other_are_one_stream(batches: list[list[str]]) -> None:
    stream, number = b"", 1
    for batch in batches:
        stream += sse.frames(number, batch) + sse.HEARTBEAT
        number += len(batch)
    lines = [line for batch in batches for line in batch]
    assert [(event.id, event.data) for event in parse(stream)] == [
        (str(number), line) for number, line in enumerate(lines, 1)
    ]


def test_half_a_surrogate_pair_breaks_no_stream() -> None:
    assert parse(sse.frames(1, ["a\ud800b", "next"])) == [
        Dispatched("1", "message", "a?b"),
        Dispatched("2", "message", "next"),
    ]


def test_the_goodbye_says_when_to_return_and_is_no_event() -> None:
    farewell = sse.goodbye("the server is going down", 1000)
    assert farewell == b"retry: 1000\n: the server is going down\n\n"
    assert parse(farewell) == []


@pytest.mark.parametrize(
    ("text", "position"), [("0", 0), ("42", 42), ("007", 7), ("9" * 18, 10**18 - 1)]
)
def test_a_number_is_a_position(text: str, position: int) -> None:
    assert sse.position(text) == position


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "-1", "+1", "1.0", "1e3", "0x10", "1_000", "abc", "1 ", "１", "²", "٣", "\0"),
        *("NaN", "null", "true", "9" * 19, "9" * 100_000, "1\n2", "1;2", "' OR 1=1"),
    ],
)
def test_what_was_never_given_out_is_no_position(text: str) -> None:
    assert sse.position(text) is None


@given(st.text())
def test_a_position_is_a_number_that_a_database_holds_or_none(text: str) -> None:
    found = sse.position(text)
    assert found is None or 0 <= found < 2**63
