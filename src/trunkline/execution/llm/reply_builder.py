"""A streamed answer being put together: text, thinking, tool calls, within bounds.

What comes from a model server is not trusted: its JSON may be broken, its text half a
character, its answer endless. Providers feed an ReplyBuilder and take the Reply from it.
"""

from typing import Any
from uuid import uuid4

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.llm import estimate, tokens
from trunkline.execution.llm.base import Reply, Text, Thinking, ToolCall, Usage
from trunkline.execution.llm.errors import Service, too_long
from trunkline.execution.texts import readable

MODEL_REPLY_CHARS_MAX = 4_000_000  # text, thinking and arguments of one answer
MODEL_TOOL_CALLS_MAX = 64  # in one answer
MODEL_ARGUMENTS_CHARS_MAX = limits.MIB  # of one tool call
MODEL_MALFORMED_CHARS = 2_000  # of broken arguments, shown to the model again

MALFORMED = "_malformed"


class ReplyBuilder:
    """What came so far."""

    def __init__(self, service: Service, model: str) -> None:
        self._service = service
        self._model = model
        self._chars = 0
        self._tokens = 0.0
        self._text: list[str] = []
        self._calls: list[CallParts] = []
        self._text_joiner, self._thinking_joiner = _Joiner(), _Joiner()
        self.usage = Usage()
        self.stop_reason = ""
        self.provider_blocks: Json | None = None

    @property
    def chars(self) -> int:
        """Of everything that came."""
        return self._chars

    def so_far(self) -> Usage:
        """What the call has taken, should it break off here."""
        return estimate.spoken(self.usage, self._tokens)

    @property
    def said(self) -> bool:
        return bool(self._text)

    @property
    def empty(self) -> bool:
        return not self._text and not self._calls

    def text(self, piece: object) -> Text | None:
        """A piece of text, when there is something to show of it."""
        whole = self._text_joiner.add(self.measured(piece))
        if not whole:
            return None
        self._text.append(whole)
        return Text(whole)

    def thinking(self, piece: object) -> Thinking | None:
        whole = self._thinking_joiner.add(self.measured(piece))
        return Thinking(whole) if whole else None

    def call(self) -> "CallParts":
        """A new tool call, to be filled as its parts come."""
        if len(self._calls) >= MODEL_TOOL_CALLS_MAX:
            raise too_long(self._service)
        self._calls.append(CallParts(self))
        return self._calls[-1]

    def measured(self, piece: object) -> str:
        """The piece as text, counted; an answer that never ends is ended here."""
        if not isinstance(piece, str):
            return ""
        self._chars += len(piece)
        self._tokens += tokens.of_text(piece)
        if self._chars > MODEL_REPLY_CHARS_MAX:
            raise too_long(self._service)
        return piece

    def reply(self) -> Reply:
        calls = [parts.tool_call() for parts in self._calls]
        seen: set[str] = set()
        for call in calls:
            if call["id"] in seen:
                call["id"] = _new_id()
            seen.add(call["id"])
        return Reply(
            model=self._model,
            text="".join(self._text),
            tool_calls=calls,
            usage=self.usage,
            stop_reason=self.stop_reason[:100],
            provider_blocks=self.provider_blocks,
        )


class CallParts:
    """One tool call as it comes in: an id and a name at first, then its arguments in pieces."""

    def __init__(self, answer: ReplyBuilder) -> None:
        self._answer = answer
        self.id = ""
        self._name = ""
        self._arguments: list[str] = []

    def named(self, call_id: object, name: object) -> None:
        """Takes the id and the name when they come; some servers repeat them in every piece."""
        if not self.id:
            self.id = self._answer.measured(call_id)[: limits.ID_CHARS_MAX]
        if not self._name:
            self._name = self._answer.measured(name)[: limits.NAME_CHARS_MAX]

    def arguments(self, piece: object) -> None:
        if isinstance(piece, dict):  # some servers send an object where a string belongs
            piece = msgspec.json.encode(piece).decode()
        self._arguments.append(self._answer.measured(piece))

    def settled_id(self) -> str:
        """The id that the call goes by from now on; a call that came without gets one."""
        self.id = readable(self.id) or _new_id()
        return self.id

    def tool_call(self) -> ToolCall:
        name = readable(self._name) or "unnamed"
        arguments = parsed("".join(self._arguments))
        return ToolCall(id=self.settled_id(), name=name, arguments=arguments)


def parsed(arguments: str) -> Json:
    """A tool call's arguments. What is no JSON object becomes `{"_malformed": text}`."""
    if not arguments.strip():
        return {}
    try:
        if len(arguments) <= MODEL_ARGUMENTS_CHARS_MAX:
            value = msgspec.json.decode(readable(arguments))
            if isinstance(value, dict) and _depth(value) <= limits.JSON_DEPTH_MAX:
                return value
    except (msgspec.DecodeError, RecursionError):
        pass
    return {MALFORMED: readable(arguments[:MODEL_MALFORMED_CHARS])}


def count(value: object) -> int:
    """A number of tokens as a server tells it; anything else counts as none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return min(max(value, 0), limits.TOKENS_MAX)


def fields(value: object) -> Json:
    """The fields of what should be a JSON object; none of anything else."""
    return value if isinstance(value, dict) else {}


class _Joiner:
    """Joins characters that a server cut in two.

    JSON can carry half of a surrogate pair, and such a half can be written neither to a file
    nor to a socket. One at a piece's end waits for its other half.
    """

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return readable(piece)


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
    return depth


def _new_id() -> str:
    return f"call_{uuid4().hex[:24]}"
