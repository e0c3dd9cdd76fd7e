"""Our side of ACP: what an agent may ask of us while it works, and what it tells us.

Files and terminals of the workspace, questions to a person, updates for the readers of the turn.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp import elicitation, permissions
from trunkline.execution.runtimes.acp.content import obj
from trunkline.execution.runtimes.acp.files import Files
from trunkline.execution.runtimes.acp.terminals import Terminals
from trunkline.execution.runtimes.acp.translator import Events, Translator
from trunkline.execution.runtimes.hosted.allowed_calls import AllowedCalls
from trunkline.execution.runtimes.hosted.turn import Permission, Turn

T = TypeVar("T")
QUESTIONS_MAX = 64  # of one agent, at once
CAPABILITIES: Json = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}},
    "plan": {},
}


class Client:
    """Serves one agent. Outside of a turn nobody is asked, and updates go nowhere."""

    def __init__(
        self,
        workspace: Path,
        env: Mapping[str, str],
        translator: Translator,
        allowed: AllowedCalls,
    ) -> None:
        self._translator = translator
        self._allowed = allowed
        self._files = Files(workspace)
        self._terminals = Terminals(self._files, env, self._printed)
        self.session_id = ""
        """The agent's name of its session with us, once it is open."""
        self.updates = 0
        """How many there were so far."""
        self._turn: Turn | None = None
        self._questions: set[asyncio.Task[Any]] = set()
        self._is_withdrawn = False
        self.stopped = asyncio.Event()
        """The agent said that the turn is over, as agents of the older generation do."""

    def begin(self, turn: Turn) -> None:
        self._turn = turn
        self._is_withdrawn = False
        self.stopped.clear()
        self._terminals.begin()
        self._translator.begin()

    def end(self, why: str) -> None:
        """Nothing is told of the turn any more."""
        self.withdraw()
        self._tell(self._translator.end(why))
        self._turn = None

    def withdraw(self) -> None:
        """Nobody answers questions of this turn any more: the agent is told so."""
        self._is_withdrawn = True
        for question in self._questions:
            question.cancel()

    def kill(self) -> None:
        """What runs for the agent ends, and nobody waits for it."""
        self.withdraw()
        self._terminals.kill_all()

    def end_commands(self) -> None:
        """Those of a turn that was cancelled, where the agent has not ended them."""
        self._terminals.kill_all(of_turn=True)

    async def close(self) -> None:
        self.withdraw()
        await self._terminals.close()

    def take(self, method: str, params: Any) -> None:
        """A notification. What it tells of another session (a helper that it has made for itself)
        is not said by this one."""
        named = obj(params).get("sessionId")
        if named is not None and self.session_id and named != self.session_id:
            return
        self.updates += 1
        told = self._translator.take(method, params)
        if self._turn is not None:
            self._tell(told)
            if self._translator.stopped is not None:
                self.stopped.set()

    async def answer(self, method: str, params: Json) -> Json:
        """A request. Raises ToolError, and NotImplementedError for what we do not know."""
        match method:
            case "session/request_permission":
                return await self._permit(params)
            case "elicitation/create":
                return await self._elicit(params)
            case "fs/read_text_file":
                return await asyncio.to_thread(self._files.read, params)
            case "fs/write_text_file":
                return await asyncio.to_thread(self._files.write, params)
            case "terminal/create":
                return await self._terminals.create(params)
            case "terminal/output":
                return await self._terminals.output(params)
            case "terminal/wait_for_exit":
                return await self._terminals.wait_for_exit(params)
            case "terminal/kill":
                return await self._terminals.kill(params)
            case "terminal/release":
                return await self._terminals.release(params)
            case _:
                raise NotImplementedError(method)

    async def _permit(self, params: Json) -> Json:
        turn = self._turn
        if turn is None or self._is_withdrawn or len(self._questions) >= QUESTIONS_MAX:
            return permissions.CANCELLED
        told, call = self._translator.asked(params)
        self._tell(told)
        options = permissions.read_options(params.get("options"))
        if call.shows.is_cut and turn.asks != "never":
            return permissions.chosen(options, Permission(allowed=False))
        same = (call.tool_name, permissions.same_by(call))
        permission = await self._answered(
            turn.permit(
                tool_name=call.tool_name,
                tool_input=permissions.shown_input(call),
                tool_call_id=call.id,
                message=f"May I use {call.tool_name}?" + (f" {call.title}" if call.title else ""),
                options=[one.name for one in options],
                is_allowed=same in self._allowed,
            )
        )
        if permission is None:
            return permissions.CANCELLED
        if same[1] and permissions.is_ours_to_remember(options, permission):
            self._allowed.add(*same)
            permission = msgspec.structs.replace(permission, scope="once")
        return permissions.chosen(options, permission)

    async def _elicit(self, params: Json) -> Json:
        """A question in words: what a form asks for, one after the other."""
        turn = self._turn
        if turn is None or self._is_withdrawn or len(self._questions) >= QUESTIONS_MAX:
            return elicitation.CANCELLED
        answer = await self._answered(elicitation.ask(params, turn.ask))
        return elicitation.CANCELLED if answer is None else answer

    async def _answered(self, question: Coroutine[Any, Any, T]) -> T | None:
        """None when it was withdrawn."""
        asking = asyncio.create_task(question)
        self._questions.add(asking)
        try:
            await asyncio.wait({asking})
        finally:
            asking.cancel()
            self._questions.discard(asking)
        return None if asking.cancelled() else asking.result()

    def _printed(self, terminal_id: str, piece: str) -> None:
        self._tell(self._translator.printed(terminal_id, piece))

    def _tell(self, events: Events) -> None:
        if self._turn is not None:
            for event in events:
                fields = dict(event)
                self._turn.emit(fields.pop("type"), **fields)
