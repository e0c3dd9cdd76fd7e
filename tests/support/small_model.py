"""A scripted model with a window: it counts what it is sent, refuses what is too much, and measures
how much of one call was the start of the last."""

import json
from collections.abc import Callable

from tests.support.model_turns import Failure, ModelRequest, Turn

CHARS_PER_TOKEN = 3.3

REFUSALS = {
    "openai": "This model's maximum context length is {window} tokens. However, your messages "
    "resulted in {sent} tokens. Please reduce the length of the messages.",
    "llama.cpp": "request ({sent} tokens) exceeds the available context size ({window} tokens), "
    "try increasing it",
    "anthropic": "prompt is too long: {sent} tokens > {window} maximum",
    "silent about numbers": "Your input exceeds the context window of this model.",
}


class SmallModel:
    """Answers with `answer`, summaries with a summary. `refused` counts what did not fit."""

    def __init__(
        self,
        window: int,
        answer: Callable[[ModelRequest], Turn] = lambda _: Turn(text="Well said."),
        *,
        words: str = "openai",
        reports: bool = True,
    ) -> None:
        self.window = window
        self.refused: list[int] = []
        self.summaries: list[ModelRequest] = []
        self.largest = 0
        self._answer = answer
        self._words = REFUSALS[words]
        self._reports = reports

    def __call__(self, request: ModelRequest) -> Turn:
        sent = tokens(request)
        if sent > self.window:
            self.refused.append(sent)
            said = self._words.format(window=self.window, sent=sent)
            return Turn(failure=Failure(kind="context_full", message=said))
        self.largest = max(self.largest, sent)
        if is_summary(request):
            self.summaries.append(request)
            turn = Turn(text="Goal: to talk. Open points: number SEVEN is still to be done.")
        else:
            turn = self._answer(request)
        turn.tokens_in = sent if self._reports else 0
        return turn


def is_summary(request: ModelRequest) -> bool:
    return "You write the summary" in request.system


def tokens(request: ModelRequest) -> int:
    return round(len(_flat(request)) / CHARS_PER_TOKEN)


def shared(one: ModelRequest, next_one: ModelRequest) -> float:
    """How much of a call was the start of the call after it, as a provider's cache sees it."""
    first, second = _flat(one), _flat(next_one)
    same = next(
        (i for i, pair in enumerate(zip(first, second, strict=False)) if len({*pair}) > 1), None
    )
    return (len(first) if same is None else same) / len(first)


def _flat(request: ModelRequest) -> str:
    """What is read, in the order of a prompt. Marks for the cache are none of it."""
    parts = [*request.body.get("tools", []), request.body.get("system", ""), *request.messages]
    return "\n".join(json.dumps(_unmarked(part), ensure_ascii=False) for part in parts)


def _unmarked(value: object) -> object:
    if isinstance(value, dict):
        return {name: _unmarked(one) for name, one in value.items() if name != "cache_control"}
    return [_unmarked(one) for one in value] if isinstance(value, list) else value
