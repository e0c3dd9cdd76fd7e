"""Messages to bytes, and the fields that each connection puts on a message of its own."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from trunkline.wire.myagent.messages import Downlink

_encoder = msgspec.json.Encoder()
_MS_MAX = 253_402_300_799_999  # the last moment of the year 9999


def encode(message: Downlink) -> bytes:
    """The message without its number, its metadata last; half of a character, which JSON cannot
    hold, becomes `?`."""
    if message.metadata is None:
        message.metadata = {}
    try:
        return _encoder.encode(message)
    except UnicodeEncodeError:
        return _encoder.encode(_whole(msgspec.to_builtins(message)))


def numbered(body: bytes, connection_id: bytes, seq: int) -> bytes:
    """An encoded message with its place on one connection. The body is not looked into again: it
    ends with its metadata."""
    comma = b"" if body.endswith(b"{}}") else b","
    return b'%b%b"connection_id":"%b"},"seq":%d,"event_id":"%b-%d"}' % (
        body[:-2],
        comma,
        connection_id,
        seq,
        connection_id,
        seq,
    )


def timestamp(ms: int) -> str:
    """Unix milliseconds in ISO 8601."""
    moment = datetime.fromtimestamp(min(max(ms, 0), _MS_MAX) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(one) for name, one in value.items()}
    return value
