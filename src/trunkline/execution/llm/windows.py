"""How much each model can read at once: its context window, in tokens.

What a refusal taught comes first, then what the server says, then a table of known models, then a
careful guess. Pure; `router` asks servers (`model_lists`) and hands over what refusals say.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from typing import Any

WINDOW_DEFAULT = 32_768  # of a model that nobody knows
WINDOW_LOCAL = 4_096
WINDOW_MIN, WINDOW_MAX = 512, 10_000_000
_NAME_CHARS = 200

KNOWN: Mapping[str, int] = {
    "gpt-3.5*": 16_385,
    "gpt-4": 8_192,
    "gpt-4-0*": 8_192,
    "gpt-4-32k*": 32_768,
    "gpt-4-*": 128_000,
    "gpt-4o*": 128_000,
    "gpt-4.1*": 1_047_576,
    "gpt-4.5*": 128_000,
    "gpt-5*-chat*": 128_000,
    "gpt-5*": 272_000,
    "gpt-oss*": 131_072,
    "gpt-*": 128_000,
    "codex-*": 200_000,
    "o1-mini*": 128_000,
    "o[0-9]*": 200_000,
    "claude-2*": 100_000,
    "claude*": 200_000,
    "gemini-1.5-pro*": 2_000_000,
    "gemini*": 1_048_576,
    "gemma-3*": 131_072,
    "gemma*": 8_192,
    "llama-4*": 1_000_000,
    "llama-3.[1-9]*": 131_072,
    "llama3.[1-9]*": 131_072,
    "llama-3*": 8_192,
    "llama3*": 8_192,
    "qwen3-coder*": 262_144,
    "qwen3*": 131_072,
    "qwen2*": 32_768,
    "deepseek*": 128_000,
    "mistral-large*": 131_072,
    "mistral-small*": 32_768,
    "mi[sx]tral*": 32_768,
    "codestral*": 262_144,
    "kimi*": 131_072,
    "glm-4*": 131_072,
    "grok*": 131_072,
    "phi-3*": 4_096,
    "command-r*": 128_000,
    "smollm*": WINDOW_LOCAL,
    "local": WINDOW_LOCAL,
    "demo": 1_000_000,
}
"""The first pattern that fits a model's name, without what stands before its last slash."""

_NUMBER = r"(\d[\d,_]{2,11})\b"
# In this order: some say what was sent with nearly the same words.
_WINDOW_SAID = [
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"\d\s*(?:tokens)?\s*>\s*{_NUMBER}",
        rf"must be <=?\s*{_NUMBER}",
        rf"maximum number of (?:input )?tokens allowed\D{{0,5}}{_NUMBER}",
        rf"{_NUMBER} (?:tokens )?(?:maximum|max\.?) context",
        rf"maximum (?:allowed )?(?:input |context |prompt |model |sequence |token )+"
        rf"(?:length|size|window|limit|count)\D{{0,20}}?{_NUMBER}",
        rf"context (?:length|size|window|limit)\D{{0,20}}?{_NUMBER}",
        rf"(?:n_ctx|max_model_len|context_length)\D{{1,10}}{_NUMBER}",
    )
]
_SENT_SAID = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"too long: {_NUMBER} tokens",
        rf"resulted in {_NUMBER}",
        rf"request \({_NUMBER} tokens",
        rf"(?:request )?(?:has|contains) {_NUMBER} (?:input )?tokens",
        rf"input token count\D{{0,5}}{_NUMBER}",
        rf"prompt \(length {_NUMBER}",
        rf"\({_NUMBER} in the messages",
        rf"given: {_NUMBER} `inputs`",
    )
]


def limit_said(message: str) -> tuple[int, int]:
    """A refusal's own numbers: the window, and what was sent; 0 for one that it does not say."""
    return _first(_WINDOW_SAID, message), _first(_SENT_SAID, message)


def _first(patterns: list[re.Pattern[str]], message: str) -> int:
    for pattern in patterns:
        if found := pattern.search(message[:4_000]):
            return _window(int(re.sub(r"\D", "", found[1]))) or 0
    return 0


def listed_window(entry: Any) -> int | None:
    """From what a server's list of models says of one: what it serves comes before what the model
    was trained for."""
    return next((one for value in _values(entry) if (one := _window(value))), None)


_SERVED = (
    *("loaded_context_length", "n_ctx", "max_model_len", "context_length", "context_window"),
    *("max_context_length", "context_size", "max_input_tokens", "max_prompt_tokens"),
)


def _values(entry: Any) -> Iterator[Any]:
    if not isinstance(entry, dict):
        return
    inner = [
        entry.get(name) for name in ("top_provider", "meta", "limits", "limit", "capabilities")
    ]
    for place in (inner[0], entry, *inner[1:]):
        if isinstance(place, dict):
            yield from (place.get(name) for name in (*_SERVED, "context", "n_ctx_train"))


def _window(value: Any) -> int | None:
    """A number that can be one; outside of the bounds it is a mistake, or means something else."""
    if isinstance(value, int) and not isinstance(value, bool) and WINDOW_MIN <= value <= WINDOW_MAX:
        return value
    return None


class Windows:
    """What is known of the models of one session, by name and server."""

    def __init__(self, known: Mapping[str, int] = KNOWN) -> None:
        self._known = known
        self._told: dict[str, int] = {}
        self._taught: dict[str, int] = {}

    def of(self, place: str, model: str) -> int:
        found = self._told.get(place) or self.known(model) or WINDOW_DEFAULT
        return min(self._taught.get(place, WINDOW_MAX), found)

    def is_sure(self, place: str) -> bool:
        """Whether the server itself said it."""
        return place in self._told or place in self._taught

    def known(self, model: str) -> int | None:
        name = model[:_NAME_CHARS].lower().rpartition("/")[2]
        for pattern, window in self._known.items():
            if fnmatch.fnmatchcase(name, pattern):
                return window
        return None

    def told(self, place: str, window: int | None) -> None:
        """By the server, before anything went wrong."""
        if window := _window(window):
            self._told[place] = window

    def taught(self, place: str, window: int) -> None:
        """By a refusal: it holds, whatever else was said, and another one can only lower it."""
        self._taught[place] = min(max(window, WINDOW_MIN), self._taught.get(place, WINDOW_MAX))
