"""MCP servers that the driver offers to Claude Code over the control protocol (`mcp_message`).

Those of the session, local and remote, and one of our own for what is remembered over all
sessions. Their addresses, keys and variables stay here: the program is told their names alone.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trunkline import __version__
from trunkline.execution.errors import ExecutionError, ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.mcp.servers import RemoteMcp, RemoteServer, parse_servers
from trunkline.execution.mcp.tools import AnyMcpTool, McpSource
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.runtimes.claude_code.output import text_of
from trunkline.execution.session import ipc
from trunkline.execution.tools.base import Tool, ToolRun
from trunkline.execution.tools.memory import MemorySearch, MemoryWrite

OWN = "trunkline"
READS_ONLY = frozenset((f"mcp__{OWN}__memory_search",))
"""Tools of ours that nobody needs to be asked about."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_PROTOCOL = "2025-06-18"
_ANY = "call"
_INVALID, _NO_METHOD = -32602, -32601


class Memory:
    """Long-term memory, as an MCP server."""

    name = OWN
    is_remote = False
    trust_hints = True

    def __init__(self, control: ControlPlane, run: ToolRun) -> None:
        self._tools: dict[str, Tool] = {
            tool.name: tool for tool in (MemorySearch(control), MemoryWrite(control))
        }
        self._run = run

    async def tools(self) -> list[Json] | None:
        return [
            {"name": one.name, "description": one.description, "inputSchema": one.parameters}
            for one in self._tools.values()
        ]

    async def call(self, tool: str, arguments: Json) -> Any:
        found = self._tools.get(tool)
        if found is None:
            raise ToolError(f"there is no tool {tool!r}")
        try:
            result = await found.run(arguments, self._run)
        except KeyError as error:
            raise ToolError(f"{error} is missing") from error
        content = [{"type": "text", "text": result.content}]
        return {"content": content, "isError": result.is_error}

    async def close(self) -> None:
        return


def sources_of(
    start: ipc.Start,
    control: ControlPlane,
    env: Mapping[str, str],
    workspace: Path,
    problems: list[str],
) -> list[McpSource]:
    """The servers of the session; nothing is started yet."""
    clean = scrubbed(env, secrets=start.api_keys.values())
    sources: list[McpSource] = []
    for server in parse_servers(start.mcp_servers, problems):
        if isinstance(server, RemoteServer):
            sources.append(RemoteMcp(server, control))
        else:
            # The SDK takes a second to import, which a session without servers never pays.
            from trunkline.execution.mcp.client import LocalMcp

            sources.append(LocalMcp(server, clean, workspace))
    return sources


class Servers:
    """All of them, by the name that the program calls them by."""

    def __init__(self, sources: Sequence[McpSource]) -> None:
        self._sources: dict[str, McpSource] = {}
        for source in sources:
            self._sources.setdefault(_UNSAFE.sub("_", source.name)[:60], source)

    @property
    def names(self) -> list[str]:
        return list(self._sources)

    async def answer(self, request: Json) -> Json:
        """One JSON-RPC message of the program, as `mcp_message` carries it."""
        message = request.get("message")
        message = message if isinstance(message, dict) else {}
        source = self._sources.get(text_of(request.get("server_name")))
        reply: Json = {"jsonrpc": "2.0", "id": message.get("id", 0)}
        if source is None:
            reply["error"] = {"code": _INVALID, "message": "there is no such server"}
        else:
            reply |= await self._reply(source, message)
        return {"mcp_response": reply}

    async def close(self) -> None:
        for source in self._sources.values():
            await source.close()

    async def _reply(self, source: McpSource, message: Json) -> Json:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        match message.get("method"):
            case "initialize":
                version = text_of(params.get("protocolVersion")) or _PROTOCOL
                about = {"name": source.name, "version": __version__}
                capabilities: Json = {"tools": {}}
                result = {"capabilities": capabilities, "serverInfo": about}
                return {"result": {"protocolVersion": version, **result}}
            case "tools/list":
                return await self._listed(source)
            case "tools/call":
                return {"result": await self._called(source, params)}
            case "ping" | "notifications/initialized" | "notifications/cancelled":
                return {"result": {}}
            case _:
                return {"error": {"code": _NO_METHOD, "message": "not offered here"}}

    async def _listed(self, source: McpSource) -> Json:
        try:
            tools = await source.tools()
        except ExecutionError as error:
            return {"error": {"code": _INVALID, "message": error.message}}
        if tools is None:  # nobody can say which it has
            any_tool = AnyMcpTool(source)
            about = {"description": any_tool.description, "inputSchema": any_tool.parameters}
            return {"result": {"tools": [{"name": _ANY, **about}]}}
        return {"result": {"tools": [one for one in tools if isinstance(one, dict)]}}

    async def _called(self, source: McpSource, params: Json) -> Json:
        name, given = text_of(params.get("name")), params.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        if name == _ANY and isinstance(arguments.get("tool"), str):
            name, given = arguments["tool"], arguments.get("arguments")
            arguments = given if isinstance(given, dict) else {}
        try:
            result = await source.call(name, arguments)
        except ExecutionError as error:
            return {"content": [{"type": "text", "text": error.message}], "isError": True}
        if isinstance(result, dict) and isinstance(result.get("content"), list):
            return result
        text = result if isinstance(result, str) else repr(result)
        return {"content": [{"type": "text", "text": text}]}
