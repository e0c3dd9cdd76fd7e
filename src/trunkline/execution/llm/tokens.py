"""How many tokens something takes, about. No tokenizer fits every model: what a provider reports
of a call corrects the estimate for the next one. Pure, and cheap enough for every call."""

from collections.abc import Iterable, Sequence

import msgspec

from trunkline.execution.llm.base import Message, ToolSpec, Usage

PICTURE_TOKENS = 1_600
_ASCII_CHARS = 3.6  # to a token, of prose and code mixed
_TWO_BYTES = 0.5  # tokens of a character: Latin with accents, Cyrillic, Greek, Arabic
_MESSAGE_TOKENS = 5  # what a provider's format puts around each
_RATIO_MIN, _RATIO_MAX = 1 / 3, 3.0


def of_text(text: str) -> float:
    """Chinese, Japanese and Korean take about a token a character, English a quarter."""
    if text.isascii():
        return len(text) / _ASCII_CHARS
    plain = len(text.encode("ascii", "ignore"))
    other = len(text) - plain
    three = len(text.encode("utf-8", "replace")) - plain - 2 * other
    return plain / _ASCII_CHARS + max(other - three, 0) * _TWO_BYTES + max(three, 0)


def of_message(message: Message) -> float:
    tokens = _MESSAGE_TOKENS + of_text(message["content"])
    for name in ("note", "summary"):
        if text := message.get(name):
            tokens += of_text(str(text))
    for call in message.get("tool_calls", ()):
        tokens += _MESSAGE_TOKENS + of_text(call["name"]) + _of_json(call["arguments"])
    if blocks := message.get("provider_blocks"):
        tokens += _of_json(blocks)
    return tokens + PICTURE_TOKENS * len(message.get("pictures", ()))


def of_messages(messages: Iterable[Message]) -> float:
    return sum(map(of_message, messages))


def of_tools(specs: Sequence[ToolSpec]) -> float:
    return sum(_MESSAGE_TOKENS + _of_json(spec) for spec in specs)


def _of_json(value: object) -> float:
    """JSON has the characters of any script as they are."""
    return of_text(msgspec.json.encode(value).decode())


class Meter:
    """Estimates that were put right by what the last call really took."""

    def __init__(self) -> None:
        self._ratio = 1.0

    def measured(self, estimated: float) -> int:
        return round(estimated * self._ratio)

    def unmeasured(self, tokens: float) -> float:
        """The other way round: the estimate that would be measured so."""
        return tokens / self._ratio

    def saw(self, estimated: float, usage: Usage) -> None:
        """A call of that size took so much. What cannot be, as some servers report it, is passed
        over."""
        if estimated > 0 and _RATIO_MIN <= (ratio := usage.tokens_in / estimated) <= _RATIO_MAX:
            self._ratio = ratio

    def refused(self, estimated: float, least: int) -> None:
        """A call of that size took more than `least`, which it should not have."""
        ratio = max(self._ratio * 1.1, least / max(estimated, 1.0))
        self._ratio = min(ratio, _RATIO_MAX)
