"""A call in the words of OpenAI's chat completions, and of the many servers that speak them.

A quirk is something that one server or model does not take; a request is built with those that
are known already. Pure functions: no SDK, no network.
"""

import re

import msgspec

from trunkline.execution.json_object import Json
from trunkline.execution.llm import sight
from trunkline.execution.llm.base import Call, Images, Message, Quirks, ToolSpec, Usage
from trunkline.execution.llm.errors import Refusal
from trunkline.execution.llm.history import flattened, repaired, safe_id, safe_name
from trunkline.execution.llm.reply_builder import count, fields

_REASONING = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d))(?!.*-chat)", re.IGNORECASE)
_NOT_TAKEN = re.compile(
    r"(?:not|n't|un|only)[ -]?(?:be )?(?:support|recogni[sz]|permitted|allowed|known|expected)"
    r"|support only|does not (?:take|accept)|extra (?:inputs?|fields?)|requires|unknown"
    r"|not a valid",
    re.IGNORECASE,
)
# What is given up when a parameter is refused, in order of preference.
_QUIRKS: dict[str, tuple[str, ...]] = {
    "stream_options": ("no stream_options",),
    "max_completion_tokens": ("other max_tokens", "no max_tokens"),
    "max_tokens": ("other max_tokens", "no max_tokens"),
    "temperature": ("no temperature",),
    "reasoning_effort": ("no reasoning_effort",),
    "tools": ("no tools",),
    "tool_choice": ("no tools",),
}


def request(call: Call, quirks: Quirks, *, is_openai: bool, provider: str) -> Json:
    """The arguments of `chat.completions.create`."""
    thinks = bool(_REASONING.search(call.model))
    sees = sight.can_see(call.model, quirks)
    messages = sight.seen(repaired(call.messages), call.images, sees=sees)
    if "no tools" in quirks:
        messages = flattened(messages)
    body: Json = {
        "model": call.model,
        "messages": _messages(call, messages, provider),
        "stream": True,
    }
    if "no stream_options" not in quirks:
        body["stream_options"] = {"include_usage": True}
    if call.tools and "no tools" not in quirks:
        body["tools"] = [_tool(spec) for spec in call.tools]
    # Models that reason take a temperature only with their reasoning off.
    if call.temperature is not None and not thinks and "no temperature" not in quirks:
        body["temperature"] = call.temperature
    if call.thinking_tokens is not None and thinks and "no reasoning_effort" not in quirks:
        body["reasoning_effort"] = _effort(call.thinking_tokens)
    if call.max_tokens is not None and "no max_tokens" not in quirks:
        modern = (is_openai or thinks) != ("other max_tokens" in quirks)
        body["max_completion_tokens" if modern else "max_tokens"] = call.max_tokens
    return body


def quirk_of(told: Refusal, body: Json, quirks: Quirks) -> str | None:
    """What to do without next, if the refusal is about one parameter of the request."""
    is_shown = any(_has_picture(one["content"]) for one in body["messages"])
    if (quirk := sight.quirk_of(told, is_shown, quirks)) is not None:
        return quirk
    if told.status not in (400, 422) or not _NOT_TAKEN.search(told.message):
        return None
    sent = [name for name in _QUIRKS if name in body]
    named = [name for name in sent if told.param == name] or sorted(
        (name for name in sent if re.search(rf"\b{name}\b", told.message)),
        key=told.message.index,
    )
    for name in named:
        for quirk in _QUIRKS[name]:
            if quirk not in quirks:
                return quirk
    return None


def usage_of(told: object) -> Usage:
    """Tokens as the server counted them; what was read from a cache is part of `tokens_in`."""
    usage = fields(told)
    details = fields(usage.get("prompt_tokens_details"))
    return Usage(
        tokens_in=count(usage.get("prompt_tokens")),
        tokens_out=count(usage.get("completion_tokens")),
        cache_read_tokens=count(details.get("cached_tokens")),
        cache_write_tokens=count(details.get("cache_write_tokens")),
    )


def _messages(call: Call, messages: list[Message], provider: str) -> list[Json]:
    system = {"role": "system", "content": call.system}
    found: list[Json] = [system] if call.system.strip() else []
    behind: list[Json] = []
    asked = max(i for i, message in enumerate(messages) if message["role"] == "user")
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            found.append(_result(message))
            behind += _pictures_of_result(message, call.images)
            continue
        found, behind = found + _shown_behind(behind), []
        one: Json = {"role": message["role"], "content": message["content"]}
        if pictures := _pictures(message, call.images):
            one["content"] = [{"type": "text", "text": message["content"]}, *pictures]
        if calls := message.get("tool_calls"):
            one["tool_calls"] = [
                {
                    "id": safe_id(call["id"]),
                    "type": "function",
                    "function": {
                        "name": safe_name(call["name"]),
                        "arguments": msgspec.json.encode(call["arguments"]).decode(),
                    },
                }
                for call in calls
            ]
            # Some reasoning servers want their thoughts back while a turn's tools are used, and
            # refuse them later.
            blocks = message.get("provider_blocks") or {}
            same = blocks.get("provider") == provider and blocks.get("model") == call.model
            if same and index > asked:
                one["reasoning_content"] = blocks.get("reasoning_content", "")
        found.append(one)
    return found + _shown_behind(behind)


def _pictures(message: Message, images: Images) -> list[Json]:
    return [
        {
            "type": "image_url",
            "image_url": {"url": f"data:{one['media_type']};base64,{images[one['path']]}"},
        }
        for one in message.get("pictures", ())
    ]


def _pictures_of_result(message: Message, images: Images) -> list[Json]:
    """A tool's result may hold text alone here: its pictures come behind all results."""
    shown: list[Json] = []
    named = zip(message.get("pictures", ()), _pictures(message, images), strict=True)
    for picture, block in named:
        result = safe_id(message.get("tool_call_id", ""))
        text = f"Picture {sight.named(picture)} of the result of {result}:"
        shown += [{"type": "text", "text": text}, block]
    return shown


def _has_picture(content: str | list[Json]) -> bool:
    return isinstance(content, list) and any(one["type"] == "image_url" for one in content)


def _shown_behind(pictures: list[Json]) -> list[Json]:
    return [{"role": "user", "content": pictures}] if pictures else []


def _result(message: Message) -> Json:
    content = message["content"]
    if message.get("is_error") and not content.lower().startswith("error"):
        content = f"Error: {content}"
    return {
        "role": "tool",
        "tool_call_id": safe_id(message.get("tool_call_id", "")),
        "content": content or "(no output)",
    }


def _tool(spec: ToolSpec) -> Json:
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
    }
    return {"type": "function", "function": function}


def _effort(thinking_tokens: int) -> str:
    if thinking_tokens <= 2_048:
        return "low"
    return "medium" if thinking_tokens <= 8_192 else "high"
