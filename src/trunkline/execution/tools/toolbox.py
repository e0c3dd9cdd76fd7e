"""Everything an agent of this session can do: the built-in tools, MCP tools, and what the graph
adds. Which of them an agent is offered is the graph's choice."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from trunkline.execution.attachments import FOLDER as ATTACHMENTS
from trunkline.execution.fence.hosts import EVERYWHERE
from trunkline.execution.home import Home
from trunkline.execution.line import ControlPlane
from trunkline.execution.llm.base import ToolSpec
from trunkline.execution.mcp.servers import RemoteMcp, RemoteServer, parse_servers
from trunkline.execution.mcp.tools import McpCatalog, McpSource
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.session import ipc
from trunkline.execution.skills.code_executor import CodeExecution
from trunkline.execution.skills.registry import SkillRegistry
from trunkline.execution.tools import web_search
from trunkline.execution.tools.access import BashWithAccess
from trunkline.execution.tools.arguments import ArgumentCheck
from trunkline.execution.tools.background import Background, BashOutput, BashStop
from trunkline.execution.tools.base import Tool
from trunkline.execution.tools.commands import Bash
from trunkline.execution.tools.files import ReadFile
from trunkline.execution.tools.finding import Glob, ListFiles, SearchFiles
from trunkline.execution.tools.memory import MemorySearch, MemoryWrite
from trunkline.execution.tools.skill_file import ReadSkillFile
from trunkline.execution.tools.text_files import Paths
from trunkline.execution.tools.todos import TodoWrite
from trunkline.execution.tools.web_fetch import WebFetch
from trunkline.execution.tools.web_search import WebSearch
from trunkline.execution.tools.writing import ApplyPatch, EditFile, WriteFile

TOOLS_MAX = 128  # in one model call; OpenAI takes no more


class Toolbox:
    def __init__(
        self, tools: Iterable[Tool], catalog: McpCatalog, background: Background | None = None
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._catalog = catalog
        self._background = background or Background()
        self._checks: WeakKeyDictionary[Tool, ArgumentCheck] = WeakKeyDictionary()

    def specs(self) -> list[ToolSpec]:
        """What a model is told. Grows while MCP servers come up."""
        return [
            ToolSpec(tool.name, tool.description, tool.parameters) for tool in self._all().values()
        ]

    def get(self, name: str) -> Tool | None:
        return self._all().get(name)

    def check(self, tool: Tool, arguments: Any) -> str | None:
        """Why a call cannot be made with these arguments; None when it can."""
        check = self._checks.get(tool)
        if check is None:
            check = self._checks[tool] = ArgumentCheck(tool.parameters)
        return check.problem(arguments)

    async def settle(self) -> None:
        """Before a turn: gives MCP servers that are still starting a moment."""
        await self._catalog.settle()

    @property
    def is_working(self) -> bool:
        """Whether a command runs in the background."""
        return self._background.is_running

    def news(self) -> str:
        """What the agent has to know with the next message; told once."""
        return self._background.news()

    async def close(self) -> None:
        await asyncio.gather(self._background.close(), self._catalog.close())

    def _all(self) -> dict[str, Tool]:
        found = dict(self._tools)
        for tool in self._catalog.tools():
            if len(found) == TOOLS_MAX:
                break
            found.setdefault(tool.name, tool)
        return found


async def open_toolbox(
    start: ipc.Start,
    home: Home,
    control: ControlPlane,
    *,
    skills: SkillRegistry,
    extra: Iterable[Tool] = (),
    problems: list[str],
    env: Mapping[str, str],
) -> Toolbox:
    """The tools of a session. MCP servers start in the background; `problems` gets what a session
    has to do without. `env` is the machine's environment, with whatever secrets it holds."""
    secrets = start.api_keys.values()
    clean = scrubbed(env, keep=skills.env_vars(), secrets=secrets)
    workspace = home.workspace_of(start.workspace)
    paths = Paths(workspace, home.skills, home.session(start.session_id) / ATTACHMENTS)
    reach = start.fence.reach if start.fence is not None else EVERYWHERE
    background = Background()
    tools: list[Tool] = [
        Bash(clean, paths, background),
        BashOutput(background),
        BashStop(background),
        CodeExecution(clean),
        ReadFile(paths, clean),
        WriteFile(paths, home),
        EditFile(paths, home),
        ApplyPatch(paths, home),
        ListFiles(paths),
        Glob(paths),
        SearchFiles(paths, clean),
        TodoWrite(),
        WebSearch(web_search.chosen(start.api_keys, start.llm_config, env), reach=reach),
        WebFetch(reach=reach),
        MemorySearch(control),
        MemoryWrite(control),
    ]
    if start.fenced:
        tools.append(BashWithAccess(clean, paths, control))
    if skills.available:
        tools.append(ReadSkillFile(skills))
    # What skills need is no business of MCP servers: each is given its own.
    sources = _sources(start, home, control, scrubbed(env, secrets=secrets), problems)
    return Toolbox([*tools, *extra], McpCatalog(sources, problems), background)


def _sources(
    start: ipc.Start,
    home: Home,
    control: ControlPlane,
    env: Mapping[str, str],
    problems: list[str],
) -> list[McpSource]:
    sources: list[McpSource] = []
    for server in parse_servers(start.mcp_servers, problems):
        if isinstance(server, RemoteServer):
            sources.append(RemoteMcp(server, control))
        else:
            # The SDK takes a second to import, which a session without servers never pays.
            from trunkline.execution.mcp.client import LocalMcp

            sources.append(LocalMcp(server, env, home.workspace_of(start.workspace)))
    return sources
