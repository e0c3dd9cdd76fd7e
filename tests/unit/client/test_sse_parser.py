"""Server-sent events, however the network cuts them up."""

from collections import deque
from itertools import pairwise, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.client.errors import StreamBroken
from trunkline.client.sse import Frame, SseParser
from trunkline.wire import sse

STREAM = (
    sse.frames(7, ['{"type":"text_chunk","content":"é中"}', '{"a": 1}'])
    + sse.HEARTBEAT
    + sse.RESYNC
    + sse.goodbye("going down", 1500)
)
FRAMES = [
    Frame("7", "message", '{"type":"text_chunk","content":"é中"}'),
    Frame("8", "message", '{"a": 1}'),
    Frame(None, "resync", "{}"),
]


def parse(*pieces: bytes) -> tuple[list[Frame], SseParser]:
    parser = SseParser(10_000)
    return [frame for piece in pieces for frame in parser.feed(piece)], parser


def test_what_the_server_writes_is_read() -> None:
    frames, parser = parse(STREAM)
    assert frames == FRAMES
    assert parser.retry_ms == 1500


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_it_does_not_matter_where_the_network_cuts(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(places)]
    assert parse(*pieces)[0] == FRAMES


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_all_three_line_ends_are_read_byte_by_byte(end: bytes) -> None:
    text = b"id: 1" + end + b"data: a" + end + b"data:b" + end + end + b": end" + end
    frames, _ = parse(*(bytes([byte]) for byte in text))
    assert frames == [Frame("1", "message", "a\nb")]


@pytest.mark.parametrize(
    "text",
    [b"\n\n\n", b": x\n\n", b"id: 3\n\n", b"event: x\n\n", b"nonsense\n\n", b"data: no end\n"],
)
def test_what_has_no_data_is_no_event(text: bytes) -> None:
    assert parse(text)[0] == []


def test_broken_utf8_and_odd_retries_do_no_harm() -> None:
    frames, parser = parse(b"data: \xff\xfe\nretry: -1\nretry: 99999999999\nid: a\x00b\n\n")
    assert frames == [Frame(None, "message", "\ufffd\ufffd")]
    assert parser.retry_ms is None


@pytest.mark.parametrize("piece", [b"x" * 1000, b"data: " + b"x" * 100 + b"\n"])
def test_an_endless_event_is_refused(piece: bytes) -> None:
    parser = SseParser(10_000)
    with pytest.raises(StreamBroken):
        deque(map(parser.feed, repeat(piece, 200)))


def test_a_long_stream_of_small_events_is_fine() -> None:
    parser = SseParser(100)
    for number in range(1000):
        assert len(parser.feed(b"id: %d\ndata: x\n\n" % number)) == 1
