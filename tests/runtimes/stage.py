"""A control plane, a daemon and a scripted model: where the shared suite plays a runtime."""

import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import psutil

from tests.support.control import LocalControl, running
from tests.support.eventually import eventually
from tests.support.matrix.story import Beat, Say
from tests.support.model_server import ModelRequest, ModelServer, Turn
from tests.support.node import Node, Talk, World, children_of
from tests.support.runtimes.driver import RuntimeDriver
from tests.support.runtimes.installed import lend

Json = dict[str, Any]
T = TypeVar("T")

_WARM_WAITS = 5
_PROMPT = re.compile(r"This is prompt \d+\.")


class Stage:
    """One machine; the sessions of a test are gone when it ends."""

    def __init__(self, runtime: RuntimeDriver, world: World, control: LocalControl) -> None:
        self.runtime = runtime
        self.control = control
        self.model = world.model
        self.user = world.user
        self.node = world.node
        self._numbers = count(1)
        self._open = 0

    @contextlib.asynccontextmanager
    async def session(
        self, agent: Json | None = None, runtime: RuntimeDriver | None = None
    ) -> AsyncIterator["Played"]:
        """A session of this runtime, or of another on the same machine."""
        runtime = runtime or self.runtime
        session_id = await self.user.session(
            machine_id=self.node.machine_id,
            runtime_type=runtime.runtime_type,
            agent_config=runtime.agent() | (agent or {}),
        )
        self._open += 1
        try:
            async with Played(self, runtime, session_id) as talk:
                yield talk
        finally:
            self._open -= 1
            await self.user.ok("DELETE", f"/sessions/{session_id}")
        if not self._open:
            await self.until_idle()

    def prompt(self) -> str:
        """Words that nobody has said here."""
        return f"This is prompt {next(self._numbers)}."

    def requests(self, prompt: str, runtime: RuntimeDriver | None = None) -> list[ModelRequest]:
        """What the model was asked in the turn with that prompt."""
        is_turn = (runtime or self.runtime).is_turn
        return [one for one in self.model.requests if is_of(prompt, one) and is_turn(one)]

    def processes(self) -> list[psutil.Process]:
        """Of sessions: what is below the daemon and not the machine's."""
        daemon = psutil.Process(self.node.process.pid)
        children = children_of(daemon)
        machines = {one for one in children if self.runtime.is_machines(one)}
        for shared in filter(self.runtime.is_shared, children):
            machines |= {shared, *children_of(shared, recursive=True)}
        return [one for one in children_of(daemon, recursive=True) if one not in machines]

    async def until_idle(self) -> None:
        """No process of any session is left."""

        async def left() -> list[str]:
            return [str(one) for one in self.processes()]

        await eventually(left, lambda found: not found)


class Played(Talk):
    """A session whose runtime does as it is told."""

    def __init__(self, stage: Stage, runtime: RuntimeDriver, session_id: str) -> None:
        super().__init__(stage.user, session_id)
        self._stage = stage
        self._runtime = runtime

    async def begin(
        self, *story: Beat, turns: Callable[[list[Turn]], None] = lambda _: None, **fields: Any
    ) -> "Playing":
        """Says something, which is answered with this story; `turns` may change the answers."""
        prompt = self._stage.prompt()
        answers = self._runtime.turns(story)
        turns(answers)
        is_turn = self._runtime.is_turn
        self._stage.model.when(lambda one: is_of(prompt, one) and is_turn(one), *answers)
        return Playing(self, prompt, await self.user.say(self.id, prompt, **fields))

    async def play(self, *story: Beat, **fields: Any) -> "Playing":
        """The same, to its end."""
        playing = await self.begin(*story, **fields)
        await playing.end()
        return playing

    async def __aenter__(self) -> "Played":
        await super().__aenter__()
        return self

    async def patiently(self, wait: Callable[[], Awaitable[T]]) -> T:
        """As often as its runtime needs, which may have to start a large program first."""
        for _ in range(self._runtime.waits - 1):
            with contextlib.suppress(AssertionError):
                return await wait()
        return await wait()

    async def close(self) -> None:
        await self.user.ok("DELETE", f"/sessions/{self.id}")

    async def cancel(self) -> None:
        await self.user.ok("POST", f"/sessions/{self.id}/cancel", {})

    def model_asked(self, prompt: str) -> list[ModelRequest]:
        return self._stage.requests(prompt, self._runtime)


class Playing:
    """One turn of it."""

    def __init__(self, talk: Played, prompt: str, turn_id: str) -> None:
        self.talk = talk
        self.prompt = prompt
        self.turn_id = turn_id

    @property
    def requests(self) -> list[ModelRequest]:
        return self.talk.model_asked(self.prompt)

    async def end(self) -> Json:
        """The event that ended it; there is one."""
        return await self.talk.patiently(lambda: self.talk.end_of(self.turn_id))

    async def answer(self) -> str:
        """What was answered, when the turn ended well."""
        end = await self.end()
        assert end["type"] == "execution_complete", end
        return str(end["content"])

    async def until_said(self, text: str) -> None:
        """Some programs keep a space back until the next word."""
        text = text.rstrip()
        await self.talk.patiently(
            lambda: self.talk.reader.until(
                lambda _: text in self.talk.text(self.turn_id), f"the words {text!r}"
            )
        )

    async def until(self, kind: str) -> Json:
        """Its first event of that type."""
        await self.talk.patiently(
            lambda: self.talk.reader.until(lambda _: bool(self.of(kind)), f"event {kind!r}")
        )
        return self.of(kind)[0]

    def of(self, kind: str) -> list[Json]:
        return [one for one in self.talk.of(self.turn_id) if one["type"] == kind]

    def text(self) -> str:
        return self.talk.text(self.turn_id)


@contextlib.asynccontextmanager
async def open_stage(runtime: RuntimeDriver, folder: Path) -> AsyncIterator[Stage]:
    async with (
        running(folder / "data", rate_limit_per_minute=0, machine_away_s=60) as control,
        ModelServer() as model,
    ):
        model.otherwise(_aside)
        lend(folder / "home")
        world = World(control, model, folder / "home", daemon=runtime.daemon)
        await world.open()
        for provider, url in runtime.addresses(model).items():
            await world.lend_key(provider, url)
        try:
            stage = Stage(runtime, world, control)
            if runtime.is_slow:
                await _warm(stage)
            yield stage
        finally:
            await world.close()


async def _warm(stage: Stage) -> None:
    """A first turn, which has as long as several waits."""
    async with stage.session() as talk:
        turn = await talk.begin(Say("Hello."))
        for _ in range(_WARM_WAITS):
            with contextlib.suppress(AssertionError):
                await turn.end()
                return


def _aside(request: ModelRequest) -> Turn:
    """To what programs ask beside the conversation; it costs nothing."""
    return Turn(text="Something", tokens_in=0, tokens_out=0)


def is_of(prompt: str, request: ModelRequest) -> bool:
    """Whether that is the newest thing said: what was not answered may stand before it."""
    return _PROMPT.findall(request.prompt)[-1:] == [prompt]


async def second_machine(stage: Stage, home: Path) -> Node:
    """Another machine of the same user, with an empty home."""
    lend(home)
    return await Node(stage.user, home, daemon=stage.runtime.daemon).start()
