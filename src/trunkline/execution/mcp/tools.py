"""Tools of MCP servers, local and remote, as an agent uses them: named, listed, called, shown.

Servers are asked in the background: a session does not wait for them to be ready, and one that
cannot be asked now is asked again later.
"""

import asyncio
import base64
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.texts import Excerpt, shortened
from trunkline.execution.tools.arguments import is_schema
from trunkline.execution.tools.base import (
    ALL_FILES,
    Image,
    Tool,
    ToolResult,
    ToolRun,
    Touches,
    object_schema,
)
from trunkline.permissions.names import mcp_name

MCP_SETTLE_S = 5.0  # how long a turn waits for servers that are still starting
MCP_TOOL_SCHEMA_BYTES_MAX = 16 * 1024
MCP_SCHEMAS_BYTES_MAX = 256 * 1024  # of one server's tools; every model call carries them
MCP_TOOL_DESCRIPTION_CHARS_MAX = 4_000
MCP_BLOCKS_LOOKED_AT = 1_000  # of one result, for pictures


def tool_result(result: Any) -> ToolResult:
    """`result` is what MCP calls a tool result, as JSON; anything else is shown as JSON."""
    if not isinstance(result, dict) or not isinstance(result.get("content"), list):
        return _bounded(_json(result), is_error=False)
    blocks = result["content"]
    parts = [_block(block) for block in blocks]
    structured = result.get("structuredContent")
    if structured is not None and not any(parts):
        parts.append(_json(structured))
    text = "\n".join(part for part in parts if part)
    is_error = result.get("isError") is True
    return _bounded(text or "(no output)", is_error=is_error, images=_images(blocks))


def _bounded(text: str, *, is_error: bool, images: tuple[Image, ...] = ()) -> ToolResult:
    shown = Excerpt(limits.TOOL_RESULT_CHARS_MAX)
    shown.add(text)
    details = {"output_cut_chars": shown.cut_chars}
    return ToolResult(content=str(shown), is_error=is_error, details=details, images=images)


def _images(blocks: list[Any]) -> tuple[Image, ...]:
    """Pictures among the blocks, and in resources that came whole."""
    found: list[Image] = []
    for block in blocks[:MCP_BLOCKS_LOOKED_AT]:
        match block:
            case {"type": "image", "data": str(data), "mimeType": str(kind)}:
                name = ""
            case {"type": "resource", "resource": {"blob": str(data), "mimeType": str(kind)}}:
                name = str(block["resource"].get("uri", ""))
            case _:
                continue
        if kind.startswith("image/") and len(data) <= limits.PICTURE_BYTES_MAX * 4 // 3 + 4:
            try:
                found.append(Image(kind, base64.b64decode(data), name))
            except ValueError:
                continue  # the text says what should have been there
    return tuple(found)


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


class McpSource(Protocol):
    """A server, wherever it is. Both methods raise ToolError. `is_remote`: what it is told leaves
    this machine; `trust_hints`: its word counts for what its tools do."""

    name: str
    is_remote: bool
    trust_hints: bool

    async def tools(self) -> list[Json] | None: ...

    async def call(self, tool: str, arguments: Json) -> Any: ...

    async def close(self) -> None: ...


class _OfServer(Tool):
    """What all tools of servers have in common."""

    brings = True

    def paths(self, arguments: Json) -> Sequence[str] | None:
        """Nobody here knows what its arguments mean."""
        return None


class McpTool(_OfServer):
    """One tool of a server. Whether it only reads is the server's word, which counts where people
    trust it; that it destroys is believed in any case."""

    def __init__(self, source: McpSource, given: Json, parameters: Json) -> None:
        self._source = source
        self._tool = str(given["name"])
        self.name = mcp_name(source.name, self._tool)
        description = given.get("description") or given.get("title") or self._tool
        self.description = shortened(str(description), MCP_TOOL_DESCRIPTION_CHARS_MAX)
        self.parameters = parameters
        annotations = given.get("annotations")
        hints = annotations if isinstance(annotations, dict) else {}
        reads = hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True
        self._says_it_reads = reads
        self._only_reads = reads and source.trust_hints
        self.reveals = source.is_remote

    def is_dangerous(self, arguments: Json) -> bool:
        return not self._only_reads

    def touches(self, arguments: Json) -> Touches:
        return _touches(self._source, self._says_it_reads)

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        return tool_result(await self._source.call(self._tool, arguments))


class AnyMcpTool(_OfServer):
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
        self.name = mcp_name(source.name, "")
        self.description = (
            f"Calls a tool of the MCP server {source.name!r}. Which tools it has is not known "
            "here: name one, with its arguments."
        )
        self.reveals = source.is_remote

    def rule_name(self, arguments: Json) -> str:
        return mcp_name(self._source.name, str(arguments.get("tool", "")))

    def is_dangerous(self, arguments: Json) -> bool:
        return True

    def touches(self, arguments: Json) -> Touches:
        return _touches(self._source, only_reads=False)

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        result = await self._source.call(arguments["tool"], arguments.get("arguments", {}))
        return tool_result(result)


def _touches(source: McpSource, only_reads: bool) -> Touches:
    """What reads runs beside what reads, by the server's own word: nothing but the order depends
    on it. A server on this machine may work with the same files as other tools; one elsewhere has
    only what it keeps itself."""
    itself = (f"mcp:{source.name}",)
    if only_reads:
        files = () if source.is_remote else (ALL_FILES,)
        return Touches(reads=(*itself, *files))
    return Touches(writes=itself) if source.is_remote else Touches(everything=True)


async def tools_of(source: McpSource) -> list[Tool]:
    """What a server offers, as tools. Raises ToolError when it cannot be asked."""
    listed = await source.tools()
    if listed is None:
        return [AnyMcpTool(source)]
    # Checking the schema of a schema is slow, and these come from a stranger.
    return await asyncio.to_thread(_built, source, listed)


def _built(source: McpSource, listed: list[Json]) -> list[Tool]:
    found: dict[str, Tool] = {}
    room = MCP_SCHEMAS_BYTES_MAX
    for given in listed:
        if isinstance(given, dict) and _is_name(given.get("name")):
            schema = given.get("inputSchema")
            size = len(msgspec.json.encode(schema))
            bearable = size <= min(room, MCP_TOOL_SCHEMA_BYTES_MAX)
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


_log = structlog.get_logger()


class McpCatalog:
    """`problems` gets a line, for people, for each server that could not be asked."""

    def __init__(self, sources: Sequence[McpSource], problems: list[str]) -> None:
        self._sources = sources
        self._problems = problems
        self._found: dict[str, list[Tool]] = {}
        self._order: list[str] = []
        self._asking = {source.name: self._ask(source) for source in sources}
        self._first = set(self._asking.values())

    def tools(self) -> list[Tool]:
        """Those that are known by now, in the order of their servers; those of one that came up
        later are behind, for providers cache the list from its start."""
        for source in self._sources:
            if source.name in self._found and source.name not in self._order:
                self._order.append(source.name)
        return [tool for name in self._order for tool in self._found[name]]

    async def settle(self, timeout_s: float = MCP_SETTLE_S) -> None:
        """Before a turn: waits a little for servers that are being asked for the first time, and
        asks those again that failed, without waiting for them."""
        self._first = {task for task in self._first if not task.done()}
        if self._first:
            await asyncio.wait(self._first, timeout=timeout_s)
        for source in self._sources:
            if source.name not in self._found and self._asking[source.name].done():
                self._asking[source.name] = self._ask(source)

    async def close(self) -> None:
        tasks = set(self._asking.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await asyncio.gather(*(source.close() for source in self._sources))

    def _ask(self, source: McpSource) -> asyncio.Task[None]:
        return asyncio.create_task(self._list(source), name=f"tools of {source.name}")

    async def _list(self, source: McpSource) -> None:
        try:
            self._found[source.name] = await tools_of(source)
        except ToolError as error:
            _log.warning("mcp server cannot be asked", server=source.name, reason=str(error))
            if str(error) not in self._problems:
                self._problems.append(str(error))
