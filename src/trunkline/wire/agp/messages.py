"""Every message of the AGP wire as a typed struct (docs/protocols/agp.md).

`method` tells them apart, so that an envelope and its payload are read in one pass. Lenient where
apps differ: unknown fields are ignored, and kinds, statuses and reasons are any text.
"""

from typing import Annotated, Any, Final

import msgspec

from trunkline.wire.events import text_of

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]

TEXT: Final = "text"

MESSAGE_CHUNK: Final = "message_chunk"
TOOL_CALL: Final = "tool_call"
TOOL_CALL_UPDATE: Final = "tool_call_update"
UPDATE_TYPES: Final = (MESSAGE_CHUNK, TOOL_CALL, TOOL_CALL_UPDATE)

END_TURN: Final = "end_turn"
CANCELLED: Final = "cancelled"
REFUSAL: Final = "refusal"
ERROR: Final = "error"

KINDS: Final = ("read", "edit", "delete", "execute", "search", "fetch", "think", "other")

PENDING: Final = "pending"
IN_PROGRESS: Final = "in_progress"
COMPLETED: Final = "completed"
FAILED: Final = "failed"


_NESTED_MAX = 4


class ContentBlock(msgspec.Struct, gc=False, omit_defaults=True):
    """Only `text` is defined; what else an app sends is named, not shown."""

    type: str
    text: Any = None
    """Text. Some apps put what a tool returned there as it is: any JSON."""

    @property
    def shown(self) -> str:
        return _flat(self.text, _NESTED_MAX) if self.type == TEXT else _named(self.type)


def _flat(value: Any, depth: int) -> str:
    """The texts of blocks, which may be wrapped as `{"content": […]}`; anything else as JSON."""
    if isinstance(value, str):
        return value
    inner = value.get("content") if isinstance(value, dict) else value
    if depth and isinstance(inner, list) and all(map(_is_block, inner)):
        return "\n".join(
            _flat(one["text"], depth - 1) if "text" in one else _named(one["type"]) for one in inner
        )
    try:
        return text_of(value)
    except RecursionError:
        return "[nested too deep]"


def _is_block(one: Any) -> bool:
    return isinstance(one, dict) and ("text" in one or isinstance(one.get("type"), str))


def _named(kind: str) -> str:
    return f"[{kind[:40]}]"


class Location(msgspec.Struct, gc=False):
    path: str


class ToolCall(msgspec.Struct, gc=False, omit_defaults=True):
    """A `tool_call_update` may lack `title` and `kind`."""

    tool_call_id: Id
    status: str
    title: str | None = None
    kind: str | None = None
    content: list[ContentBlock] | None = None
    locations: list[Location] | None = None


class _Envelope(msgspec.Struct, tag_field="method", kw_only=True, gc=False):
    msg_id: Id
    guid: str | None = None
    user_id: str | None = None
    """Both may be empty, which means the line's own. Without them it is nobody's message."""


class PromptPayload(msgspec.Struct):
    session_id: Id
    prompt_id: Id
    agent_app: str
    content: list[ContentBlock]


class CancelPayload(msgspec.Struct):
    session_id: Id
    prompt_id: Id
    agent_app: str


class Prompt(_Envelope, tag="session.prompt"):
    """A user's message: it opens a turn."""

    payload: PromptPayload


class Cancel(_Envelope, tag="session.cancel"):
    """The turn is to end; the device says `cancelled`."""

    payload: CancelPayload


class Pong(_Envelope, tag="pong"):
    """The answer to a `ping` in text."""

    payload: dict[str, Any] = {}


Downlink = Prompt | Cancel | Pong


class UpdatePayload(msgspec.Struct, gc=False, omit_defaults=True):
    """`content` is one block here, a list in the final answer.

    Ids are compared with those that the device was given: no bound could say more.
    """

    session_id: str
    prompt_id: str
    update_type: str
    content: ContentBlock | None = None
    tool_call: ToolCall | None = None


class PromptResponsePayload(msgspec.Struct, gc=False, omit_defaults=True):
    session_id: Id
    prompt_id: Id
    stop_reason: str
    content: list[ContentBlock] | None = None
    error: str | None = None


class Update(_Envelope, tag="session.update"):
    """Something on the way to the answer; any number of them."""

    payload: UpdatePayload


class PromptResponse(_Envelope, tag="session.promptResponse"):
    """The end of a turn. The first one for a prompt counts; a later one is dropped."""

    payload: PromptResponsePayload


class Ping(msgspec.Struct, tag_field="method", tag="ping"):
    """An addition that deployed apps use, beside the WebSocket's own pings, in many forms."""

    msg_id: Any = None


Uplink = Update | PromptResponse | Ping


def blocks(*texts: str) -> list[ContentBlock]:
    return [ContentBlock(TEXT, text) for text in texts]


def shown(content: list[ContentBlock] | None) -> str:
    """All blocks as one text, one under the other."""
    return "\n".join(block.shown for block in content or ())
