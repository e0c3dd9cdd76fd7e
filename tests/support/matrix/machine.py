"""A machine as the matrix drives it, and what the scripted ones have in common."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.eventually import eventually
from tests.support.matrix.json_socket import Json, JsonSocket
from tests.support.matrix.steps import Machine
from tests.support.matrix.story import Ask, Beat, Fail, Hold, Run, Say, Think


class MachineDriver(ABC):
    """One machine of one user, online once it is opened. It performs a story for each prompt."""

    kind: Machine
    machine_id: str

    @abstractmethod
    def plays(self, prompt: str, *story: Beat) -> None:
        """What it does with the message that contains this text."""

    @abstractmethod
    def answers_to(self, question: str) -> list[str]:
        """What it was given as answer to a question."""

    @abstractmethod
    def prompts(self, prompt: str) -> int:
        """How often it was given that message."""

    @abstractmethod
    async def cut(self) -> None:
        """Its line breaks; it lives on and keeps what it has to say."""

    @abstractmethod
    async def mend(self) -> None:
        """It is online again."""

    @abstractmethod
    async def close(self) -> None: ...

    async def answer_to(self, question: str) -> str:
        """The first answer, as soon as it has come."""

        async def look() -> list[str]:
            return self.answers_to(question)

        return (await eventually(look))[0]


@dataclass
class Performance:
    """One turn on a scripted machine."""

    session_id: str
    turn_id: str
    story: Sequence[Beat]
    said: str = ""
    calls: int = 0
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False


class ScriptedMachine(MachineDriver):
    """Performs its stories on one socket at a time; while that is away, it keeps its messages.

    A protocol says how a beat is told, and reads what comes in.
    """

    def __init__(self) -> None:
        self._stories: dict[str, tuple[Beat, ...]] = {}
        self._at_work: dict[str, Performance] = {}
        self._heard: list[str] = []
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._answers: list[tuple[str, str]] = []
        self._unsent: list[Json] = []
        self._socket: JsonSocket | None = None
        self._sending = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def _connect(self) -> JsonSocket:
        """A line that has been let in."""

    @abstractmethod
    async def tell_text(self, turn: Performance, text: str) -> None: ...

    @abstractmethod
    async def tell_thought(self, turn: Performance, thought: str) -> None: ...

    @abstractmethod
    async def tell_run(self, turn: Performance, call_id: str, run: Run) -> None: ...

    @abstractmethod
    async def ask(self, turn: Performance, request_id: str, ask: Ask) -> None: ...

    @abstractmethod
    async def tell_end(self, turn: Performance) -> None: ...

    @abstractmethod
    async def tell_failure(self, turn: Performance, problem: str) -> None: ...

    @abstractmethod
    async def tell_cancelled(self, turn: Performance) -> None: ...

    async def send(self, message: Json) -> None:
        """Now, or as soon as there is a line again; always in order."""
        async with self._sending:
            if self._socket is None:
                self._unsent.append(message)
            else:
                await self._socket.send(message)

    def begin(self, session_id: str, turn_id: str, text: str) -> None:
        """A prompt has come. One that comes again is known by its id, and counted."""
        self._heard.append(text)
        if turn_id in self._at_work:
            return
        story = next((self._stories[one] for one in self._stories if one in text), None)
        beats = (Fail(f"nothing to do with {text[:100]!r}"),) if story is None else story
        self._at_work[turn_id] = Performance(session_id, turn_id, beats)
        self.spawn(self._perform(self._at_work[turn_id]))

    def cancel(self, session_id: str) -> None:
        for turn in self._at_work.values():
            if turn.session_id == session_id and not turn.is_over:
                turn.cancelled.set()

    def answered(self, request_id: str, answer: str) -> None:
        waiting = self._waiting[request_id]
        if not waiting.done():
            waiting.set_result(answer)
        self._answers.append((request_id, answer))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _perform(self, turn: Performance) -> None:
        playing = asyncio.create_task(self._play(turn))
        cancelled = asyncio.create_task(turn.cancelled.wait())
        await asyncio.wait((playing, cancelled), return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            playing.cancel()
            await asyncio.wait((playing,))
            turn.is_over = True
            await self.tell_cancelled(turn)
        cancelled.cancel()

    async def _play(self, turn: Performance) -> None:
        for beat in turn.story:
            match beat:
                case Say(text):
                    turn.said += text
                    await self.tell_text(turn, text)
                case Think(thought):
                    await self.tell_thought(turn, thought)
                case Run():
                    turn.calls += 1
                    await self.tell_run(turn, f"call-{turn.calls}-{turn.turn_id}", beat)
                case Ask(question):
                    turn.calls += 1
                    request_id = f"{question} [{turn.calls} of {turn.turn_id}]"
                    self._waiting[request_id] = asyncio.get_running_loop().create_future()
                    await self.ask(turn, request_id, beat)
                    await self._waiting[request_id]
                case Hold(gate):
                    await gate.pass_through()
                case Fail(problem):
                    turn.is_over = True
                    await self.tell_failure(turn, problem)
                    return
        turn.is_over = True
        await self.tell_end(turn)

    def plays(self, prompt: str, *story: Beat) -> None:
        self._stories[prompt] = story

    def answers_to(self, question: str) -> list[str]:
        return [answer for asked, answer in self._answers if asked.startswith(question)]

    def prompts(self, prompt: str) -> int:
        return sum(prompt in text for text in self._heard)

    async def cut(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.drop()

    async def mend(self) -> None:
        socket = await self._connect()
        async with self._sending:
            for message in self._unsent:
                await socket.send(message)
            self._unsent = []
            self._socket = socket

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._socket is not None:
            await self._socket.leave()
