"""A scripted answer in the real streaming formats: OpenAI chat completions, Anthropic messages, and
by their own files OpenAI responses and Google's."""

import json
from collections.abc import Iterator
from typing import Any

from tests.support import model_gemini, model_responses
from tests.support.model_responses import halves
from tests.support.model_turns import Failure, Gate, ModelRequest, ToolUse, Turn

Json = dict[str, Any]
Event = bytes | Gate


def events(turn: Turn, request: ModelRequest, number: int) -> Iterator[Event]:
    """The body, event by event; a Gate is to be waited for."""
    if turn.raw is not None:
        yield turn.raw
    elif request.provider == "openai":
        yield from _openai(turn, request, number)
    elif request.provider == "responses":
        error = _openai_error(turn.failure or Failure())[1]["error"]
        yield from map(_as_event, model_responses.steps(turn, request, number, error))
    elif request.provider == "gemini":
        yield from map(_as_data, model_gemini.chunks(turn, request, number))
    else:
        yield from _anthropic(turn, request, number)


def whole(turn: Turn, request: ModelRequest, number: int) -> bytes:
    """The body of an answer that was not asked for in pieces, in Anthropic's or Google's format."""
    if request.provider == "gemini":
        return _json(model_gemini.whole(turn, request, number))
    content: list[Json] = [{"type": "text", "text": turn.whole_text}] if turn.whole_text else []
    for index, call in enumerate(turn.tool_calls):
        made = call.id or call_id("anthropic", number, index)
        content.append({"type": "tool_use", "id": made, "name": call.name, "input": call.arguments})
    message = _message(turn, request, number)
    stop = turn.stop_reason or ("tool_use" if turn.tool_calls else "end_turn")
    usage = {**message["usage"], "output_tokens": turn.tokens_out}
    return _json({**message, "content": content, "stop_reason": stop, "usage": usage})


def failure(what: Failure, provider: str) -> tuple[int, bytes]:
    """Status and body of an error, as that provider sends it."""
    status, body = _ERRORS[provider](what)
    return what.status or status, what.body if what.body is not None else _json(body)


def call_id(provider: str, number: int, index: int) -> str:
    return f"{'call' if provider == 'openai' else 'toolu'}_{number}_{index}"


def _json(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _arguments(call: ToolUse) -> str:
    return call.json if call.json is not None else json.dumps(call.arguments)


def _openai(turn: Turn, request: ModelRequest, number: int) -> Iterator[Event]:
    wants_usage = bool(request.body.get("stream_options", {}).get("include_usage"))
    base: Json = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": request.model,
        "system_fingerprint": "fp_scripted",
    }

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if wants_usage else {}
        return b"data: " + _json({**base, "choices": [choice], **usage}) + b"\n\n"

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for word in turn.thinking.splitlines(keepends=True):
        yield chunk({"reasoning_content": word})
    for piece in turn.pieces():
        yield piece if isinstance(piece, Gate) else chunk({"content": piece})
    if turn.failure is not None:
        yield b"data: " + _json(_openai_error(turn.failure)[1]) + b"\n\n"
        return
    for index, call in enumerate(turn.tool_calls):
        head = {
            "index": index,
            "id": call.id or call_id("openai", number, index),
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        yield chunk({"tool_calls": [head]})
        for part in halves(_arguments(call)):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield chunk({}, turn.stop_reason or ("tool_calls" if turn.tool_calls else "stop"))
    if wants_usage:
        yield b"data: " + _json({**base, "choices": [], "usage": _openai_usage(turn)}) + b"\n\n"
    yield b"data: [DONE]\n\n"


def _openai_usage(turn: Turn) -> Json:
    return {
        "prompt_tokens": turn.tokens_in,
        "completion_tokens": turn.tokens_out,
        "total_tokens": turn.tokens_in + turn.tokens_out,
        "prompt_tokens_details": {"cached_tokens": turn.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


def _openai_error(what: Failure) -> tuple[int, Json]:
    status, kind, code, message = {
        "refused_key": (
            401,
            "invalid_request_error",
            "invalid_api_key",
            "Incorrect API key provided: sk-scri***.",
        ),
        "rate_limited": (
            429,
            "requests",
            "rate_limit_exceeded",
            "Rate limit reached for requests. Please try again later.",
        ),
        "quota": (
            429,
            "insufficient_quota",
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        "overloaded": (
            503,
            "server_error",
            None,
            "The engine is currently overloaded, please try again later.",
        ),
        "context_full": (
            400,
            "invalid_request_error",
            "context_length_exceeded",
            "This model's maximum context length is 128000 tokens. However, your messages "
            "resulted in 130001 tokens.",
        ),
        "model_not_found": (
            404,
            "invalid_request_error",
            "model_not_found",
            "The model does not exist or you do not have access to it.",
        ),
        "bad_request": (400, "invalid_request_error", None, "Bad request."),
        "server_error": (
            500,
            "server_error",
            None,
            "The server had an error while processing your request.",
        ),
    }[what.kind]
    error = {"message": what.message or message, "type": kind, "param": what.param, "code": code}
    return status, {"error": error}


def _as_event(step: Json | Gate) -> Event:
    return step if isinstance(step, Gate) else _event(step)


def _as_data(chunk: Json | Gate) -> Event:
    return chunk if isinstance(chunk, Gate) else b"data: " + _json(chunk) + b"\n\n"


def _event(data: Json) -> bytes:
    return b"event: " + str(data["type"]).encode() + b"\ndata: " + _json(data) + b"\n\n"


def _block(index: int, start: Json, deltas: list[Json | Gate]) -> Iterator[Event]:
    yield _event({"type": "content_block_start", "index": index, "content_block": start})
    for delta in deltas:
        if isinstance(delta, Gate):
            yield delta
        else:
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
    yield _event({"type": "content_block_stop", "index": index})


def _message(turn: Turn, request: ModelRequest, number: int) -> Json:
    """The start of an Anthropic message."""
    usage = {
        "input_tokens": turn.tokens_in,
        "cache_creation_input_tokens": turn.cache_write,
        "cache_read_input_tokens": turn.cache_read,
        "output_tokens": 1,
    }
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _anthropic(turn: Turn, request: ModelRequest, number: int) -> Iterator[Event]:
    yield _event({"type": "message_start", "message": _message(turn, request, number)})
    yield _event({"type": "ping"})
    for index, (start, deltas) in enumerate(_anthropic_blocks(turn, number)):
        yield from _block(index, start, deltas)
    if turn.failure is not None:
        yield _event(_anthropic_error(turn.failure)[1])
        return
    stop = turn.stop_reason or ("tool_use" if turn.tool_calls else "end_turn")
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield _event(
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": turn.tokens_out}}
    )
    yield _event({"type": "message_stop"})


def _anthropic_blocks(turn: Turn, number: int) -> Iterator[tuple[Json, list[Json | Gate]]]:
    if turn.thinking:
        thoughts: list[Json | Gate] = [
            {"type": "thinking_delta", "thinking": line}
            for line in turn.thinking.splitlines(keepends=True)
        ]
        thoughts.append({"type": "signature_delta", "signature": f"signed-{number}"})
        yield {"type": "thinking", "thinking": "", "signature": ""}, thoughts
    if pieces := turn.pieces():
        yield (
            {"type": "text", "text": ""},
            [
                piece if isinstance(piece, Gate) else {"type": "text_delta", "text": piece}
                for piece in pieces
            ],
        )
    for index, call in enumerate(turn.tool_calls):
        start = {
            "type": "tool_use",
            "id": call.id or call_id("anthropic", number, index),
            "name": call.name,
            "input": {},
        }
        parts = ["", *halves(_arguments(call))]
        yield start, [{"type": "input_json_delta", "partial_json": part} for part in parts]


def _anthropic_error(what: Failure) -> tuple[int, Json]:
    status, kind, message = {
        "refused_key": (401, "authentication_error", "invalid x-api-key"),
        "rate_limited": (
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit.",
        ),
        "quota": (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
        ),
        "overloaded": (529, "overloaded_error", "Overloaded"),
        "context_full": (
            400,
            "invalid_request_error",
            "prompt is too long: 213462 tokens > 200000 maximum",
        ),
        "model_not_found": (404, "not_found_error", "model: claude-nothing"),
        "bad_request": (400, "invalid_request_error", "Bad request."),
        "server_error": (500, "api_error", "Internal server error"),
    }[what.kind]
    error = {"type": kind, "message": what.message or message}
    return status, {"type": "error", "error": error, "request_id": "req_scripted"}


_ERRORS = {
    "openai": _openai_error,
    "responses": _openai_error,
    "gemini": model_gemini.error,
    "anthropic": _anthropic_error,
}
