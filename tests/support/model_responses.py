"""A scripted answer in the streaming format of OpenAI's `/v1/responses`."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.support.model_turns import Gate, ModelRequest, Turn

Json = dict[str, Any]
Step = Json | Gate


def steps(turn: Turn, request: ModelRequest, number: int, failure: Json) -> Iterator[Step]:
    """The events of an answer, each a whole one; a Gate is to be waited for."""
    numbers = count()
    for step in _steps(turn, request, number, failure):
        yield step if isinstance(step, Gate) else {**step, "sequence_number": next(numbers)}


def _steps(turn: Turn, request: ModelRequest, number: int, failure: Json) -> Iterator[Step]:
    base: Json = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_760_000_000,
        "model": request.model,
        "status": "in_progress",
        "output": [],
        "usage": None,
    }
    yield {"type": "response.created", "response": base}
    output: list[Json] = []
    for made in _items(turn, number):
        yield from (
            step if isinstance(step, Gate) else {**step, "output_index": len(output)}
            for step in made
        )
        output.append(made.whole)
    if turn.failure is not None:
        error = {"code": failure["code"] or failure["type"], "message": failure["message"]}
        yield {"type": "response.failed", "response": {**base, "status": "failed", "error": error}}
        return
    usage = {
        "input_tokens": turn.tokens_in,
        "input_tokens_details": {"cached_tokens": turn.cache_read},
        "output_tokens": turn.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.tokens_in + turn.tokens_out,
    }
    whole = {**base, "status": "completed", "output": output, "usage": usage}
    yield {"type": "response.completed", "response": whole}


class _Item:
    """One item of the output: its events, and what it is when they are through."""

    def __init__(self, begun: Json, whole: Json, pieces: list[Step]) -> None:
        self._begun = begun
        self._pieces = pieces
        self.whole = {**begun, **whole, "status": "completed"}

    def __iter__(self) -> Iterator[Step]:
        yield {"type": "response.output_item.added", "item": self._begun}
        for piece in self._pieces:
            yield piece if isinstance(piece, Gate) else {**piece, "item_id": self._begun["id"]}
        yield {"type": "response.output_item.done", "item": self.whole}


def _items(turn: Turn, number: int) -> Iterator[_Item]:
    if turn.thinking:
        yield _reasoning(turn.thinking, f"rs_{number}")
    if pieces := turn.pieces():
        yield _text(pieces, turn.whole_text, f"msg_{number}")
    for index, call in enumerate(turn.tool_calls):
        given = call.json if call.json is not None else json.dumps(call.arguments)
        begun = {
            "id": f"fc_{number}_{index}",
            "type": "function_call",
            "status": "in_progress",
            "call_id": call.id or f"call_{number}_{index}",
            "name": call.name,
            "arguments": "",
        }
        kind = "response.function_call_arguments"
        deltas: list[Step] = [{"type": f"{kind}.delta", "delta": part} for part in halves(given)]
        yield _Item(
            begun, {"arguments": given}, [*deltas, {"type": f"{kind}.done", "arguments": given}]
        )


def _reasoning(thinking: str, item_id: str) -> _Item:
    begun = {"id": item_id, "type": "reasoning", "summary": []}
    kind = "response.reasoning_summary"
    part: Json = {"type": "summary_text", "text": thinking}
    pieces: list[Step] = [
        {"type": f"{kind}_part.added", "summary_index": 0, "part": {**part, "text": ""}},
        *(
            {"type": f"{kind}_text.delta", "summary_index": 0, "delta": line}
            for line in thinking.splitlines(keepends=True)
        ),
        {"type": f"{kind}_text.done", "summary_index": 0, "text": thinking},
        {"type": f"{kind}_part.done", "summary_index": 0, "part": part},
    ]
    return _Item(begun, {"summary": [part]}, pieces)


def _text(pieces: list[str | Gate], whole: str, item_id: str) -> _Item:
    begun = {
        "id": item_id,
        "type": "message",
        "status": "in_progress",
        "role": "assistant",
        "content": [],
    }
    part: Json = {"type": "output_text", "text": whole, "annotations": []}
    at: Json = {"content_index": 0}
    told: list[Step] = [
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        *(
            one
            if isinstance(one, Gate)
            else {"type": "response.output_text.delta", **at, "delta": one}
            for one in pieces
        ),
        {"type": "response.output_text.done", **at, "text": whole},
        {"type": "response.content_part.done", **at, "part": part},
    ]
    return _Item(begun, {"content": [part]}, told)


def halves(text: str) -> list[str]:
    """Arguments travel in pieces that are no JSON by themselves."""
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]
