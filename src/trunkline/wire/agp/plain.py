"""The hot path: a piece of text in its usual form (docs/protocols/agp.md#sessionupdate). Pure.

Nearly all updates are such: an id, what the messages of a turn have in common, and the text in
quotes. It is not decoded: that the common part is the turn's own says whose it is. `to_events` does
the same for a message in any form, more slowly.
"""

import json
from collections.abc import Callable

import msgspec

from trunkline.wire.agp.inward import Inward
from trunkline.wire.agp.messages import MESSAGE_CHUNK, TEXT

_START = '{"msg_id":'
_TAIL = "}}}"
_ID_CHARS = 36  # a UUID
_ID_END = len(_START) + _ID_CHARS + len('""')
_TAIL_AT = -len(_TAIL)
# Made once: a slice that is written out is made anew each time.
_START_PLACE, _ID_PLACE = slice(len(_START)), slice(len(_START), _ID_END)
_TAIL_PLACE = slice(_TAIL_AT, None)
_encode = msgspec.json.Encoder().encode
_string = msgspec.json.Decoder(str).decode


def common_part(guid: str, user_id: str, session_id: str, prompt_id: str) -> str:
    """What stands between the id and the text of a turn's pieces of text."""
    envelope = {
        "guid": guid,
        "user_id": user_id,
        "method": "session.update",
        "payload": {
            "session_id": session_id,
            "prompt_id": prompt_id,
            "update_type": MESSAGE_CHUNK,
            "content": {"type": TEXT, "text": ""},
        },
    }
    text = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    return "," + text[1 : -len('""') - len(_TAIL)]


def place_of(common: str) -> slice:
    """Where that part stands in a message. Ids have one length, so it is one for each device."""
    return slice(_ID_END, _ID_END + len(common))


def text_after(place: slice) -> slice:
    """Where the text stands then, in its quotes."""
    return slice(place.stop, _TAIL_AT)


def to_line(
    state: Inward, message: str, text_at: slice, is_new: Callable[[str], bool]
) -> str | None:
    """The event of a message that has the turn's common part in its place: empty if the message
    was taken before; None if it is another kind of message for all that."""
    if message[_START_PLACE] != _START or message[_TAIL_PLACE] != _TAIL:
        return None
    quoted = message[text_at]
    try:
        msg_id = _string(message[_ID_PLACE])
        said = _string(quoted)
    except (msgspec.DecodeError, UnicodeError):
        return None
    if not said or len(msg_id) != _ID_CHARS:
        return None
    if not is_new(msg_id):
        return ""
    if len(quoted) != len(said) + 2:  # escapes can be written in more than one way
        quoted = _encode(said).decode()
    state.heard = state.has_news = True
    state.streamed.add(said)
    return f'{{"type":"text_chunk","content":{quoted}{state.turn_field},"msg_id":"{msg_id}"}}'
