"""Values of a checkpoint as JSON: readable where JSON holds them exactly, packed where not.

LangGraph's serializer decides what a value comes back as; this module only decides how its bytes
are written down: `{"plain": …}`, or `{"type": …, "base64": …}`.
"""

from typing import Any

import msgspec
import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol

from trunkline import limits

CHECKPOINT_READABLE_BYTES_MAX = 1 * limits.MIB  # a larger value is packed: nobody reads it as text


_NEVER_WRITTEN = ("json", "pickle")
"""Formats of old checkpoints elsewhere, in which a value can name what is to be called."""


class _Stored(msgspec.Struct, omit_defaults=True):
    plain: Any = msgspec.UNSET
    type: str = ""
    base64: bytes = b""


_encoder = msgspec.json.Encoder()
_stored = msgspec.json.Decoder(_Stored)


def encode(serde: SerializerProtocol, value: Any) -> msgspec.Raw:
    """JSON text. Raises what the serializer raises for a value that it cannot take."""
    kind, data = serde.dumps_typed(value)
    text = _readable(kind, data)
    stored = _Stored(type=kind, base64=data) if text is None else _Stored(msgspec.Raw(text))
    return msgspec.Raw(_encoder.encode(stored))


def decode(serde: SerializerProtocol, text: msgspec.Raw) -> Any:
    """What the serializer would have given back."""
    stored = _stored.decode(text)
    if stored.plain is not msgspec.UNSET:
        return stored.plain
    if stored.type.startswith(_NEVER_WRITTEN):
        raise ValueError(f"a value of type {stored.type[:20]!r} is none of ours")
    return serde.loads_typed((stored.type, stored.base64))


def _readable(kind: str, data: bytes) -> bytes | None:
    """The serializer's bytes as JSON, if they can be had back from it bit by bit."""
    if kind == "null":
        return b"null"
    if kind != "msgpack" or len(data) > CHECKPOINT_READABLE_BYTES_MAX:
        return None
    try:
        # Raises for objects and for keys that are no text. Bytes and numbers that JSON lacks
        # pass, and show when the way is gone back.
        text = _encoder.encode(ormsgpack.unpackb(data))
        same = ormsgpack.packb(msgspec.json.decode(text)) == data
    except (ValueError, TypeError, RecursionError):
        return None
    return text if same else None
