"""The MCP servers of a session, as `start_session` names them: local ones it starts (`client`),
remote ones it reaches through the control plane, which knows their addresses and keys.

Checked here, because names and commands come from outside.
"""

import shlex
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.errors import NO_SUCH_METHOD, RequestFailed, ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.texts import shortened

MCP_ENV_MAX = 100


_Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX)]
_Argument = Annotated[str, Meta(max_length=limits.FILE_PATH_CHARS_MAX, pattern=r"\A[^\0]*\Z")]
_Command = Annotated[str, Meta(max_length=limits.FILE_PATH_CHARS_MAX, pattern=r"\A[^\0]+\Z")]
_Variable = Annotated[str, Meta(pattern=r"\A[^=\0]+\Z")]
_Value = Annotated[str, Meta(max_length=limits.MCP_HEADER_CHARS_MAX, pattern=r"\A[^\0]*\Z")]


class LocalServer(msgspec.Struct, frozen=True, kw_only=True):
    """`env` may hold what only this server is meant to know: it is never logged."""

    name: _Name
    command: _Command
    args: Annotated[list[_Argument], Meta(max_length=limits.MCP_ARGS_MAX)] = []
    env: Annotated[dict[_Variable, _Value], Meta(max_length=MCP_ENV_MAX)] = {}
    timeout_s: Annotated[float, Meta(gt=0, le=limits.MCP_TIMEOUT_S_MAX)] = limits.MCP_TIMEOUT_S
    trust_hints: bool = False


class RemoteServer(msgspec.Struct, frozen=True, kw_only=True):
    """`called`: what the control plane knows it by, where that is not its name. `offered`: its
    tools, as MCP describes them, where the control plane has named them beforehand."""

    name: _Name
    called: Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)] = ""
    offered: list[Json] = []
    trust_hints: bool = False


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
    """Raises ValueError. What is null was left out."""
    if not isinstance(entry, dict):
        raise ValueError("it is no object")
    given = {name: value for name, value in entry.items() if value is not None}
    if "type" not in given and "transport" in given:
        return _of_deployed(given)
    kind = given.get("type") or ("local" if given.get("command") else "remote")
    if kind not in ("local", "stdio", "remote"):
        raise ValueError(f"its type {str(kind)[:40]!r} is unknown")
    if kind == "remote":
        trusted = given.get("trust_hints") is True
        return RemoteServer(name=msgspec.convert(given.get("name"), _Name), trust_hints=trusted)
    return msgspec.convert(given, LocalServer)


def _of_deployed(given: Json) -> LocalServer | RemoteServer:
    """As deployed control planes say it: a transport and an endpoint. A remote server is called by
    its id; its address is the control plane's own business."""
    if given["transport"] != "stdio":
        server = {"name": given.get("name"), "called": given.get("id") or ""}
        return msgspec.convert({**server, "offered": _offered(given)}, RemoteServer)
    endpoint = given.get("endpoint")
    words = shlex.split(endpoint) if isinstance(endpoint, str) else []
    if not words:
        raise ValueError("its endpoint is no command")
    auth = given.get("auth_config")
    env = auth.get("env") if isinstance(auth, dict) else None
    server = {"name": given.get("name"), "command": words[0], "args": words[1:], "env": env or {}}
    return msgspec.convert(server, LocalServer)


def _offered(given: Json) -> list[Json]:
    tools = given.get("available_tools")
    named = [one for one in tools if isinstance(one, dict)] if isinstance(tools, list) else []
    return [
        {**one, "inputSchema": one.get("inputSchema") or one.get("parameters")}
        for one in named[: limits.MCP_TOOLS_OFFERED_MAX]
    ]


class RemoteMcp:
    is_remote = True

    def __init__(self, server: RemoteServer, control: ControlPlane) -> None:
        self.name = server.name
        self.trust_hints = server.trust_hints
        self._called = server.called or server.name
        self._offered = server.offered
        self._control = control

    async def tools(self) -> list[Json] | None:
        """What the server offers; None where the control plane cannot say, as documented ones
        cannot. Raises ToolError."""
        try:
            answer = await self._request("mcp_tools", server=self._called)
        except RequestFailed as error:
            if error.code in NO_SUCH_METHOD:
                return self._offered or None
            raise self._failed(error.message) from error
        tools = answer.get("tools") if isinstance(answer, dict) else None
        if not isinstance(tools, list):
            raise self._failed("the control plane sent no list of tools")
        return tools[: limits.MCP_TOOLS_OFFERED_MAX]

    async def call(self, tool: str, arguments: Json) -> Any:
        try:
            answer = await self._request(
                "mcp_call", server=self._called, tool=tool, arguments=arguments
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
