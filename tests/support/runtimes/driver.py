"""A runtime under test: what its sessions are made with, how its model makes it do things, and
where its processes are. The shared suite and the matrix know a runtime by this alone."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.support.matrix.story import Ask, Beat, Fail, Hold, Run, Say, Think
from tests.support.model_server import Failure, Gate, ModelRequest, ModelServer, ToolUse, Turn
from tests.support.node import MODEL, Node, children_of, command_of

Json = dict[str, Any]

SESSION = "session process"
"""The victim that every runtime has; others are its own programs."""

TRIES = 12
"""How often at most a program asks a model that fails."""


class RuntimeDriver(ABC):
    name: str
    """Its row in docs/guide/runtimes.md."""
    runtime_type: str
    tool_name: str
    """What its events call the tool that runs a command."""
    programs: tuple[str, ...] = ()
    """What must be installed for it."""
    daemon = "trunkline.execution.main"
    """The module that is its machine's daemon."""
    model = MODEL
    other_model = "gpt-other"
    is_slow = False
    """Whether what its sessions share takes minutes to come up on a busy machine."""
    victims: tuple[str, ...] = (SESSION,)
    """What can be killed in the middle of a turn."""

    hangs_up = True
    """Whether a turn that is cancelled closes its request to the model at once, and not when the
    next piece comes."""
    forgets_cancelled = False
    """Whether the model is not told later what was said in a turn that was cancelled."""
    waits = 1
    """How often a test waits for what it waits for."""

    def agent(self) -> Json:
        """The `agent_config` of a session that asks nobody."""
        return {"model": self.model, "confirm": "never"}

    def addresses(self, model: ModelServer) -> dict[str, str]:
        """Providers that it needs a key of, beside OpenAI and Anthropic, and where they are."""
        return {}

    @abstractmethod
    def shell(self, command: str) -> ToolUse:
        """The model's call of its tool that runs a command."""

    def question(self, ask: Ask) -> ToolUse:
        """The model's call of its tool that asks the person."""
        raise NotImplementedError(f"{self.name} has no tool that asks")

    def told(self, problem: str) -> str:
        """The words for a failure of the model that its readers see."""
        return problem

    def is_turn(self, request: ModelRequest) -> bool:
        """False for what a program asks its model beside the conversation: titles, summaries."""
        return True

    def has_image(self, request: ModelRequest, data: bytes, workspace: Path) -> bool:
        """Whether that image is in what the model is asked."""
        raise NotImplementedError

    def victim(self, name: str, node: Node) -> psutil.Process:
        """That process of the one session that runs."""
        [process] = node.session_processes()
        if name == SESSION:
            return process
        return self.program(name, process, node)

    def program(self, name: str, session: psutil.Process, node: Node) -> psutil.Process:
        raise NotImplementedError(f"{self.name} has no {name}")

    def is_machines(self, child: psutil.Process) -> bool:
        """Whether that child of the daemon is the machine's own, and not a session's."""
        return "fork_server" in " ".join(command_of(child))

    def is_shared(self, child: psutil.Process) -> bool:
        """Whether that child of the daemon, with all below it, serves every session."""
        return False

    def turns(self, story: Sequence[Beat]) -> list[Turn]:
        """The answers of the model that make a story: one up to each tool call, and one for the
        rest."""
        turns: list[Turn] = []
        chunks: list[str | Gate] = []
        thinking = ""
        for beat in story:
            match beat:
                case Say(text):
                    chunks.append(text)
                case Think(thought):
                    thinking += thought
                case Hold(gate):
                    chunks.append(gate)
                case Run() | Ask():
                    call = (
                        self.shell(beat.command) if isinstance(beat, Run) else self.question(beat)
                    )
                    turns.append(Turn(chunks=chunks, thinking=thinking, tool_calls=[call]))
                    chunks, thinking = [], ""
                case Fail(problem):
                    failure = Failure(kind="bad_request", message=problem)
                    failing = Turn(chunks=chunks, failure=failure, failure_in_stream=bool(chunks))
                    return [*turns, *[failing] * TRIES]
        return [*turns, Turn(chunks=chunks, thinking=thinking)]


def child_with(argument: str, session: psutil.Process) -> psutil.Process:
    """The program that a session's process has started with that argument."""
    below = children_of(session, recursive=True)
    return next(one for one in below if argument in command_of(one))
