"""A remote MCP server, reached through the control plane, which knows its address and its keys."""

from typing import Any

from trunkline import limits
from trunkline.execution.errors import RequestFailed, ToolError
from trunkline.execution.line import ControlPlane
from trunkline.execution.tools.base import Json
from trunkline.execution.tools.excerpt import shortened


class RemoteMcp:
    def __init__(self, name: str, control: ControlPlane) -> None:
        self.name = name
        self._control = control

    async def tools(self) -> list[Json] | None:
        """What the server offers; None where the control plane cannot say, as documented ones
        cannot. Raises ToolError."""
        try:
            answer = await self._request("mcp_tools", server=self.name)
        except RequestFailed as error:
            if error.code == "METHOD_NOT_FOUND":
                return None
            raise self._failed(error.message) from error
        tools = answer.get("tools") if isinstance(answer, dict) else None
        if not isinstance(tools, list):
            raise self._failed("the control plane sent no list of tools")
        return tools[: limits.MCP_TOOLS_OFFERED_MAX]

    async def call(self, tool: str, arguments: Json) -> Any:
        try:
            answer = await self._request(
                "mcp_call", server=self.name, tool=tool, arguments=arguments
            )
        except RequestFailed as error:
            raise self._failed(error.message) from error
        return answer.get("result") if isinstance(answer, dict) else answer

    async def close(self) -> None:
        return

    async def _request(self, method: str, **params: Any) -> Any:
        try:
            return await self._control.request(method, **params)
        except TimeoutError as error:
            raise self._failed("it did not answer in time") from error
        except ConnectionError as error:
            raise self._failed(
                "the control plane cannot be reached at the moment; try another way"
            ) from error

    def _failed(self, reason: str) -> ToolError:
        text = shortened(reason, limits.MCP_ERROR_CHARS_MAX)
        return ToolError(f"the MCP server {self.name!r} cannot be used: {text}")
