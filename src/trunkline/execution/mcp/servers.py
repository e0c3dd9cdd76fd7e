"""The MCP servers of a session, as `start_session` names them: local ones it starts (`client`),
remote ones it reaches through the control plane, which knows their addresses and keys.

Checked here, because names and commands come from outside.
"""

from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.errors import RequestFailed, ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.texts import shortened

MCP_ENV_MAX = 100


class LocalServer(msgspec.Struct, frozen=True, kw_only=True):
    """`env` may hold what only this server is meant to know: it is never logged."""

    name: str
    command: str
    args: list[str]
    env: dict[str, str]
    timeout_s: float


class RemoteServer(msgspec.Struct, frozen=True, kw_only=True):
    name: str


def parse_servers(given: list[Json], problems: list[str]) -> list[LocalServer | RemoteServer]:
    """Those that can be used, each name once; what is wrong with the others goes to `problems`."""
    found: dict[str, LocalServer | RemoteServer] = {}
    for entry in given[: limits.MCP_SERVERS_MAX]:
        try:
            server = _parse(entry)
            if server.name in found:
                raise ValueError("there is another of this name")
        except ValueError as error:
            name = entry.get("name") if isinstance(entry, dict) else None
            problems.append(f"MCP server {str(name)[:100]!r} cannot be used: {error}")
        else:
            found[server.name] = server
    return list(found.values())


def _parse(entry: Any) -> LocalServer | RemoteServer:
    if not isinstance(entry, dict):
        raise ValueError("it is no object")
    name = entry.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= limits.NAME_CHARS_MAX:
        raise ValueError("it has no name, or too long a name")
    kind = entry.get("type") or ("local" if entry.get("command") else "remote")
    if kind == "remote":
        return RemoteServer(name=name)
    if kind not in ("local", "stdio"):
        raise ValueError(f"its type {str(kind)[:40]!r} is unknown")
    return LocalServer(
        name=name,
        command=_argument(entry.get("command"), "command"),
        args=_args(entry.get("args")),
        env=_env(entry.get("env")),
        timeout_s=_timeout_s(entry.get("timeout_s")),
    )


def _argument(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"its {what} is no text")
    if len(value) > limits.FILE_PATH_CHARS_MAX:
        raise ValueError(f"its {what} is too long")
    return value


def _args(value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > limits.MCP_ARGS_MAX:
        raise ValueError("its args are no list, or too many")
    return [_argument(arg, "argument") if arg != "" else "" for arg in value]


def _env(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MCP_ENV_MAX:
        raise ValueError("its env is no object, or too large")
    for name, text in value.items():
        if not name or "=" in name or "\0" in name:
            raise ValueError("its env has a bad name in it")
        if not isinstance(text, str) or "\0" in text or len(text) > limits.MCP_HEADER_CHARS_MAX:
            raise ValueError(f"its env has a bad value for {name[:100]!r}")
    return dict(value)


def _timeout_s(value: Any) -> float:
    if value is None:
        return limits.MCP_TIMEOUT_S
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("its timeout_s is no number")
    if not 0 < value <= limits.MCP_TIMEOUT_S_MAX:
        raise ValueError(f"its timeout_s is not between 0 and {limits.MCP_TIMEOUT_S_MAX:g}")
    return float(value)


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
