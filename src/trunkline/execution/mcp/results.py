"""What a tool of an MCP server answers, as the model reads it. Local and remote ones alike."""

from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.tools.base import ToolResult
from trunkline.execution.tools.excerpt import Excerpt

Json = dict[str, Any]


def tool_result(result: Any) -> ToolResult:
    """`result` is what MCP calls a tool result, as JSON; anything else is shown as JSON."""
    if not isinstance(result, dict) or not isinstance(result.get("content"), list):
        return _bounded(_json(result), is_error=False)
    parts = [_block(block) for block in result["content"]]
    structured = result.get("structuredContent")
    if structured is not None and not any(parts):
        parts.append(_json(structured))
    text = "\n".join(part for part in parts if part)
    return _bounded(text or "(no output)", is_error=result.get("isError") is True)


def _bounded(text: str, *, is_error: bool) -> ToolResult:
    shown = Excerpt(limits.TOOL_RESULT_CHARS_MAX)
    shown.add(text)
    details = {"output_cut_chars": shown.cut_chars}
    return ToolResult(content=str(shown), is_error=is_error, details=details)


def _block(block: Any) -> str:
    if not isinstance(block, dict):
        return ""
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio" as kind:
            size = len(str(block.get("data", ""))) * 3 // 4
            return f"[{kind}: {block.get('mimeType', 'unknown type')}, {size} bytes]"
        case "resource":
            return _resource(block.get("resource"))
        case "resource_link":
            return f"[resource: {block.get('uri', '')}]"
        case _:
            return _json(block)


def _resource(resource: Any) -> str:
    if not isinstance(resource, dict):
        return ""
    if isinstance(resource.get("text"), str):
        return str(resource["text"])
    return f"[resource: {resource.get('uri', '')}, {resource.get('mimeType', 'unknown type')}]"


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
