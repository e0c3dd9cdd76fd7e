"""Bytes to messages and back. Unknown types and fields are tolerated, broken ones are Malformed.

The uplink decoder runs once per frame on the hot path: one typed pass, no second look.
"""

import msgspec

from trunkline.wire.errors import UNREADABLE, Malformed
from trunkline.wire.semibot.messages import Downlink, Uplink


class Unknown(msgspec.Struct):
    """A well-formed message of a type that this version does not know."""

    type: str


class _Asked(msgspec.Struct):
    """As much of a request as its answer needs."""

    type: str
    id: str


_uplink: msgspec.json.Decoder[Uplink] = msgspec.json.Decoder(Uplink)
_envelope = msgspec.json.Decoder(Unknown)
_asked = msgspec.json.Decoder(_Asked)
_encoder = msgspec.json.Encoder()


def decode_uplink(payload: bytes | str) -> Uplink | Unknown:
    """A message from the execution plane."""
    try:
        return _uplink.decode(payload)
    except UNREADABLE as error:
        return _unknown_or_raise(payload, error)


def encode(message: Downlink | Uplink) -> bytes:
    return _encoder.encode(message)


def _unknown_or_raise(payload: bytes | str, error: Exception) -> Unknown:
    # `ValidationError: Invalid value 'x' - at `$.type`` is the only error that is none.
    if isinstance(error, msgspec.ValidationError) and str(error).endswith("at `$.type`"):
        try:
            return _envelope.decode(payload)
        except UNREADABLE as second:
            error = second
    raise Malformed(str(error)[:500], _request_id(payload)) from error


def _request_id(payload: bytes | str) -> str | None:
    """The id of a request that cannot be read otherwise: its sender waits for an answer."""
    try:
        asked = _asked.decode(payload)
    except UNREADABLE:
        return None
    return asked.id if asked.type == "request" else None
