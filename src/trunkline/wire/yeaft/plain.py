"""The hot path, both ways: pieces of text. Pure.

In its usual form (docs/protocols/yeaft.md#output-data) such an envelope is its conversation's head,
the text in quotes, and a tail; it is not decoded, and not kept beside its event, because
the same bytes can be made of the event again. In any other form it is read once, and kept in `raw`,
the last field of its event.
"""

from itertools import islice
from typing import Final

import msgspec

from trunkline.wire.errors import UNREADABLE
from trunkline.wire.yeaft.inward_state import Inward, plain_head
from trunkline.wire.yeaft.outward_state import TAIL_CHARS, Outward

_TEXT_AT = len(plain_head("0" * 36))
HEAD: Final = slice(_TEXT_AT)
"""The place of the head in an envelope. Our ids all have the same length."""
_TAIL = "}]}}}"
# Made once: a slice that is written out is made anew each time.
_TEXT_PLACE, _TAIL_PLACE = slice(_TEXT_AT, -len(_TAIL)), slice(-len(_TAIL), None)
_TAIL_BYTES = _TAIL.encode()
_EVENT = '{"type":"text_chunk","content":'
_EVENT_PLACE = slice(len(_EVENT))
RAW: Final = ',"raw":{"protocol":"yeaft","message":'
_RAW_END = "}}"
_PIECE_CHARS_MAX = 4096  # what is longer is not worth a guess


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str


class _Said(msgspec.Struct, gc=False):
    content: list[_Block]


class _Output(msgspec.Struct, tag="assistant", gc=False):
    message: _Said


class Piece(msgspec.Struct, tag="claude_output", rename="camel", gc=False):
    """An envelope with one block of text, and whatever else its provider says beside it."""

    conversation_id: str
    data: _Output


class _Event(msgspec.Struct, tag="text_chunk", gc=False):
    """What such an envelope becomes in the log."""

    content: str
    turn_id: str | None = None
    person: msgspec.Raw = msgspec.Raw()
    agent: msgspec.Raw = msgspec.Raw()
    raw: msgspec.Raw = msgspec.Raw()


_encode = msgspec.json.Encoder().encode
_string = msgspec.json.Decoder(str).decode
_event = msgspec.json.Decoder(_Event).decode
_piece = msgspec.json.Decoder(Piece).decode
_whole = msgspec.json.Decoder(msgspec.Raw).decode


def to_line(state: Inward, text: str) -> str | None:
    """The event of an envelope that has `state.plain_head` in the place of its head; None if it
    goes on otherwise than a piece of text does."""
    if text[_TAIL_PLACE] != _TAIL:
        return None
    quoted = text[_TEXT_PLACE]
    try:
        said = _string(quoted)
    except UNREADABLE:
        return None
    # Spaces and escapes make it longer; they can be written in more than one way.
    if not said or (len(quoted) != len(said) + 2 and _encode(said).decode() != quoted):
        return None
    state.answer.add(said)
    return f'{{"type":"text_chunk","content":{quoted}{state.turn_field}}}'


def read(text: str) -> Piece | None:
    """A piece of text in any form; None for any other message."""
    if len(text) > _PIECE_CHARS_MAX:
        return None
    try:
        piece = _piece(text)
    except UNREADABLE:
        return None
    blocks = piece.data.message.content
    return piece if len(blocks) == 1 and blocks[0].type == "text" and blocks[0].text else None


def to_whole_line(state: Inward, piece: Piece, text: str) -> str:
    """The event of such an envelope, with the envelope."""
    said = piece.data.message.content[0].text
    state.answer.add(said)
    quoted = _encode(said).decode()
    return f'{{"type":"text_chunk","content":{quoted}{state.turn_field}{RAW}{text}{_RAW_END}'


def from_lines(state: Outward, lines: list[str], start: int = 0) -> list[bytes]:
    """The envelopes of the pieces of text that a machine has said in one turn: one for each event
    from `start` on, up to the first that is anything else."""
    head, tail, relays = state.text_head, state.plain_tail, state.relays
    content, tail_at = _content_place(tail), slice(-len(tail), None)
    texts: list[str] = []
    bodies: list[bytes] = []
    try:
        for line in islice(lines, start, None):
            if line[_EVENT_PLACE] != _EVENT:
                break
            if line[tail_at] == tail:
                quoted = line[content]
                text = _string(quoted)
                body = quoted.encode()
            elif relays and (original := _original(line, tail)) is not None:
                bodies.append(original)
                continue
            else:
                event = _event(line)
                text, turn_id = event.content, event.turn_id
                if turn_id is None or event.person or event.agent:
                    break
                if turn_id != state.plain_turn:
                    if texts:
                        break
                    state.plain_turn = turn_id
                    state.plain_tail = tail = f',"turn_id":{_encode(turn_id).decode()}}}'
                    content, tail_at = _content_place(tail), slice(-len(tail), None)
                if event.raw:
                    break
                body = _encode(text)
            if not text:
                break
            texts.append(text)
            bodies.append(head + body + _TAIL_BYTES)
    except UNREADABLE:
        pass  # not a plain one either
    if texts:
        # The end is all that is kept, and none is empty.
        state.note(state.plain_turn, "", "".join(texts[-TAIL_CHARS:]))
    return bodies


def _original(line: str, tail: str) -> bytes | None:
    """The envelope that stands behind a piece of text of the turn whose lines end like that."""
    at = line.find(RAW)
    if at < 0 or line[-len(_RAW_END) :] != _RAW_END or not line.endswith(tail[:-1], 0, at):
        return None
    _string(line[len(_EVENT) : at - len(tail) + 1])
    original = line[at + len(RAW) : -len(_RAW_END)].encode()
    _whole(original)
    return original


def _content_place(tail: str) -> slice:
    """Where the text stands, in its quotes, in a line with that end."""
    return slice(len(_EVENT), -len(tail))
