"""What the nodes of a graph work with: one agent of one session, and its running turn.

Made by the session's process, handed to LangGraph as its run context. Nothing here is saved.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from trunkline import limits
from trunkline.execution.control_plane import ControlPlane
from trunkline.execution.llm.base import Reply, ToolSpec
from trunkline.execution.llm.router import Router
from trunkline.execution.memory.local_memory import LocalShortTermMemory
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.orchestrator.state import State
from trunkline.execution.skills.registry import SkillRegistry
from trunkline.execution.tools.ask_user import AskUser
from trunkline.execution.tools.base import Tool
from trunkline.execution.tools.delegate import Delegate
from trunkline.execution.tools.toolbox import Toolbox

Json = dict[str, Any]

_ALWAYS_OFFERED = {AskUser.name, Delegate.name, "read_skill_file"}


class Outlet(Protocol):
    """Where events go."""

    def event(self, event: Json) -> None:
        """Sends it now."""

    async def flush(self) -> None:
        """Waits while more is unsent than should be; nearly always returns at once."""


@dataclass(kw_only=True)
class LiveTurn:
    """What is known of the running turn in memory only."""

    turn_id: str = ""
    usage: dict[str, Json] = field(default_factory=dict)
    """By model, of all agents of the turn."""
    shown: set[str] = field(default_factory=set)
    """Tool calls whose start readers have seen: a call that waited is started twice."""

    def count(self, reply: Reply) -> None:
        """Adds one model call."""
        used = self.usage.setdefault(reply.model, {"calls": 0, "tokens_in": 0, "tokens_out": 0})
        used["calls"] += 1
        used["tokens_in"] += reply.usage.tokens_in
        used["tokens_out"] += reply.usage.tokens_out
        if reply.usage.cache_read_tokens:
            read = used.get("cache_read_tokens", 0) + reply.usage.cache_read_tokens
            used["cache_read_tokens"] = read


@dataclass(kw_only=True)
class Context:
    """One agent at work. A sub-agent has a context of its own, for the same turn."""

    session_id: str
    workspace: Path
    settings: Settings
    router: Router
    toolbox: Toolbox
    memory: LocalShortTermMemory
    control: ControlPlane
    skills: SkillRegistry
    outlet: Outlet
    clock: Callable[[], float]
    run_nested: Callable[[State, "Context"], Awaitable[State]]
    agent: str = ""
    """The sub-agent's name; empty for the session's own agent."""
    depth: int = 0
    turn: LiveTurn = field(default_factory=LiveTurn)
    partial: list[str] = field(default_factory=list)
    """Text of the model call that runs: kept when the turn ends in the middle of it."""
    problems: list[str] = field(default_factory=list)
    """What the session has to do without; grows while MCP servers fail to come up."""
    problems_told: int = 0

    def emit(self, event: Json) -> None:
        """An event of the running turn."""
        event["turn_id"] = self.turn.turn_id
        event["ts"] = int(self.clock() * 1000)
        if self.agent:
            event["agent"] = self.agent
        self.outlet.event(event)

    def begin(self, turn_id: str) -> None:
        self.turn = LiveTurn(turn_id=turn_id)
        self.partial.clear()

    def sub_agent(self, name: str, settings: Settings) -> "Context":
        return replace(self, agent=name, settings=settings, depth=self.depth + 1, partial=[])

    def new_problems(self) -> list[str]:
        """Those that nobody was told of yet."""
        new, self.problems_told = self.problems[self.problems_told :], len(self.problems)
        return new

    @property
    def model(self) -> str:
        return self.settings.model or self.router.default_model()

    def offers(self, name: str) -> bool:
        """Whether this agent may use the tool of that name."""
        if name == Delegate.name and self.depth >= limits.DELEGATION_DEPTH_MAX:
            return False
        chosen = self.settings.tools
        return not chosen or name in chosen or name in _ALWAYS_OFFERED or name.startswith("mcp__")

    def tool(self, name: str) -> Tool | None:
        return self.toolbox.get(name) if self.offers(name) else None

    def tool_specs(self) -> list[ToolSpec]:
        return [spec for spec in self.toolbox.specs() if self.offers(spec.name)]
