"""What a test of an MCP server says to the person who asked for it."""

from typing import TYPE_CHECKING, Any

import msgspec

from trunkline import limits
from trunkline.control.errors import TrunklineError
from trunkline.control.services.mcp_servers import Endpoint

if TYPE_CHECKING:
    from trunkline.control.services.mcp_pool import McpPool

_TIMEOUT_S = 30.0  # whatever its calls may take: a person waits
_LOCAL = "the machine of each session starts it, so it cannot be tested here"


class McpTool(msgspec.Struct, frozen=True):
    """`read_only`: what the server says of it; null where it says nothing."""

    name: str
    description: str | None = None
    read_only: bool | None = None


class McpTest(msgspec.Struct, frozen=True, kw_only=True):
    """`ok` of null: it cannot be tested here, and `error` says why."""

    ok: bool | None
    tools: list[McpTool] = []
    code: str | None = None
    error: str | None = None


def untested() -> McpTest:
    return McpTest(ok=None, code="MCP_LOCAL", error=_LOCAL)


async def tested(pool: "McpPool", endpoint: Endpoint) -> McpTest:
    bounded = msgspec.structs.replace(endpoint, timeout_s=min(endpoint.timeout_s, _TIMEOUT_S))
    try:
        tools = await pool.tools_of(bounded)
    except TrunklineError as error:
        return McpTest(ok=False, code=error.code, error=error.message)
    return McpTest(ok=True, tools=[_tool(one) for one in tools])


def _tool(said: dict[str, Any]) -> McpTool:
    description = said.get("description")
    read_only = (said.get("annotations") or {}).get("readOnlyHint")
    return McpTool(
        said["name"],
        description[: limits.MCP_ERROR_CHARS_MAX] if isinstance(description, str) else None,
        read_only if isinstance(read_only, bool) else None,
    )
