"""Every message of the Semibot wire as a typed struct: first what a VM sends, then what it is sent.

The page docs/protocols/semibot.md has a section for each, under its name. Uplink structs are
lenient: what a peer leaves out has a default, what we do not know is ignored. Downlink structs are
strict: their fields are those of the page.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType, field

Json = dict[str, Any]

Seq = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
"""A machine's number of an event; what a database's integer holds."""


class _Up(msgspec.Struct, tag_field="type", gc=False):
    """From the execution plane. `timestamp` is allowed everywhere and used nowhere."""


class _Down(msgspec.Struct, tag_field="type"):
    """From the control plane."""


class Auth(_Up, tag="auth"):
    """The first frame. `capabilities` is an addition: docs/protocols/capabilities.md."""

    token: str
    capabilities: Any = None


class Heartbeat(_Up, tag="heartbeat"):
    """Every 10 s. Old daemons leave the list out: then nothing is known of it."""

    active_sessions: list[str] | None = None
    health: Json | None = None


class SseEvent(_Up, tag="sse_event"):
    """One event of a session. `data` is JSON text and goes to readers as it is."""

    session_id: str
    data: str | Json
    seq: Seq | None = None


class BatchedEvent(msgspec.Struct, gc=False):
    """An event inside a `batch`."""

    session_id: str
    data: str | Json
    seq: Seq | None = None


class Batch(_Up, tag="batch"):
    """Many events of many sessions in one frame; only with capability `batch`."""

    events: list[BatchedEvent]


class Request(_Up, tag="request"):
    """A call that wants a `response` with the same id."""

    id: str
    method: str
    session_id: str = ""
    params: Json = {}


class FireAndForget(_Up, tag="fire_and_forget"):
    """A report that wants no answer."""

    method: str
    session_id: str = ""
    params: Json = {}


class Resume(_Up, tag="resume"):
    """After a reconnect: which requests are unanswered.

    A machine with `seq` also names the turns it has, so that only missing ones are sent again.
    """

    pending_ids: list[str] = []
    turns: list[str] | None = None


class ErrorBody(msgspec.Struct, kw_only=True):
    code: str
    message: str


class QueryResult(_Up, tag="query_result"):
    """The answer to a `query`; only with capability `query`."""

    id: str
    result: Json | None = None
    error: ErrorBody | None = None


UPLINK = (Auth, Heartbeat, SseEvent, Batch, Request, FireAndForget, Resume, QueryResult)
Uplink = Auth | Heartbeat | SseEvent | Batch | Request | FireAndForget | Resume | QueryResult


class EncryptedKey(msgspec.Struct, kw_only=True):
    """An API key as it travels in `init`: AES-256-GCM, each part in base64."""

    alg: str = "aes-256-gcm"
    iv: str
    tag: str
    ciphertext: str


class InitData(msgspec.Struct, kw_only=True):
    user_id: str
    org_id: str
    api_keys: dict[str, EncryptedKey | str]
    llm_config: Json | UnsetType = UNSET
    capabilities: list[str] | UnsetType = UNSET
    acked: dict[str, int] | UnsetType = UNSET


class Init(_Down, tag="init"):
    """Right after authentication. For a machine that named capabilities: those in force,
    and per session the last event number that is safe here."""

    data: InitData


class StartSessionData(msgspec.Struct, kw_only=True):
    session_id: str
    runtime_type: str
    agent_config: Json
    agent_id: str | UnsetType = UNSET
    skill_index: list[Json] = []
    mcp_servers: list[Json] = []
    sub_agents: list[Json] = []
    session_config: Json = {}
    rules: list[Json] | UnsetType = UNSET
    openclaw_config: Json | UnsetType = UNSET
    snapshot: Json | UnsetType = UNSET
    fork: Json | UnsetType = UNSET
    acked: int | UnsetType = UNSET


class StartSession(_Down, tag="start_session"):
    """Start a session's process. `snapshot` restores one that ran elsewhere before; a
    machine with `seq` numbers the session's events from `acked` + 1; one that
    may be of the deployed kind is told the agent's id once more. `fork`, only with the capability
    of that name: whose state it begins with."""

    data: StartSessionData


class StopSessionData(msgspec.Struct, kw_only=True):
    session_id: str
    reason: str


class StopSession(_Down, tag="stop_session"):
    """End a session's process: `user_closed`, `timeout` or `admin`."""

    data: StopSessionData


class Response(_Down, tag="response"):
    """The answer to a `request`; one of `result` and `error` is null."""

    id: str
    result: Any = None
    error: ErrorBody | None = None


class UserMessageData(msgspec.Struct, kw_only=True):
    message: str
    history: list[Json] = []
    metadata: Json = {}
    turn_id: str | UnsetType = UNSET


class UserMessage(_Down, tag="user_message"):
    """What the user said: it opens a turn."""

    session_id: str
    data: UserMessageData


class SteerData(msgspec.Struct, kw_only=True):
    message_id: str
    steers: str
    message: str
    metadata: Json = {}


class Steer(_Down, tag="steer"):
    """What the user said to a turn that runs; only with capability `steer`."""

    session_id: str
    data: SteerData


class Cancel(_Down, tag="cancel"):
    """Stop the active turn; nothing happens if none runs."""

    session_id: str
    reason: str = "user_cancelled"


class ConfigUpdate(_Down, tag="config_update"):
    """New parameters for a running session."""

    session_id: str
    data: Json


class ResumeResponse(_Down, tag="resume_response"):
    """What became of each pending request."""

    results: dict[str, msgspec.Raw | Json]


class Error(_Down, tag="error"):
    """One message was not served, for example because its session is unknown; the line lives on."""

    error: ErrorBody
    session_id: str | UnsetType = UNSET


class Ack(_Down, tag="ack"):
    """Per session the last event number that is safe here; only with capability `seq`."""

    acked: dict[str, int]


class ApprovalResponse(_Down, tag="approval_response"):
    """A person's answer to an `approval_request` event."""

    session_id: str
    data: Json = field(default_factory=dict)


class TokenData(msgspec.Struct, kw_only=True):
    token: str
    expires_at: int


class Token(_Down, tag="token"):
    """The machine's next token, for its next line; its end in Unix ms. Only for a machine that
    named capabilities."""

    data: TokenData


class QueryData(msgspec.Struct, kw_only=True):
    method: str
    params: Json = {}


class Query(_Down, tag="query"):
    """Something that only the machine knows; only with capability `query`."""

    id: str
    data: QueryData


DOWNLINK = (
    Init,
    StartSession,
    StopSession,
    Response,
    UserMessage,
    Steer,
    Cancel,
    ConfigUpdate,
    ResumeResponse,
    Error,
    Ack,
    ApprovalResponse,
    Token,
    Query,
)
Downlink = (
    Init
    | StartSession
    | StopSession
    | Response
    | UserMessage
    | Steer
    | Cancel
    | ConfigUpdate
    | ResumeResponse
    | Error
    | Ack
    | ApprovalResponse
    | Token
    | Query
)
