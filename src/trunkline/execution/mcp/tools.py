"""Tools of MCP servers, local and remote, as an agent uses them."""

import asyncio
from typing import Any, Protocol

import msgspec

from trunkline import limits
from trunkline.execution.mcp.names import tool_name
from trunkline.execution.mcp.results import tool_result
from trunkline.execution.tools.arguments import is_schema
from trunkline.execution.tools.base import Json, Tool, ToolResult, ToolRun, object_schema
from trunkline.execution.tools.excerpt import shortened


class McpSource(Protocol):
    """A server, wherever it is. Both methods raise ToolError."""

    name: str

    async def tools(self) -> list[Json] | None: ...

    async def call(self, tool: str, arguments: Json) -> Any: ...

    async def close(self) -> None: ...


class McpTool(Tool):
    """One tool of a server. Whether it only reads is the server's word, which is all there is."""

    def __init__(self, source: McpSource, given: Json, parameters: Json) -> None:
        self._source = source
        self._tool = str(given["name"])
        self.name = tool_name(source.name, self._tool)
        description = given.get("description") or given.get("title") or self._tool
        self.description = shortened(str(description), limits.MCP_TOOL_DESCRIPTION_CHARS_MAX)
        self.parameters = parameters
        annotations = given.get("annotations")
        hints = annotations if isinstance(annotations, dict) else {}
        self._only_reads = hints.get("readOnlyHint") is True

    def is_dangerous(self, arguments: Json) -> bool:
        return not self._only_reads

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        return tool_result(await self._source.call(self._tool, arguments))


class AnyMcpTool(Tool):
    """A whole server as one tool, where nobody can say which tools it has."""

    parameters = object_schema(
        {
            "tool": {"type": "string", "minLength": 1, "maxLength": limits.NAME_CHARS_MAX},
            "arguments": {"type": "object"},
        },
        required=["tool"],
    )

    def __init__(self, source: McpSource) -> None:
        self._source = source
        self.name = tool_name(source.name, "")
        self.description = (
            f"Calls a tool of the MCP server {source.name!r}. Which tools it has is not known "
            "here: name one, with its arguments."
        )

    def is_dangerous(self, arguments: Json) -> bool:
        return True

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        result = await self._source.call(arguments["tool"], arguments.get("arguments", {}))
        return tool_result(result)


async def tools_of(source: McpSource) -> list[Tool]:
    """What a server offers, as tools. Raises ToolError when it cannot be asked."""
    listed = await source.tools()
    if listed is None:
        return [AnyMcpTool(source)]
    # Checking the schema of a schema is slow, and these come from a stranger.
    return await asyncio.to_thread(_built, source, listed)


def _built(source: McpSource, listed: list[Json]) -> list[Tool]:
    found: dict[str, Tool] = {}
    room = limits.MCP_SCHEMAS_BYTES_MAX
    for given in listed:
        if isinstance(given, dict) and _is_name(given.get("name")):
            schema = given.get("inputSchema")
            size = len(msgspec.json.encode(schema))
            bearable = size <= min(room, limits.MCP_TOOL_SCHEMA_BYTES_MAX)
            tool = McpTool(source, given, _parameters(schema if bearable else None))
            found.setdefault(tool.name, tool)
            room -= size if bearable else 0
    return list(found.values())


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= limits.NAME_CHARS_MAX


def _parameters(schema: Any) -> Json:
    """The server's schema, if models and we can work with it; else any object."""
    if isinstance(schema, dict) and schema.get("type") == "object":
        found: Json = {"properties": {}, **schema}
        if is_schema(found):
            return found
    return {"type": "object", "properties": {}}
