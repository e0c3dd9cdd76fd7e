"""What a runtime whose program is driven from Python has to offer: one conversation with it.

The host calls it, one turn at a time; it starts its program when it is first needed, and again
when that has died. It must not know the daemon's socket.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.llm.routes import Routes
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.permits import Permits
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.process.programs import run_process
from trunkline.execution.runtimes.hosted.state import SavedState
from trunkline.execution.runtimes.hosted.turn import Turn
from trunkline.execution.session import ipc
from trunkline.execution.texts import Excerpt


class Program(ABC):
    """Made when the session opens; nothing is started for it then."""

    @abstractmethod
    async def run(self, turn: Turn) -> str:
        """One turn to its end; returns the whole answer. Raises TurnError.

        Cancelled when the turn is: it then interrupts its program, so that the conversation can go
        on, and raises CancelledError within `limits.CANCEL_GRACE_S`.
        """

    def configure(self, settings: Settings, patch: Json) -> None:  # noqa: B027 (may have none)
        """New settings, from the next model call on. `patch`: what was changed, also names that
        only this runtime knows."""

    def abort(self) -> None:  # noqa: B027 (may have no program to end)
        """Kills the program, which did not stop; the next turn starts it again."""

    async def close(self) -> None:  # noqa: B027 (may have no program to end)
        """Ends the program, in order."""


class Emit(Protocol):
    def __call__(self, kind: str, /, **fields: Any) -> None: ...


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What a program is made of."""

    start: ipc.Start
    settings: Settings
    permits: Permits
    workspace: Path
    folder: Path
    """The session's own."""
    env: Mapping[str, str]
    """Without anybody's secrets; keys are in `start`."""
    control: ControlPlane
    state: SavedState
    emit: Emit
    """An event of the session that belongs to no turn."""
    flush: Callable[[], Awaitable[None]]
    """Waits while the daemon does not read: a program that floods us is read no faster."""
    problems: list[str]
    """What the session has to do without, for people: grows while it is made."""

    def access(self, provider: str) -> dict[str, str]:
        """The key and the address of a provider of models, as the SDKs call them; what there is
        not is left out."""
        url = Routes(self.start.api_keys, self.start.llm_config, self.env).base_url(provider)
        given = {"api_key": self.start.api_keys.get(provider, ""), "base_url": url}
        return {name: value for name, value in given.items() if value}

    async def shell(self, command: str) -> str:
        """What a command prints, in the workspace; all that it started ends with it, or with the
        turn. Without anybody's keys."""
        printed = Excerpt(limits.TOOL_RESULT_CHARS_MAX)
        await run_process(
            ["sh", "-c", command],
            cwd=self.workspace,
            env=scrubbed(self.env, secrets=self.start.api_keys.values()),
            timeout_s=self.settings.command_timeout_seconds_max,
            take=printed.add,
        )
        return str(printed)


MakeProgram = Callable[[Opening], Program]
