"""The socket between the daemon and a session's process: JSON lines, the same for every runtime.

Each message: docs/protocols/ipc.md.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from trunkline.execution.fence.profile import Profile
from trunkline.execution.json_object import Json

DEFAULT_RUNTIME = "semigraph"


class _Down(msgspec.Struct, tag_field="type", kw_only=True, omit_defaults=True):
    """From the daemon."""


class _Up(msgspec.Struct, tag_field="type", kw_only=True, omit_defaults=True):
    """From the session's process."""


class Fork(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Of which session a new one is a copy, and up to which turn."""

    session_id: str
    turn_id: str
    turns: dict[str, str] = {}
    """Under the names of its turns there, those that they have here; oldest first."""
    history: list[Json] = []
    """What the control plane knows of it: messages with tool calls and results."""


class Start(_Down, tag="start"):
    """Everything a session needs, from `start_session` on: the daemon holds it, saves it without
    `api_keys` and `turn_id`, and sends it to each process of the session. Keys are in the clear:
    here, on this socket, and nowhere else."""

    session_id: str
    home: str
    workspace: str = ""
    """Where it works: chosen by the session or its agent, else the machine's own."""
    roots: list[str] = []
    """The folders below which sessions of this machine may work."""
    writable: list[str] = []
    """What git writes besides when it commits, where the session works in a worktree."""
    runtime_type: str = DEFAULT_RUNTIME
    agent_config: Json = {}
    skill_index: list[Json] = []
    mcp_servers: list[Json] = []
    sub_agents: list[Json] = []
    session_config: Json = {}
    rules: list[Json] = []
    """What it may do: docs/guide/permissions.md."""
    openclaw_config: Json = {}
    api_keys: dict[str, str] = {}
    llm_config: Json = {}
    fence: Profile | None = None
    """What it may do on this machine; None: what its user may."""
    fork: Fork | None = None
    """With what it begins; only for the first process of a copy."""
    turn_id: str | None = None
    """The turn that was open when the last process of this session ended, if it still is."""

    @property
    def fenced(self) -> bool:
        """Whether the system confines its programs."""
        return self.fence is not None and self.fence.kind == "session"

    @classmethod
    def of_start_session(cls, data: Json, home: str) -> "Start":
        """From the wire's `start_session.data`; what is not known is ignored. Raises
        msgspec.ValidationError."""
        ours: Json = {
            "type": "start",
            "home": home,
            "workspace": "",
            "roots": [],
            "writable": [],
            "api_keys": {},
            "llm_config": {},
            "fence": None,
            "turn_id": None,
        }
        return msgspec.convert({**data, **ours}, cls)


class UserMessageData(msgspec.Struct, kw_only=True, omit_defaults=True):
    message: str
    history: list[Json] = []
    metadata: Json = {}
    turn_id: str | None = None


class UserMessage(_Down, tag="user_message"):
    data: UserMessageData


class SteerData(msgspec.Struct, kw_only=True, omit_defaults=True):
    message_id: str
    steers: str
    message: str
    metadata: Json = {}


class Steer(_Down, tag="steer"):
    """A message to a turn that runs: only for a runtime that takes one."""

    data: SteerData


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


class Compact(_Down, tag="compact"):
    """Shorten the conversation, when no turn runs."""


class Ping(_Down, tag="ping"):
    """A process that does not answer hangs."""


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
    """`working`: commands that it has put into the background run, so it is not to rest."""

    working: bool = False


Down = (
    Start
    | UserMessage
    | Steer
    | Cancel
    | Stop
    | Response
    | Progress
    | ConfigUpdate
    | ApprovalResponse
    | Compact
    | Ping
)
Up = Ready | SseEvent | Request | FireAndForget | Error | Pong

decode_down: Callable[[bytes], Down] = msgspec.json.Decoder(Down).decode
decode_up: Callable[[bytes], Up] = msgspec.json.Decoder(Up).decode
"""Both raise msgspec.DecodeError for anything else."""


def line(message: msgspec.Struct) -> bytes:
    """A message as it travels; JSON text holds no raw newline."""
    return msgspec.json.encode(message) + b"\n"
