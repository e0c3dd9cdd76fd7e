"""From frames to messages (RFC 6455 §5.4): fragments joined, everything else a close code."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.wire.errors import CloseLine
from trunkline.wire.frames import BINARY, CONTINUATION, TEXT, Assembler, check_text, text_frames


def _refused(assembler: Assembler, opcode: int, final: bool, payload: bytes) -> int:
    with pytest.raises(CloseLine) as caught:
        assembler.feed(opcode, final, payload)
    return caught.value.code


def test_a_final_text_frame_is_a_message() -> None:
    assembler = Assembler(10)
    assert assembler.feed(TEXT, True, b"hello") == b"hello"
    assert assembler.idle


def test_fragments_become_one_message() -> None:
    assembler = Assembler(100)
    assert assembler.feed(TEXT, False, b'{"type"') is None
    assert assembler.feed(CONTINUATION, False, b":") is None
    assert assembler.feed(CONTINUATION, True, b'"x"}') == b'{"type":"x"}'
    assert assembler.feed(TEXT, True, b"next") == b"next"


def test_it_is_idle_between_messages_only() -> None:
    assembler = Assembler(100)
    idle = [assembler.idle]
    for opcode, final in ((TEXT, False), (CONTINUATION, False), (CONTINUATION, True)):
        assembler.feed(opcode, final, b"x")
        idle.append(assembler.idle)
    assert idle == [True, False, False, True]


def test_empty_fragments_are_fragments() -> None:
    assembler = Assembler(10)
    assert assembler.feed(TEXT, False, b"") is None
    assert assembler.feed(CONTINUATION, False, b"") is None
    assert assembler.feed(CONTINUATION, True, b"") == b""


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_a_message_cut_anywhere_is_the_same_message(message: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(message)) for cut in cuts), len(message)]
    parts = [message[a:b] for a, b in pairwise(edges)]
    assembler = Assembler(60)
    out = [
        assembler.feed(CONTINUATION if number else TEXT, number == len(parts) - 1, part)
        for number, part in enumerate(parts)
    ]
    assert out[:-1] == [None] * (len(parts) - 1)
    assert out[-1] == message


@pytest.mark.proves("000-1-no-binary-frames")
@pytest.mark.parametrize("final", [True, False])
def test_a_binary_frame_ends_the_line_with_1003(final: bool) -> None:
    assert _refused(Assembler(10), BINARY, final, b"{}") == 1003


def test_a_binary_frame_inside_a_message_ends_the_line() -> None:
    assembler = Assembler(10)
    assembler.feed(TEXT, False, b"a")
    assert _refused(assembler, BINARY, True, b"b") == 1003


@pytest.mark.parametrize("final", [True, False])
def test_a_continuation_without_a_start_ends_the_line_with_1002(final: bool) -> None:
    assert _refused(Assembler(10), CONTINUATION, final, b"x") == 1002


def test_a_continuation_after_the_end_ends_the_line_with_1002() -> None:
    assembler = Assembler(10)
    assembler.feed(TEXT, False, b"a")
    assembler.feed(CONTINUATION, True, b"b")
    assert _refused(assembler, CONTINUATION, True, b"c") == 1002


@pytest.mark.parametrize("final", [True, False])
def test_a_new_message_inside_another_ends_the_line_with_1002(final: bool) -> None:
    assembler = Assembler(10)
    assembler.feed(TEXT, False, b"a")
    assert _refused(assembler, TEXT, final, b"b") == 1002


@pytest.mark.proves("000-9-frame-10-mb")
def test_a_message_of_the_limit_passes_and_one_byte_more_ends_the_line_with_1009() -> None:
    assert Assembler(10).feed(TEXT, True, b"x" * 10) == b"x" * 10
    assert _refused(Assembler(10), TEXT, True, b"x" * 11) == 1009
    assert _refused(Assembler(10), TEXT, False, b"x" * 11) == 1009


def test_fragments_together_have_the_same_limit() -> None:
    assembler = Assembler(10)
    assert assembler.feed(TEXT, False, b"x" * 6) is None
    assert assembler.feed(CONTINUATION, False, b"x" * 4) is None
    assert _refused(assembler, CONTINUATION, True, b"x") == 1009


def test_text_is_checked_for_utf_8_as_a_whole() -> None:
    whole = "你好".encode()
    assembler = Assembler(10)
    assert assembler.feed(TEXT, False, whole[:1]) is None
    assert assembler.feed(CONTINUATION, True, whole[1:]) == whole
    check_text(whole)


@pytest.mark.parametrize("payload", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", "你".encode()[:2]])
def test_text_that_is_not_utf_8_ends_the_line_with_1007(payload: bytes) -> None:
    with pytest.raises(CloseLine) as caught:
        check_text(payload)
    assert caught.value.code == 1007


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 70000])
def test_a_message_of_any_size_becomes_one_unmasked_final_text_frame(size: int) -> None:
    payload = b"x" * size
    frame = text_frames([payload])
    assert frame[0] == 0x81  # FIN and the opcode of text (RFC 6455 section 5.2)
    if size < 126:
        assert frame[1] == size
        head = 2
    elif size < 65536:
        assert (frame[1], int.from_bytes(frame[2:4], "big")) == (126, size)
        head = 4
    else:
        assert (frame[1], int.from_bytes(frame[2:10], "big")) == (127, size)
        head = 10
    assert frame[head:] == payload


def test_many_messages_are_one_piece_of_bytes_in_order() -> None:
    assert text_frames([b"a", b"bc"]) == b"\x81\x01a\x81\x02bc"
    assert text_frames([]) == b""
