"""Text to messages and back. Unknown types and fields are tolerated, broken ones are Malformed.

`decode` runs once per message on the hot path and reads no more than a relay needs; who handles a
message reads the same text again as what its type says.
"""

import json
from collections.abc import Container
from typing import Any, TypeVar

import msgspec

from trunkline.wire.errors import UNREADABLE, Malformed
from trunkline.wire.yeaft.messages import Envelope

_Kind = TypeVar("_Kind")

_envelope = msgspec.json.Decoder(Envelope)
_objects = msgspec.json.Decoder(dict[str, Any])
_encoder = msgspec.json.Encoder()
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}

_PROBLEM_CHARS_MAX = 300


def decode(text: str | bytes) -> Envelope:
    """Any message: its type, where it goes, and its `data` unread."""
    return _decoded(text, _envelope)


def read(text: str | bytes | msgspec.Raw, kind: type[_Kind]) -> _Kind:
    """The same text as the message that its type says it is."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    found: _Kind = _decoded(text, decoder)
    return found


def fields(text: str | bytes, *, without: Container[str] = ()) -> dict[str, Any]:
    """Every field of a message by its name on the wire, but those."""
    found = _decoded(text, _objects)
    return {name: value for name, value in found.items() if name not in without}


def encode(message: msgspec.Struct | dict[str, Any]) -> bytes:
    return _encoder.encode(message)


def _decoded(text: str | bytes | msgspec.Raw, decoder: msgspec.json.Decoder[_Kind]) -> _Kind:
    try:
        return decoder.decode(text)
    except UNREADABLE as error:
        if isinstance(error, msgspec.ValidationError):
            raise Malformed(str(error)[:_PROBLEM_CHARS_MAX]) from error
    try:
        return decoder.decode(_mended(bytes(text) if isinstance(text, msgspec.Raw) else text))
    except (*UNREADABLE, ValueError) as error:
        raise Malformed(str(error)[:_PROBLEM_CHARS_MAX]) from error


def _mended(text: str | bytes) -> bytes:
    """Half of a character, which a cut-off answer may end with, is JSON to everybody but msgspec.
    Here it becomes a question mark; in the log the message stays as it came."""
    return json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
