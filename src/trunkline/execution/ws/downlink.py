"""Messages of the control plane as this side reads them: lenient about where fields stand.

Deployed control planes put the fields of `cancel` and `config_update` inside `data` or beside it,
and leave out what has a default. What cannot be read is Malformed: warn and go on (000 §8).
"""

from typing import Any, NamedTuple

import msgspec

from trunkline import limits
from trunkline.wire.errors import Malformed
from trunkline.wire.semibot import messages as wire
from trunkline.wire.semibot.messages import Json

_START_DEFAULTS: Json = {"runtime_type": "semigraph", "agent_config": {}}
_INIT_DEFAULTS: Json = {"user_id": "", "org_id": "", "api_keys": {}}


class ForSession(NamedTuple):
    """A message for one session's handlers, or for the machine's own."""

    kind: str
    session_id: str | None
    data: Json


class ResumeResults(msgspec.Struct):
    results: dict[str, Any]


class Unknown(NamedTuple):
    kind: str


Message = (
    ForSession
    | ResumeResults
    | Unknown
    | wire.InitData
    | wire.Response
    | wire.Error
    | wire.Ack
    | wire.Token
)


def read(text: str) -> Message:
    """One frame. Raises Malformed."""
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)[:500]) from error
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise Malformed("a message is an object with a type")
    try:
        return _typed(raw["type"], raw)
    except msgspec.ValidationError as error:
        raise Malformed(f"{raw['type'][:100]}: {str(error)[:500]}") from error


def _typed(kind: str, raw: Json) -> Message:
    match kind:
        case "ack":
            return msgspec.convert(raw, wire.Ack)
        case "response":
            return msgspec.convert(raw, wire.Response)
        case "resume_response":
            return msgspec.convert(raw, ResumeResults)
        case "error":
            return msgspec.convert(raw, wire.Error)
        case "token":
            token = msgspec.convert(raw, wire.Token)
            if not 0 < len(token.data.token) <= limits.VM_TOKEN_CHARS_MAX:
                raise Malformed("token: too long or empty")
            return token
        case "init":
            return msgspec.convert({**_INIT_DEFAULTS, **_data(raw)}, wire.InitData)
        case "start_session":
            data = {**_START_DEFAULTS, **_data(raw)}
            start = msgspec.convert(data, wire.StartSessionData)
            return ForSession(kind, start.session_id, data)
        case "stop_session":
            data = {"reason": "", **_data(raw)}
            return ForSession(kind, msgspec.convert(data, wire.StopSessionData).session_id, data)
        case "user_message":
            data = _data(raw)
            msgspec.convert(data, wire.UserMessageData)
            return ForSession(kind, _session_id(raw, {}), data)
        case "cancel" | "config_update" | "approval_response":
            return _loose(kind, raw)
        case _:
            return Unknown(kind[:100])


def _loose(kind: str, raw: Json) -> ForSession:
    inside = raw.get("data")
    if inside is None:
        inside = {}
    if not isinstance(inside, dict):
        raise Malformed(f"{kind}: data is no object")
    beside = {
        name: value
        for name, value in raw.items()
        if name not in ("type", "data", "session_id", "timestamp")
    }
    data = {**beside, **inside}
    if kind == "config_update" and "session_id" not in raw and "session_id" not in inside:
        return ForSession(kind, None, data)  # for every session of this machine
    session_id = _session_id(raw, data)
    data.pop("session_id", None)
    return ForSession(kind, session_id, data)


def _data(raw: Json) -> Json:
    data = raw.get("data")
    if not isinstance(data, dict):
        raise Malformed(f"{raw['type'][:100]}: data is no object")
    return data


def _session_id(raw: Json, data: Json) -> str:
    session_id = raw.get("session_id", data.get("session_id"))
    if not isinstance(session_id, str) or not session_id:
        raise Malformed(f"{raw['type'][:100]}: no session_id")
    return session_id
