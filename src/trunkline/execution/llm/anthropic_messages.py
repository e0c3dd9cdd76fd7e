"""A call in the words of Anthropic's messages API.

Signed thinking goes back as it came, tool results open the message after their calls, and what
stays the same from call to call is marked for the cache. The API of the SDK's version takes no
temperature, so none is sent. Pure functions: no SDK, no network.
"""

import re

from trunkline.execution.json_object import Json
from trunkline.execution.llm import sight
from trunkline.execution.llm.base import (
    Call,
    Images,
    Message,
    Quirks,
    ToolCall,
    ToolSpec,
    Usage,
)
from trunkline.execution.llm.errors import Refusal
from trunkline.execution.llm.history import repaired, safe_id, safe_name
from trunkline.execution.llm.reply_builder import count

MODEL_ANSWER_TOKENS = 16_384  # where a provider wants a number and the agent names none

THOUGHTS = ("thinking", "redacted_thinking")
_CACHED = {"type": "ephemeral"}
_THINKING_TOKENS_MIN = 1_024
_TOO_MANY = re.compile(r"max_tokens\D{0,40}\d+ > (\d{1,7})\b")


def request(call: Call, quirks: Quirks) -> Json:
    """The arguments of `messages.create`."""
    body: Json = {
        "model": call.model,
        "messages": _messages(call, quirks),
        "max_tokens": call.max_tokens or _answer_tokens(call.window),
        "stream": True,
    }
    if call.system.strip():
        body["system"] = [{"type": "text", "text": call.system}]
    if call.tools:
        body["tools"] = [_tool(spec) for spec in call.tools]
    if thinking := _thinking(call, quirks):
        body["thinking"] = thinking
        body["max_tokens"] += thinking.get("budget_tokens", 0)
    for quirk in quirks:
        if quirk.startswith("max_tokens "):
            body["max_tokens"] = min(body["max_tokens"], int(quirk.split()[1]))
    if "no cache" not in quirks:
        _mark_for_cache(body)
    return body


def _answer_tokens(window: int) -> int:
    return min(MODEL_ANSWER_TOKENS, window // 4) if window else MODEL_ANSWER_TOKENS


def quirk_of(told: Refusal, body: Json, quirks: Quirks) -> str | None:
    """What to do without next, if the refusal is about something that can be left out."""
    is_shown = any(_has_picture(one["content"]) for one in body["messages"])
    if (quirk := sight.quirk_of(told, is_shown, quirks)) is not None:
        return quirk
    if told.status not in (400, 422):
        return None
    message = told.message
    if (most := _TOO_MANY.search(message)) and int(most[1]) < body["max_tokens"]:
        return f"max_tokens {most[1]}"
    if "signature" in message:
        wanted = ["no thoughts"]
    elif "cache_control" in message:
        wanted = ["no cache"]
    elif "thinking" in message and "thinking" in body:
        wanted = ["adaptive thinking", "no thinking"]
    else:
        wanted = []
    return next((quirk for quirk in wanted if quirk not in quirks), None)


def usage_of(start: Json, end: Json) -> Usage:
    """Tokens from the first and the last event that told them. Unlike the API's own number,
    `tokens_in` holds what was read from and written to the cache too."""
    read, written, fresh = (
        max(count(start.get(name)), count(end.get(name)))
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")
    )
    return Usage(
        tokens_in=fresh + read + written,
        tokens_out=count(end.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _thinking(call: Call, quirks: Quirks) -> Json | None:
    """Which way of thinking to ask for; older models want a budget, newer ones none."""
    if call.thinking_tokens is None or "no thinking" in quirks:
        return None
    if call.thinking_tokens == 0:
        return {"type": "disabled"}
    if "adaptive thinking" in quirks:
        return {"type": "adaptive"}
    return {"type": "enabled", "budget_tokens": max(call.thinking_tokens, _THINKING_TOKENS_MIN)}


def _messages(call: Call, quirks: Quirks) -> list[Json]:
    """Turns of `user` and `assistant`, each a list of blocks; neighbours of one role joined."""
    found: list[Json] = []
    thoughts_of = None if "no thoughts" in quirks else call.model
    sees = sight.can_see(call.model, quirks)
    for message in sight.seen(repaired(call.messages), call.images, sees=sees):
        role = "assistant" if message["role"] == "assistant" else "user"
        if role == "assistant":
            blocks = _assistant_blocks(message, thoughts_of)
        elif message["role"] == "tool":
            blocks = [_result(message, call.images)]
        else:
            pictures = _pictures(message, call.images)
            blocks = pictures + (_text(message["content"]) or _text("(empty message)"))
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    return found


def _assistant_blocks(message: Message, thoughts_of: str | None) -> list[Json]:
    """The blocks in the order in which the model gave them, as far as they are known.

    Thoughts are signed for the model that had them, and are of no use to another one.
    """
    calls = {call["id"]: call for call in message.get("tool_calls") or []}
    kept = message.get("provider_blocks") or {}
    known = kept.get("provider") == "anthropic" and kept.get("model") == thoughts_of
    order: list[Json] = kept.get("blocks", []) if known else []
    told = "".join(block["text"] for block in order if block["type"] == "text")
    if told != message["content"]:
        order = [block for block in order if block["type"] in THOUGHTS]
        order += [{"type": "text", "text": message["content"]}]
    blocks: list[Json] = []
    for block in order:
        if block["type"] == "tool_use":
            blocks += [_tool_use(calls.pop(block["id"]))] if block["id"] in calls else []
        elif block["type"] == "text":
            blocks += _text(block["text"])
        else:
            blocks.append(dict(block))
    return blocks + [_tool_use(call) for call in calls.values()]


def _text(text: str) -> list[Json]:
    """A text block; one without any text is refused."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _tool_use(call: ToolCall) -> Json:
    return {
        "type": "tool_use",
        "id": safe_id(call["id"]),
        "name": safe_name(call["name"]),
        "input": call["arguments"],
    }


def _result(message: Message, images: Images) -> Json:
    text = message["content"] if message["content"].strip() else "(no output)"
    block: Json = {"type": "tool_result", "tool_use_id": safe_id(message.get("tool_call_id", ""))}
    if message.get("is_error"):  # an error is refused with anything but text in it
        return {**block, "content": text, "is_error": True}
    pictures = _pictures(message, images)
    return {**block, "content": _text(text) + pictures if pictures else text}


def _pictures(message: Message, images: Images) -> list[Json]:
    return [
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": picture["media_type"],
                "data": images[picture["path"]],
            },
        }
        for picture in message.get("pictures", ())
    ]


def _has_picture(blocks: list[Json]) -> bool:
    inner = [block.get("content") for block in blocks if block["type"] == "tool_result"]
    nested = any(_has_picture(one) for one in inner if isinstance(one, list))
    return nested or any(block["type"] == "image" for block in blocks)


def _tool(spec: ToolSpec) -> Json:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": spec.parameters,
    }


def _mark_for_cache(body: Json) -> None:
    """The ends of what the next call will repeat: tools, system prompt, conversation. Where the
    last call ended is marked too: it is looked for a few blocks back only, and a step may bring
    more. Four marks are taken."""
    asked = [one["content"] for one in body["messages"] if one["role"] == "user"][-2:]
    for blocks in (body.get("tools"), body.get("system"), *asked):
        if blocks:
            blocks[-1]["cache_control"] = _CACHED
