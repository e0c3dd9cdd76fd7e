"""Bytes to messages and back. Unknown methods and fields are tolerated, broken ones are Malformed.

The uplink decoder runs once per frame on the hot path: one typed pass, no second look.
"""

from uuid import UUID, uuid5

import msgspec

from trunkline.wire.agp.messages import Downlink, Uplink
from trunkline.wire.errors import UNREADABLE, Malformed

_NAMESPACE = UUID("8f0f1b7e-5c0a-5d0c-9d0e-a9b7f3c1e003")


class Unknown(msgspec.Struct):
    """A well-formed message of a method that this version does not know."""

    method: str


_uplink: msgspec.json.Decoder[Uplink] = msgspec.json.Decoder(Uplink)
_downlink: msgspec.json.Decoder[Downlink] = msgspec.json.Decoder(Downlink)
_envelope = msgspec.json.Decoder(Unknown)
_encoder = msgspec.json.Encoder()


def decode_uplink(text: str | bytes) -> Uplink | Unknown:
    """A message from a device."""
    try:
        return _uplink.decode(text)
    except UNREADABLE as error:
        return _unknown_or_raise(text, error)


def decode_downlink(text: str | bytes) -> Downlink | Unknown:
    """A message from a server, as a device reads it."""
    try:
        return _downlink.decode(text)
    except UNREADABLE as error:
        return _unknown_or_raise(text, error)


def encode(message: Downlink | Uplink) -> bytes:
    return _encoder.encode(message)


def msg_id_of(*parts: object) -> str:
    """The id of a message that says this. Said again it has the same id, so that a peer that
    has it already takes it for the repeat that it is."""
    return str(uuid5(_NAMESPACE, "/".join(map(str, parts))))


def _unknown_or_raise(text: str | bytes, error: Exception) -> Unknown:
    # `ValidationError: Invalid value 'x' - at `$.method`` is the only error that is none.
    if isinstance(error, msgspec.ValidationError) and str(error).endswith("at `$.method`"):
        try:
            return _envelope.decode(text)
        except UNREADABLE as second:
            error = second
    raise Malformed(str(error)[:500]) from error
