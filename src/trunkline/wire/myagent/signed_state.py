"""A session's state that a client keeps: signed, so that it comes back as it was given."""

import hashlib
import hmac
from typing import Any

import msgspec

from trunkline.wire.errors import WireError

VERSION = "1.0"
Json = dict[str, Any]


class SignedState(msgspec.Struct):
    state: Json
    timestamp: int
    """Unix milliseconds."""
    signature: str
    version: str
    checksum: str


class StateRefused(WireError):
    """`code`: STATE_INVALID or STATE_EXPIRED."""

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(problem)
        self.code = code


def sign(key: bytes, state: Json, now_ms: int) -> SignedState:
    checksum = hashlib.sha256(_canonical(state)).hexdigest()
    return SignedState(state, now_ms, _signature(key, state, now_ms, checksum), VERSION, checksum)


def open_state(key: bytes, given: Any, now_ms: int, *, life_ms: int, bytes_max: int) -> Json:
    """The state, if it is one of ours, unchanged and not too old."""
    try:
        signed = msgspec.convert(given, SignedState)
        size = len(_canonical(signed.state))
    except (msgspec.ValidationError, UnicodeError, RecursionError) as error:
        raise StateRefused("STATE_INVALID", f"signed_state: {error}") from error
    if signed.version != VERSION or size > bytes_max:
        raise StateRefused("STATE_INVALID", "signed_state has another version, or is too large")
    proven = sign(key, signed.state, signed.timestamp)
    for ours, theirs in (
        (proven.signature, signed.signature),
        (proven.checksum, signed.checksum),
    ):
        if not hmac.compare_digest(ours.encode(), theirs.encode("utf-8", "replace")):
            raise StateRefused("STATE_INVALID", "signed_state was changed, or is not ours")
    if signed.timestamp + life_ms < now_ms:
        raise StateRefused("STATE_EXPIRED", "signed_state is too old")
    return signed.state


def _signature(key: bytes, state: Json, timestamp: int, checksum: str) -> str:
    signed = {"state": state, "timestamp": timestamp, "version": VERSION, "checksum": checksum}
    return hmac.new(key, _canonical(signed), hashlib.sha256).hexdigest()


def _canonical(value: Any) -> bytes:
    """The same bytes whatever the order in which a client keeps the fields."""
    return msgspec.json.encode(value, order="sorted")
