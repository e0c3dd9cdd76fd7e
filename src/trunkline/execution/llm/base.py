"""What every model provider takes and gives; the graph knows nothing else of models.

Messages are plain dicts, because they live in checkpoints and have to open again later.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from typing import NotRequired, TypedDict

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json

Quirks = frozenset[str]
"""What a server does not take for a model, by name."""


class ToolCall(TypedDict):
    """What a model wants done. `arguments` is parsed; a model's broken JSON becomes
    `{"_malformed": text}`, which the tool's check turns into an error that the model reads."""

    id: str
    name: str
    arguments: Json


class Picture(TypedDict):
    """An image of a conversation. Its bytes lie in a file of the session: a checkpoint is written
    at every step."""

    media_type: str
    path: str
    name: NotRequired[str]


class Message(TypedDict):
    """One message of a conversation, in no provider's format.

    `role`: `user`, `assistant`, `tool`. A `tool` message answers `tool_call_id`; `denied`: a person
    or a rule did not allow the call, so the tool did not fail. `note` is what the
    model is told beside the words of a `user` message, and nobody said: the day, memories.
    `summary` is what is left of the conversation before that `user` message. `pictures` belong to
    `user` and `tool` messages. `provider_blocks` is what a provider wants back as it was (signed
    thinking), with the provider's name. `turn_id` is of the message that opened a turn, `steers`
    the id of one that came while it ran.
    """

    role: str
    content: str
    tool_calls: NotRequired[list[ToolCall]]
    tool_call_id: NotRequired[str]
    is_error: NotRequired[bool]
    denied: NotRequired[bool]
    note: NotRequired[str]
    summary: NotRequired[str]
    pictures: NotRequired[list[Picture]]
    provider_blocks: NotRequired[Json]
    turn_id: NotRequired[str]
    steers: NotRequired[str]


Images = dict[str, str | None]
"""What pictures hold, as base64, by their `path`; None: the file is gone."""


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model is told of it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Json


class Usage(msgspec.Struct, frozen=True):
    """What a call took."""

    tokens_in: int = 0
    tokens_out: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Call(msgspec.Struct, kw_only=True):
    """One call of a model."""

    model: str
    system: str
    messages: list[Message]
    images: Images = {}
    """Of the pictures of `messages`, those that are shown."""
    tools: list[ToolSpec] = []
    temperature: float | None = None
    max_tokens: int | None = None
    thinking_tokens: int | None = None
    """Budget for thinking, where the model can; None leaves it to the model."""
    window: int = 0
    """The model's context in tokens, as far as it is known."""
    first_byte_timeout_s: float = limits.MODEL_FIRST_BYTE_S
    silence_timeout_s: float = limits.MODEL_SILENCE_S
    """Between two pieces."""
    tell: Callable[[str], None] | None = None
    """Readers are told of a long wait, while it lasts."""
    used: Callable[[str, Usage], None] | None = None
    """Told what every call took, by model: those that failed or were given up too."""


class Text(msgspec.Struct, frozen=True):
    """A piece of the answer, as soon as it is there."""

    text: str


class Thinking(msgspec.Struct, frozen=True):
    """A piece of the model's reasoning; `stage` says of what (`model` for news of the model
    itself: being started, being asked again)."""

    text: str
    stage: str = "reasoning"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer; always the last thing a stream yields."""

    model: str
    text: str
    tool_calls: list[ToolCall] = []
    usage: Usage = Usage()
    latency_ms: int = 0
    stop_reason: str = ""
    provider_blocks: Json | None = None


Piece = Text | Thinking | Reply


class BaseLLMProvider(ABC):
    """One provider's API. A stream that is closed early (`aclose`) ends its HTTP request."""

    name: str

    @abstractmethod
    def stream(self, call: Call) -> AsyncGenerator[Piece | Usage, None]:
        """Pieces as they come, then one Reply. Raises ModelError, retries nothing. A Usage on the
        way says what the call has taken so far, should it never get to its Reply."""
