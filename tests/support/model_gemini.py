"""A scripted answer in Google's format, as `generateContent` gives it and, in pieces,
`streamGenerateContent?alt=sse`."""

from collections.abc import Iterator
from typing import Any

from tests.support.model_turns import Failure, Gate, ModelRequest, Turn

Json = dict[str, Any]


def chunks(turn: Turn, request: ModelRequest, number: int) -> Iterator[Json | Gate]:
    """The pieces of an answer; the last says how it ended and what it cost."""
    if turn.thinking:
        yield _chunk([{"text": turn.thinking, "thought": True}], request, number)
    for piece in turn.pieces():
        yield piece if isinstance(piece, Gate) else _chunk([{"text": piece}], request, number)
    if turn.failure is not None:
        yield error(turn.failure)[1]
        return
    calls = [{"functionCall": {"name": one.name, "args": one.arguments}} for one in turn.tool_calls]
    yield _last(calls or [{"text": ""}], turn, request, number)


def whole(turn: Turn, request: ModelRequest, number: int) -> Json:
    calls = [{"functionCall": {"name": one.name, "args": one.arguments}} for one in turn.tool_calls]
    return _last([{"text": turn.whole_text}, *calls], turn, request, number)


def _chunk(parts: list[Json], request: ModelRequest, number: int) -> Json:
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "modelVersion": request.model,
        "responseId": f"gemini-{number}",
    }


def _last(parts: list[Json], turn: Turn, request: ModelRequest, number: int) -> Json:
    chunk = _chunk(parts, request, number)
    chunk["candidates"][0]["finishReason"] = turn.stop_reason or "STOP"
    chunk["usageMetadata"] = {
        "promptTokenCount": turn.tokens_in,
        "cachedContentTokenCount": turn.cache_read,
        "candidatesTokenCount": turn.tokens_out,
        "totalTokenCount": turn.tokens_in + turn.tokens_out,
    }
    return chunk


def error(what: Failure) -> tuple[int, Json]:
    code, status, message = {
        "refused_key": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
        "rate_limited": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted."),
        "quota": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."),
        "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        "context_full": (400, "INVALID_ARGUMENT", "The input token count exceeds the maximum."),
        "model_not_found": (404, "NOT_FOUND", "The model is not found for API version v1beta."),
        "bad_request": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
        "server_error": (500, "INTERNAL", "An internal error has occurred."),
    }[what.kind]
    told = {"code": what.status or code, "message": what.message or message, "status": status}
    return code, {"error": told}
