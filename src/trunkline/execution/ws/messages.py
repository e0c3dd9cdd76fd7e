"""What travels on the line to a control plane, as this side reads and writes it.

Down it is lenient about where fields stand: deployed control planes put those of `cancel` and
`config_update` inside `data` or beside it, repeat the message at the end of its history, send keys
with a `config_update`, and leave out what has a default, or say null. What cannot be read is
Malformed: warn and go on. Up, additions to the documented fields are there only where they were
agreed on. The protocol: docs/protocols/semibot.md.
"""

from typing import Any, NamedTuple

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.ws.session_queue import Outgoing
from trunkline.wire.errors import Malformed
from trunkline.wire.semibot import messages as wire
from trunkline.wire.semibot.keys import decrypt_key
from trunkline.wire.semibot.messages import Json

_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode

_START_DEFAULTS: Json = {"runtime_type": "semigraph", "agent_config": {}}
_INIT_DEFAULTS: Json = {"user_id": "", "org_id": "", "api_keys": {}}


class ForSession(NamedTuple):
    """A message for one session's handlers, or for the machine's own."""

    kind: str
    session_id: str | None
    data: Json
    access: wire.InitData | None = None
    """Keys and models that came with it: they are every session's, and are not its data."""


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
    | wire.Query
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
        return _typed(raw["type"], _present(raw))
    except msgspec.ValidationError as error:
        raise Malformed(f"{raw['type'][:100]}: {str(error)[:500]}") from error


def _typed(kind: str, raw: Json) -> Message:
    match kind:
        case "ack":
            return msgspec.convert(raw, wire.Ack)
        case "response":
            return _response(raw)
        case "resume_response":
            return msgspec.convert(raw, ResumeResults)
        case "error":
            return msgspec.convert(raw, wire.Error)
        case "token":
            token = msgspec.convert(raw, wire.Token)
            if not 0 < len(token.data.token) <= limits.VM_TOKEN_CHARS_MAX:
                raise Malformed("token: too long or empty")
            return token
        case "query":
            return msgspec.convert({**raw, "data": _data(raw)}, wire.Query)
        case "init":
            data = {**_INIT_DEFAULTS, **_data(raw)}
            if isinstance(data["api_keys"], dict):
                data["api_keys"] = _present(data["api_keys"])
            return msgspec.convert(data, wire.InitData)
        case "start_session":
            data = {**_START_DEFAULTS, **_data(raw)}
            start = msgspec.convert(data, wire.StartSessionData)
            return ForSession(kind, start.session_id, data)
        case "stop_session":
            data = {"reason": "", **_data(raw)}
            return ForSession(kind, msgspec.convert(data, wire.StopSessionData).session_id, data)
        case "user_message":
            return ForSession(kind, _session_id(raw, {}), _said(_data(raw)))
        case "steer":
            return ForSession(kind, _session_id(raw, {}), _data(raw))
        case "config_update":
            return _config_update(_loose(kind, raw))
        case "cancel" | "approval_response":
            return _loose(kind, raw)
        case _:
            return Unknown(kind[:100])


def error_of(error: Any) -> wire.ErrorBody:
    """Of a request that failed, whatever its shape: who waits must hear of it."""
    if isinstance(error, dict):
        code, message = error.get("code"), error.get("message")
        return wire.ErrorBody(
            code=code if isinstance(code, str) else "REQUEST_FAILED",
            message=message if isinstance(message, str) else "the request failed",
        )
    message = str(error or "the request failed")[:1000]
    return wire.ErrorBody(code="REQUEST_FAILED", message=message)


def _response(raw: Json) -> wire.Response:
    if "error" in raw:
        raw = {**raw, "error": msgspec.to_builtins(error_of(raw["error"]))}
    return msgspec.convert(raw, wire.Response)


def _said(data: Json) -> Json:
    """What a person says is `message`; where it is the last of `history` too, it is once too many
    there. The session looks closer."""
    history, message = data.get("history"), data.get("message")
    if isinstance(history, list) and history and isinstance(history[-1], dict):
        last = history[-1]
        if last.get("role") == "user" and last.get("content") == message:
            return {**data, "history": history[:-1]}
    return data


def _config_update(update: ForSession) -> ForSession:
    """Settings are flat, or those of a whole `agent_config`. Keys never come near what a session
    keeps of its settings."""
    data = dict(update.data)
    config = data.pop("agent_config", None) or {}
    if not isinstance(config, dict):
        raise Malformed("config_update: agent_config is no object")
    given = _present({name: data.pop(name, None) for name in ("api_keys", "llm_config")})
    access = None
    if given:
        if isinstance(given.get("api_keys"), dict):
            given["api_keys"] = _present(given["api_keys"])
        access = msgspec.convert({**_INIT_DEFAULTS, **given}, wire.InitData)
    return update._replace(data={**config, **data}, access=access)


def _loose(kind: str, raw: Json) -> ForSession:
    inside = raw.get("data", {})
    if not isinstance(inside, dict):
        raise Malformed(f"{kind}: data is no object")
    beside = {
        name: value
        for name, value in raw.items()
        if name not in ("type", "data", "session_id", "timestamp")
    }
    data = {**beside, **inside}
    inner_id = data.pop("session_id", None)
    if kind == "config_update" and "session_id" not in raw and inner_id is None:
        return ForSession(kind, None, data)  # for every session of this machine
    session_id = _session_id(raw, {"session_id": inner_id})
    return ForSession(kind, session_id, data)


def _data(raw: Json) -> Json:
    data = raw.get("data")
    if not isinstance(data, dict):
        raise Malformed(f"{raw['type'][:100]}: data is no object")
    return _present(data)


def _present(fields: Json) -> Json:
    """What is null was left out."""
    return {name: value for name, value in fields.items() if value is not None}


def _session_id(raw: Json, data: Json) -> str:
    session_id = raw.get("session_id", data.get("session_id"))
    if not isinstance(session_id, str) or not session_id:
        raise Malformed(f"{raw['type'][:100]}: no session_id")
    return session_id


def opened(data: wire.InitData, token: str) -> Json:
    """What `init` says, its keys decrypted and its gaps filled. Memory only, never logged. A key
    that cannot be decrypted is left out: the other providers work without it."""
    keys = {}
    for provider, key in data.api_keys.items():
        try:
            keys[provider] = decrypt_key(key, token)
        except Malformed:
            _log.error("the key of a provider cannot be decrypted", provider=provider[:100])
    return {
        "user_id": data.user_id,
        "org_id": data.org_id,
        "api_keys": keys,
        "llm_config": data.llm_config or {},
        "capabilities": data.capabilities or [],
        "acked": data.acked or {},
    }


def auth(token: str, capabilities: tuple[str, ...]) -> bytes:
    return _encode({"type": "auth", "token": token, "capabilities": capabilities})


def heartbeat(active_sessions: list[str], health: Json) -> bytes:
    frame: Json = {"type": "heartbeat", "active_sessions": active_sessions}
    if health and len(_encode(health)) <= limits.HEALTH_BYTES_MAX:
        frame["health"] = health
    return _encode(frame)


def resume(pending_ids: list[str], turns: list[str] | None) -> bytes:
    """`turns`: those that have come to this machine; only with `seq`."""
    frame: Json = {"type": "resume", "pending_ids": pending_ids}
    if turns is not None:
        frame["turns"] = turns
    return _encode(frame)


def events(events: list[Outgoing], *, numbered: bool) -> bytes:
    """One as an `sse_event`, several as a `batch`."""
    if len(events) == 1:
        return _encode({"type": "sse_event", **_event(events[0], numbered)})
    return _encode({"type": "batch", "events": [_event(one, numbered) for one in events]})


def _event(event: Outgoing, numbered: bool) -> Json:
    fields: Json = {"session_id": event.session_id, "data": event.data}
    if numbered:
        fields["seq"] = event.seq
    return fields


def request(session_id: str, request_id: str, method: str, params: Json) -> bytes:
    return _encode(
        {
            "type": "request",
            "session_id": session_id,
            "id": request_id,
            "method": method,
            "params": params,
        }
    )


def query_result(query_id: str, *, result: Json | None = None, error: Json | None = None) -> bytes:
    return _encode({"type": "query_result", "id": query_id, "result": result, "error": error})


def fire_and_forget(session_id: str, method: str, params: Json) -> bytes:
    return _encode(
        {"type": "fire_and_forget", "session_id": session_id, "method": method, "params": params}
    )
