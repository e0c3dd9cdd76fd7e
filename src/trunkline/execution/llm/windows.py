"""How much each model can read at once: its context window, in tokens.

What a refusal taught comes first, then what the server says, then a table of known models, then a
careful guess. Pure; `router` asks servers (`model_lists`), hands over what refusals say and what
earlier sessions of this machine learned so (`lessons`).
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from trunkline.model_windows import WINDOW_MAX, WINDOW_MIN, ModelWindows, built_in

WINDOW_DEFAULT = 32_768  # of a model that nobody knows

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


class Lesson(msgspec.Struct, frozen=True):
    """What a refusal taught. `told`: what the server had said before; 0 for nothing."""

    window: int
    told: int = 0


class Windows:
    """What is known of the models of one session, by name and server."""

    def __init__(self, known: ModelWindows | None = None) -> None:
        self._known = built_in() if known is None else known
        self._told: dict[str, int] = {}
        self._taught: dict[str, Lesson] = {}

    def of(self, place: str, model: str) -> int:
        found = self._told.get(place) or self._known.of(model) or WINDOW_DEFAULT
        taught = self._taught.get(place)
        return found if taught is None else min(taught.window, found)

    def is_sure(self, place: str) -> bool:
        """Whether the server itself said it."""
        return place in self._told or place in self._taught

    def told(self, place: str, window: int | None) -> None:
        """By the server. One that says something else than when it refused serves the model
        anew, and what was learned then is out of date."""
        window = _window(window)
        if window is None:
            return
        self._told[place] = window
        taught = self._taught.get(place)
        if taught is not None and taught.told not in (0, window):
            del self._taught[place]

    def taught(self, place: str, window: int) -> Lesson:
        """By a refusal: it holds, whatever else was said, and another one can only lower it."""
        before = self._taught.get(place)
        least = max(window, WINDOW_MIN)
        least = least if before is None else min(least, before.window)
        lesson = Lesson(least, self._told.get(place, 0))
        self._taught[place] = lesson
        return lesson

    def remember(self, place: str, lesson: Lesson) -> None:
        """What another session learned, unless this one knows better."""
        if place not in self._taught and lesson.told in (0, self._told.get(place, lesson.told)):
            self._taught[place] = lesson
