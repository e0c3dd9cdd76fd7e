"""What the nodes of a graph work with: one agent of one session, and its running turn.

Made by the session's process, handed to LangGraph as its run context. Nothing here is saved.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec

from trunkline.execution.checkpoint.reserve import Reserve
from trunkline.execution.fence.words import NO_FENCE
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.llm.base import ToolCall, ToolSpec, Usage
from trunkline.execution.llm.router import Router
from trunkline.execution.llm.tokens import Meter
from trunkline.execution.memory.edits import Edits
from trunkline.execution.memory.local_memory import LocalShortTermMemory
from trunkline.execution.orchestrator.allowed import Allowed
from trunkline.execution.orchestrator.begun import Begun
from trunkline.execution.orchestrator.instructions import Instructions
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.orchestrator.state import Above, Question, State
from trunkline.execution.orchestrator.steering import Steering
from trunkline.execution.permits import Permits
from trunkline.execution.pictures.pictures import Pictures
from trunkline.execution.skills.registry import SkillRegistry
from trunkline.execution.tools.asking import AskUser, Delegate
from trunkline.execution.tools.base import Tool
from trunkline.execution.tools.toolbox import Toolbox
from trunkline.execution.tools.watching import Watch
from trunkline.permissions.modes import Care, Mode, care_of, more_careful
from trunkline.prices import Prices, built_in

DELEGATION_DEPTH_MAX = 2  # agents under the session's own


_ALWAYS_OFFERED = {AskUser.name, "read_skill_file"}


class Outlet(Protocol):
    """Where events go."""

    def event(self, event: Json) -> None:
        """Sends it now."""

    async def flush(self) -> None:
        """Waits while more is unsent than should be; nearly always returns at once."""


async def _nobody(_questions: Sequence[Question]) -> None:
    """Nobody is asked before the graph stops."""


@dataclass(kw_only=True)
class LiveTurn:
    """What is known of the running turn in memory. `recovery` saves the part that outlives it."""

    turn_id: str = ""
    ask: Callable[[Sequence[Question]], Awaitable[None]] = _nobody
    """Shows people what they are asked, without waiting for them."""
    is_over: bool = False
    is_paused: bool = False
    """Its process ends, and another one goes on with it."""
    worked_s: float = 0.0
    """How long it ran, without waiting for people."""
    usage: dict[str, dict[str, int]] = field(default_factory=dict)
    """By model, of all agents of the turn."""
    shown: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Tool calls that readers have seen start and not yet end, with how to end each as cancelled.
    A call that waited for a person is started twice."""
    taken: set[str] = field(default_factory=set)
    """Ids of tool calls, of all agents of the turn."""
    over: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    """Set when that tool call is over, for those beside it that wait for it."""
    asked: set[str] = field(default_factory=set)
    """Ids of questions that people were shown."""
    noted: set[int | str] = field(default_factory=set)
    """Parts of the turn that are in `conversation.md`."""

    def spend(self, model: str, usage: Usage) -> None:
        """Adds one model call, whatever became of it."""
        used = self.usage.setdefault(model, {"calls": 0, "tokens_in": 0, "tokens_out": 0})
        used["calls"] += 1
        for name, count in msgspec.structs.asdict(usage).items():
            if count or name in used:
                used[name] = used.get(name, 0) + count

    def totals(self, prices: Prices) -> Json:
        """What the turn took so far, as the `usage` event tells it."""
        summed = {
            name: sum(of_model[name] for of_model in self.usage.values())
            for name in ("calls", "tokens_in", "tokens_out")
        }
        told: Json = {**summed, "models": self.usage}
        if (cost := prices.total(self.usage)) is not None:
            told["cost"] = msgspec.structs.asdict(cost)
        return told


@dataclass(kw_only=True)
class Context:
    """One agent in one turn. A sub-agent has a context of its own, for the same turn."""

    session_id: str
    workspace: Path
    folder: Path
    """The session's own."""
    pictures: Pictures
    instructions: Instructions
    """The project's own."""
    watch: Watch
    """Tells what commands change in the workspace."""
    settings: Settings
    router: Router
    toolbox: Toolbox
    memory: LocalShortTermMemory
    edits: Edits
    """What people change in these files by hand."""
    control: ControlPlane
    skills: SkillRegistry
    outlet: Outlet
    clock: Callable[[], float]
    run_nested: Callable[[State, "Context"], Awaitable[State]]
    agent: str = ""
    """The sub-agent's name; empty for the session's own agent."""
    depth: int = 0
    above: tuple[Above, ...] = ()
    """The tool calls that led to this agent."""
    delegate: Delegate | None = None
    """Hands tasks to this agent's own sub-agents, if it has any."""
    root: "Context | None" = None
    """The context of the session's own agent; None for that itself."""
    prices: Prices = field(default_factory=built_in)
    begun: Begun = field(default_factory=Begun)
    allowed: Allowed = field(default_factory=Allowed)
    """What no person is asked about any more, in this session."""
    permits: Permits = field(default_factory=Permits)
    """The session's rules."""
    least_care: Care = "nothing"
    """How careful the agent is that gave this one its task."""
    steering: Steering = field(default_factory=Steering)
    """What people say while a turn runs."""
    turn: LiveTurn = field(default_factory=LiveTurn)
    meter: Meter = field(default_factory=Meter)
    """Counts this agent's tokens."""
    partial: list[str] = field(default_factory=list)
    """Text of the newest model call: kept when the turn ends before it is in the state."""
    partial_of: int = 0
    """The number of that call in its turn, from 1."""
    problems: list[str] = field(default_factory=list)
    """What the session has to do without; grows while MCP servers fail to come up."""
    problems_told: int = 0
    reserve: Reserve | None = None
    """The room on the disk that is held for what the session has to save."""
    fence: str = NO_FENCE
    """What keeps this session to its own place, in words."""

    def emit(self, kind: str, /, **fields: Any) -> None:
        """An event of the running turn, if one runs."""
        event: Json = {"type": kind, **fields}
        if self.turn.turn_id:
            event["turn_id"] = self.turn.turn_id
        event["ts"] = int(self.clock() * 1000)
        if self.agent:
            event["agent"] = self.agent
            event["parent_tool_call_id"] = self.parent_tool_call_id
        self.outlet.event(event)

    def begin(
        self, turn_id: str, ask: Callable[[Sequence[Question]], Awaitable[None]] = _nobody
    ) -> None:
        self.turn = LiveTurn(turn_id=turn_id, ask=ask)
        self.partial.clear()
        self.partial_of = 0

    def sub_agent(
        self, name: str, settings: Settings, call: ToolCall, delegate: Delegate | None
    ) -> "Context":
        return replace(
            self,
            agent=name,
            settings=settings,
            depth=self.depth + 1,
            above=(*self.above, Above(call=call, agent=self.agent)),
            root=self.root or self,
            delegate=delegate,
            least_care=self.care,
            meter=Meter(),
            partial=[],
        )

    def new_problems(self) -> list[str]:
        """Those that nobody was told of yet."""
        new, self.problems_told = self.problems[self.problems_told :], len(self.problems)
        return new

    @property
    def is_steered(self) -> bool:
        """Whether somebody has said something to this turn that its model has not got."""
        return not self.depth and self.steering.waits(self.turn_id)

    def acknowledge(self) -> None:
        """Tells which messages to this turn have reached the model."""
        for message_id in self.steering.acknowledge():
            self.emit("steer_taken", message_id=message_id)

    @property
    def parent_tool_call_id(self) -> str:
        """The call that gave this agent its task; empty for the session's own."""
        return self.above[-1]["call"]["id"] if self.above else ""

    @property
    def turn_id(self) -> str:
        return self.turn.turn_id

    @property
    def model(self) -> str:
        return self.settings.model or self.router.default_model()

    @property
    def care(self) -> Care:
        """How careful to be: what people change in a running session holds for every agent, and
        none is less careful than the one that it works for."""
        session = (self.root or self).settings
        own = (
            care_of(one.mode, one.confirm, fenced=self.permits.fenced)
            for one in (self.settings, session)
        )
        return more_careful(more_careful(*own), self.least_care)

    @property
    def session_mode(self) -> Mode | None:
        return (self.root or self).settings.mode

    def offers(self, name: str) -> bool:
        """Whether this agent may use the tool of that name."""
        if name == Delegate.name:
            return self.delegate is not None and self.depth < DELEGATION_DEPTH_MAX
        chosen = self.settings.tools
        return not chosen or name in chosen or name in _ALWAYS_OFFERED or name.startswith("mcp__")

    def tool(self, name: str) -> Tool | None:
        if not self.offers(name):
            return None
        return self.delegate if name == Delegate.name else self.toolbox.get(name)

    def tool_specs(self) -> list[ToolSpec]:
        offered = [spec for spec in self.toolbox.specs() if self.offers(spec.name)]
        return [self._own(spec) if spec.name == Delegate.name else spec for spec in offered]

    def _own(self, spec: ToolSpec) -> ToolSpec:
        """The toolbox has the session's sub-agents; an agent under it has others, or fewer."""
        own = self.delegate
        return spec if own is None else ToolSpec(own.name, own.description, own.parameters)
