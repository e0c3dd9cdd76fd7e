"""What a model is asked in OpenAI's responses and in Google's format, as the messages of a chat."""

import json
from typing import Any

Json = dict[str, Any]

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_BLOCKS = {"input_text": "text", "output_text": "text", "input_image": "image_url"}
_ROLES = {"model": "assistant"}


def of_responses(body: Json) -> list[Json]:
    """`instructions` and `input` of a request, as chat messages."""
    told: list[Json] = []
    if body.get("instructions"):
        told.append({"role": "system", "content": body["instructions"]})
    given = body.get("input", [])
    if isinstance(given, str):
        return [*told, {"role": "user", "content": given}]
    return [*told, *filter(None, map(_message, given))]


def _message(item: Json) -> Json | None:
    kind = item.get("type", "message")
    if kind == "message":
        return {"role": item["role"], "content": _content(item["content"])}
    if kind in _CALLS:
        return {"role": "assistant", "content": "", "tool_calls": [item]}
    if kind.endswith("_output"):
        return {
            "role": "tool",
            "tool_call_id": item["call_id"],
            "content": _content(item["output"]),
        }
    return None


def _content(given: Any) -> Any:
    if not isinstance(given, list):
        return given if isinstance(given, str) else json.dumps(given)
    return [_block(one) for one in given]


def _block(block: Json) -> Json:
    kind = _BLOCKS.get(block["type"], block["type"])
    if kind == "image_url":
        return {"type": kind, "image_url": {"url": block["image_url"]}}
    return {**block, "type": kind}


def of_gemini(body: Json) -> list[Json]:
    """`systemInstruction` and `contents` of a request, as chat messages."""
    told: list[Json] = []
    if system := body.get("systemInstruction"):
        told.append({"role": "system", "content": _blocks(system)})
    for content in body.get("contents", []):
        told += [
            {"role": "tool", "content": json.dumps(part["functionResponse"]["response"])}
            for part in content["parts"]
            if "functionResponse" in part
        ]
        if said := _blocks(content):
            role = content.get("role", "user")
            told.append({"role": _ROLES.get(role, role), "content": said})
    return told


def tools_of_gemini(body: Json) -> list[Json]:
    return [one for group in body.get("tools", []) for one in group.get("functionDeclarations", [])]


def _blocks(content: Json) -> list[Json]:
    found: list[Json] = []
    for part in content["parts"]:
        if "text" in part:
            found.append({"type": "text", "text": part["text"]})
        elif data := part.get("inlineData"):
            url = f"data:{data['mimeType']};base64,{data['data']}"
            found.append({"type": "image_url", "image_url": {"url": url}})
    return found
