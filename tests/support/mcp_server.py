"""A real MCP server (the official SDK, streamable HTTP) on loopback, with a few tools for tests."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server as LowLevelServer
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.transport_security import TransportSecuritySettings


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # signals stay the test runner's


class RunningServer:
    """What a test sees of the server: its address, and what reached it."""

    def __init__(self, listening: socket.socket) -> None:
        self.port: int = listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.requests: list[dict[str, str]] = []
        """The headers of every HTTP request."""
        self.calls: list[str] = []
        """The tools that ran, in order."""
        self.stuck = asyncio.Event()
        """Set while the tool `hang` runs."""
        self.stop_listening: Callable[[], None] = lambda: None
        """Takes no more connections; those that exist live on."""


def usual_tools(seen: RunningServer) -> MCPServer:
    mcp = MCPServer("tests")

    @mcp.tool()
    def add(a: int, b: int) -> int:
        seen.calls.append("add")
        return a + b

    @mcp.tool()
    def fail(message: str) -> str:
        seen.calls.append("fail")
        raise ValueError(message)

    @mcp.tool()
    async def hang() -> str:
        seen.calls.append("hang")
        seen.stuck.set()
        await asyncio.Event().wait()
        return "never"

    @mcp.tool()
    def big(size: int) -> str:
        seen.calls.append("big")
        return "x" * size

    @mcp.tool()
    async def header(name: str, ctx: Context[Any, Any]) -> str:
        return dict(ctx.headers or {}).get(name, "")

    return mcp


Tools = Callable[[RunningServer], MCPServer | LowLevelServer[Any]]


@contextlib.asynccontextmanager
async def running_server(
    tools: Tools = usual_tools,
    *,
    port: int = 0,
    json_response: bool = False,
    legacy: bool = False,
) -> AsyncIterator[RunningServer]:
    """`legacy`: a server that knows nothing of the 2026 protocol and so keeps sessions."""
    listening = socket.create_server(("127.0.0.1", port))
    seen = RunningServer(listening)
    app = tools(seen).streamable_http_app(
        json_response=json_response,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    async def recorded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            seen.requests.append({"method": scope["method"], **headers})
            if legacy and headers.get("mcp-protocol-version", "").startswith("2026"):
                await send({"type": "http.response.start", "status": 400, "headers": []})
                await send({"type": "http.response.body"})
                return
        await app(scope, receive, send)

    config = uvicorn.Config(recorded, log_level="critical", timeout_graceful_shutdown=1)
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))

    def stop_listening() -> None:
        for part in server.servers:
            part.close()

    seen.stop_listening = stop_listening
    try:
        yield seen
    finally:
        server.should_exit = True
        server.force_exit = True
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        await serving
        listening.close()
