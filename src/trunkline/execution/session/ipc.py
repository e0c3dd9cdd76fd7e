"""The socket between the daemon and a session's process: JSON lines (document 004 §4.5).

The same for every runtime. The document's types keep their names; `config_update`,
`approval_response`, `ping`, `pong` and `progress` are additions.
"""

from typing import Any

import msgspec

Json = dict[str, Any]


class _Down(msgspec.Struct, tag_field="type", kw_only=True, omit_defaults=True):
    """From the daemon."""


class _Up(msgspec.Struct, tag_field="type", kw_only=True, omit_defaults=True):
    """From the session's process."""


# --- Daemon → process -------------------------------------------------------------------------


class Start(_Down, tag="start"):
    """Everything a session needs. `api_keys` are in the clear: this socket and nowhere else."""

    session_id: str
    home: str
    agent_config: Json = {}
    skill_index: list[Json] = []
    mcp_servers: list[Json] = []
    sub_agents: list[Json] = []
    session_config: Json = {}
    openclaw_config: Json = {}
    api_keys: dict[str, str] = {}
    llm_config: Json = {}
    turn_id: str | None = None
    """The turn that was open when the last process of this session ended, if it still is."""


class UserMessageData(msgspec.Struct, kw_only=True, omit_defaults=True):
    message: str
    history: list[Json] = []
    metadata: Json = {}
    turn_id: str | None = None


class UserMessage(_Down, tag="user_message"):
    data: UserMessageData


class Cancel(_Down, tag="cancel"):
    reason: str = "user_cancelled"


class Stop(_Down, tag="stop"):
    """Save and end; the process exits with 0."""

    reason: str = ""


class ErrorBody(msgspec.Struct, kw_only=True):
    code: str
    message: str


class Response(_Down, tag="response"):
    """The answer to a `request`: a result, or an error."""

    id: str
    result: Any = None
    error: ErrorBody | None = None


class Progress(_Down, tag="progress"):
    """A request that takes long says how far it is."""

    id: str
    message: str


class ConfigUpdate(_Down, tag="config_update"):
    data: Json


class ApprovalResponse(_Down, tag="approval_response"):
    """`data`: {request_id, confirmed, answer?}."""

    data: Json


class Ping(_Down, tag="ping"):
    """A process that does not answer hangs."""


# --- Process → daemon -------------------------------------------------------------------------


class Ready(_Up, tag="ready"):
    """The session can take messages. `problems`: what it has to do without, for people."""

    problems: list[str] = []


class SseEvent(_Up, tag="sse_event"):
    """One event, as the JSON text that readers get."""

    data: str


class Request(_Up, tag="request"):
    id: str
    method: str
    params: Json = {}


class FireAndForget(_Up, tag="fire_and_forget"):
    method: str
    params: Json = {}


class Error(_Up, tag="error"):
    """The process cannot go on, and says why before it ends."""

    message: str
    code: str = "SESSION_FAILED"


class Pong(_Up, tag="pong"):
    pass


Down = (
    Start
    | UserMessage
    | Cancel
    | Stop
    | Response
    | Progress
    | ConfigUpdate
    | ApprovalResponse
    | Ping
)
Up = Ready | SseEvent | Request | FireAndForget | Error | Pong

_encoder = msgspec.json.Encoder()
_down: msgspec.json.Decoder[Down] = msgspec.json.Decoder(Down)
_up: msgspec.json.Decoder[Up] = msgspec.json.Decoder(Up)


def line(message: Down | Up) -> bytes:
    """A message as it travels; JSON text holds no raw newline."""
    return _encoder.encode(message) + b"\n"


def decode_down(text: bytes) -> Down:
    """Raises msgspec.DecodeError for anything else."""
    return _down.decode(text)


def decode_up(text: bytes) -> Up:
    """Raises msgspec.DecodeError for anything else."""
    return _up.decode(text)
