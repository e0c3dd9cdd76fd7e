"""A tool of an MCP server that answers when the test lets it, for requests that take long."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.mcpserver import MCPServer

from tests.support.control import TestUser
from tests.support.mcp_server import RunningServer, running_server, usual_tools
from tests.support.vm import ScriptedVm

Json = dict[str, Any]


class Gate:
    """A tool that answers when the test lets it."""

    def __init__(self) -> None:
        self.calls = 0
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def pass_through(self) -> str:
        self.calls += 1
        self.reached.set()
        await self.opened.wait()
        return "through"


@contextlib.asynccontextmanager
async def gated_tools(user: TestUser) -> AsyncIterator[Gate]:
    """The tool `gate` of the user's MCP server `tools`, beside `add`, `fail` and `hang`."""
    made = Gate()

    def with_gate(seen: RunningServer) -> MCPServer:
        tools = usual_tools(seen)
        tools.tool(name="gate")(made.pass_through)
        return tools

    async with running_server(with_gate) as server:
        await user.ok(
            "POST", "/mcp-servers", {"name": "tools", "type": "remote", "url": server.url}
        )
        yield made
        made.opened.set()


def mcp_call(session_id: str, request_id: str, tool: str, **arguments: Any) -> Json:
    return {
        "type": "request",
        "session_id": session_id,
        "id": request_id,
        "method": "mcp_call",
        "params": {"server": "tools", "tool": tool, "arguments": arguments},
    }


async def answer_to(vm: ScriptedVm, request_id: str) -> Json:
    return await vm.expect("response", lambda one: one["id"] == request_id)
