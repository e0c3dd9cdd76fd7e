"""The events of a session, a struct a type (docs/protocols/events.md): what a typed client is made
of.

For documents and types only. The log keeps events as they came and the hot path parses none; what
reads them here reads leniently (`events.py`). A reader ignores types and fields that it does not
know, and a machine's odd field is no reason to lose the event.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Json = dict[str, Any]
_Text = str | UnsetType
_Number = int | UnsetType
_Flag = bool | UnsetType
_Texts = list[str] | UnsetType


class EventPerson(msgspec.Struct):
    """In a group: whose event it is."""

    id: str
    name: str


class EventGroup(msgspec.Struct):
    """In a group: the `ask` that an event belongs to, and what it was copied from."""

    ask: _Number = UNSET
    depth: _Number = UNSET
    cause: _Number = UNSET
    by: _Text = UNSET
    session_id: _Text = UNSET
    event_id: _Number = UNSET
    request_id: _Text = UNSET


class EventBase(msgspec.Struct, kw_only=True, tag_field="type"):
    """What any event may have."""

    ts: _Number = UNSET
    """Unix milliseconds."""
    turn_id: _Text = UNSET
    tool_call_id: _Text = UNSET
    agent: _Text = UNSET
    """The sub-agent that it is of."""
    parent_tool_call_id: _Text = UNSET
    person: EventPerson | UnsetType = UNSET
    group: EventGroup | UnsetType = UNSET
    imported: _Flag = UNSET
    truncated: _Flag = UNSET
    raw: Any = UNSET
    """`protocol` and `message`, for clients of that protocol."""


class TextChunkEvent(EventBase, tag="text_chunk"):
    content: str


class ThinkingEvent(EventBase, tag="thinking"):
    """`stage`: `reasoning`, `model`, `replan`, `memory`, `openclaw`, `group`; a machine may have
    others."""

    content: str
    stage: _Text = UNSET


class ToolCallStartEvent(EventBase, tag="tool_call_start"):
    tool_name: str
    title: _Text = UNSET
    tool_input: Any = UNSET
    arguments: Any = UNSET


class ToolCallProgressEvent(EventBase, tag="tool_call_progress"):
    content: str
    tool_name: _Text = UNSET


class ToolDetails(msgspec.Struct):
    """What that tool has to say of its result; others have other fields."""

    exit_code: int | UnsetType | None = UNSET
    timed_out: _Flag = UNSET
    output_cut_chars: _Number = UNSET
    path: _Text = UNSET


class ToolCallCompleteEvent(EventBase, tag="tool_call_complete"):
    tool_name: str
    title: _Text = UNSET
    tool_input: Any = UNSET
    arguments: Any = UNSET
    result: Any = UNSET
    is_error: _Flag = UNSET
    denied: _Flag = UNSET
    details: ToolDetails | UnsetType = UNSET


class SkillCallStartEvent(EventBase, tag="skill_call_start"):
    skill_name: str
    arguments: Any = UNSET


class SkillCallCompleteEvent(EventBase, tag="skill_call_complete"):
    skill_name: str
    result: Any = UNSET


class ExecutionCompleteEvent(EventBase, tag="execution_complete"):
    content: _Text = UNSET
    final_response: _Text = UNSET
    cancelled: _Flag = UNSET


class ExecutionErrorEvent(EventBase, tag="execution_error"):
    error: str | None
    code: str | UnsetType | None = UNSET


class EventAttachment(msgspec.Struct):
    name: str
    mime: str


class UserMessageEvent(EventBase, tag="user_message"):
    content: str
    user_id: _Text = UNSET
    attachments: list[EventAttachment] | UnsetType = UNSET
    client_message_id: _Text = UNSET
    steers: _Text = UNSET
    message_id: _Text = UNSET


class SteerTakenEvent(EventBase, tag="steer_taken"):
    message_id: str


class SteerMissedEvent(EventBase, tag="steer_missed"):
    message_id: str
    steers: str


class ApprovalRequestEvent(EventBase, tag="approval_request"):
    request_id: str
    kind: Literal["approve", "input", "select"] | UnsetType = UNSET
    message: _Text = UNSET
    options: _Texts = UNSET
    multi_select: _Flag = UNSET
    questions: _Texts = UNSET
    tool_name: _Text = UNSET
    tool_input: Any = UNSET
    timeout_seconds: float | UnsetType = UNSET
    rule: _Text = UNSET
    fence: _Text = UNSET


Asked = Annotated[
    Json, Meta(extra_json_schema={"$ref": "#/components/schemas/ApprovalRequestEvent"})
]
"""Such an event in a record: as it came."""


class ApprovalResolvedEvent(EventBase, tag="approval_resolved"):
    """`reason`: somebody's words, or `turn_ended`, `timeout`, `cancelled`."""

    request_id: str
    confirmed: bool
    answer: Any = UNSET
    answered_by: str | UnsetType | None = UNSET
    scope: Literal["session", "always"] | UnsetType = UNSET
    reason: _Text = UNSET


class PlanTask(msgspec.Struct):
    """`status`: `pending`, `in_progress` or `completed`; another maker's may have others."""

    title: str
    status: str


class PlanContent(msgspec.Struct):
    """`tasks`, or where there are none a `summary` in words."""

    tasks: list[PlanTask] | UnsetType = UNSET
    summary: _Text = UNSET


class PlanEvent(EventBase, tag="plan"):
    plan: PlanContent
    content: _Text = UNSET


class FileCreatedEvent(EventBase, tag="file_created"):
    path: str
    size: _Number = UNSET


class FileChangedEvent(EventBase, tag="file_changed"):
    path: str
    change: Literal["created", "modified", "deleted"]
    diff: _Text = UNSET
    additions: _Number = UNSET
    deletions: _Number = UNSET


class EventCost(msgspec.Struct):
    amount: float
    currency: str


class ModelUsage(msgspec.Struct):
    calls: _Number = UNSET
    tokens_in: _Number = UNSET
    tokens_out: _Number = UNSET
    cache_read_tokens: _Number = UNSET
    cache_write_tokens: _Number = UNSET


class UsageEvent(EventBase, tag="usage"):
    calls: _Number = UNSET
    tokens_in: _Number = UNSET
    tokens_out: _Number = UNSET
    models: dict[str, ModelUsage] | UnsetType = UNSET
    cost: EventCost | UnsetType = UNSET
    cost_usd: float | UnsetType = UNSET


class ContextCompactedEvent(EventBase, tag="context_compacted"):
    how: Literal["outputs", "summary", "dropped", "nothing"]
    before_tokens: _Number = UNSET
    after_tokens: _Number = UNSET
    window_tokens: _Number = UNSET
    by: Literal["user"] | UnsetType = UNSET
    reason: _Text = UNSET


class EventCommand(msgspec.Struct):
    """What can be said to the session behind a slash."""

    name: str
    description: _Text = UNSET


class EventResume(msgspec.Struct):
    """How to go on with a session by hand, on its machine."""

    runtime: _Text = UNSET
    program: _Text = UNSET
    id: _Text = UNSET
    session_id: _Text = UNSET
    folder: _Text = UNSET
    command: _Text = UNSET


class EventReady(msgspec.Struct):
    """What the session's program said of it when it began or went on. `model_info`: an object with
    `model`, and `models` where it says which there are; `agent`: `name` and `version`."""

    session_id: Any = UNSET
    capabilities: Any = UNSET
    model_info: Any = UNSET
    provider: Any = UNSET
    work_dir: Any = UNSET
    again: _Flag = UNSET
    agent: Json | UnsetType = UNSET
    mode: Any = UNSET
    modes: Any = UNSET
    title: _Text = UNSET


class EventOrigin(msgspec.Struct):
    """What the session is a copy of, and up to which turn."""

    session_id: str
    turn_id: str | None


class SessionStatusEvent(EventBase, tag="session_status"):
    machine: Literal["online", "offline", "gone", "degraded"] | UnsetType = UNSET
    machine_id: _Text = UNSET
    code: _Text = UNSET
    message: _Text = UNSET
    lost_events: _Number = UNSET
    created_by: _Text = UNSET
    changed_by: _Text = UNSET
    problems: _Texts = UNSET
    works: _Texts = UNSET
    degraded: _Texts = UNSET
    held: _Flag = UNSET
    resume: EventResume | UnsetType = UNSET
    forked_from: EventOrigin | UnsetType = UNSET
    ready: EventReady | UnsetType = UNSET
    commands: list[EventCommand] | UnsetType = UNSET


class SessionClosedEvent(EventBase, tag="session_closed"):
    reason: Literal["user_closed", "admin"]
    duration_ms: _Number = UNSET


class ForeignEvent(EventBase, tag="foreign"):
    protocol: str
    name: _Text = UNSET
    echo: _Flag = UNSET


class PersonStartEvent(EventBase, tag="person_start"):
    pass


class PersonCompleteEvent(EventBase, tag="person_complete"):
    content: _Text = UNSET
    cancelled: _Flag = UNSET


class PersonErrorEvent(EventBase, tag="person_error"):
    error: str | None
    code: str | UnsetType | None = UNSET


EVENTS: tuple[type[EventBase], ...] = (
    TextChunkEvent,
    ThinkingEvent,
    ToolCallStartEvent,
    ToolCallProgressEvent,
    ToolCallCompleteEvent,
    SkillCallStartEvent,
    SkillCallCompleteEvent,
    ExecutionCompleteEvent,
    ExecutionErrorEvent,
    UserMessageEvent,
    SteerTakenEvent,
    SteerMissedEvent,
    ApprovalRequestEvent,
    ApprovalResolvedEvent,
    PlanEvent,
    FileCreatedEvent,
    FileChangedEvent,
    UsageEvent,
    ContextCompactedEvent,
    SessionStatusEvent,
    SessionClosedEvent,
    ForeignEvent,
    PersonStartEvent,
    PersonCompleteEvent,
    PersonErrorEvent,
)


def type_of(event: type[EventBase]) -> str:
    """Its `type` in the log."""
    return str(event.__struct_config__.tag)
