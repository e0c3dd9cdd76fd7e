"""The hot path, both ways: a piece of text in the form in which nearly all come. Pure.

Such an envelope is its conversation's head, the text in quotes, and a tail; it is not decoded, and
not kept beside its event, because the same bytes can be made of the event again.
"""

from typing import Final

import msgspec

from trunkline.wire.yeaft.outward_state import Outward
from trunkline.wire.yeaft.stream import Inward, plain_head

HEAD: Final = slice(len(plain_head("0" * 36)))
"""The place of the head in an envelope. Our ids all have the same length."""
TAIL: Final = "}]}}}"
_TAIL_BYTES = TAIL.encode()
_EVENT = '{"type":"text_chunk","content":'


class _Event(msgspec.Struct, tag="text_chunk", gc=False):
    """What such an envelope becomes in the log."""

    content: str
    turn_id: str | None = None
    person: msgspec.Raw = msgspec.Raw()
    agent: msgspec.Raw = msgspec.Raw()
    raw: msgspec.Raw = msgspec.Raw()


_encode = msgspec.json.Encoder().encode
_string = msgspec.json.Decoder(str)
_event = msgspec.json.Decoder(_Event)
_BROKEN = (msgspec.DecodeError, UnicodeError, RecursionError)


def to_line(state: Inward, text: str) -> str | None:
    """The event of an envelope that begins with `state.plain_head`; None if it goes on otherwise
    than a piece of text does."""
    if text[-len(TAIL) :] != TAIL:
        return None
    quoted = text[len(state.plain_head) : -len(TAIL)]
    try:
        said = _string.decode(quoted)
    except _BROKEN:
        return None
    # Spaces and escapes make it longer; they can be written in more than one way.
    if not said or (len(quoted) != len(said) + 2 and _encode(said).decode() != quoted):
        return None
    state.answer.add(said)
    return f'{{"type":"text_chunk","content":{quoted}{state.turn_field}}}'


def from_line(state: Outward, line: str) -> bytes | None:
    """The envelope of a piece of text that a machine has said in a turn; None for any other
    event."""
    if line[: len(_EVENT)] != _EVENT:
        return None
    tail = state.plain_tail
    quoted = line[len(_EVENT) : -len(tail)] if line[-len(tail) :] == tail else ""
    try:
        said = _string.decode(quoted) if quoted else ""
    except _BROKEN:
        said = ""
    if not said:
        return _of_other_turn(state, line)
    state.note(state.plain_turn, "", said)
    return state.text_head + quoted.encode() + _TAIL_BYTES


def _of_other_turn(state: Outward, line: str) -> bytes | None:
    """The same, in any form; the next lines of its turn end alike."""
    try:
        event = _event.decode(line)
    except _BROKEN:
        return None
    said, turn_id = event.content, event.turn_id
    if not said or turn_id is None or event.person or event.agent or event.raw:
        return None
    state.plain_turn, state.plain_tail = turn_id, f',"turn_id":{_encode(turn_id).decode()}}}'
    state.note(turn_id, "", said)
    return state.text_head + _encode(said) + _TAIL_BYTES
