"""The matrix's other dimension: one machine with every runtime, each behind every client.

A session is made over REST, with its runtime; then the client picks it up in its own protocol.
"""

import contextlib
import re
from collections.abc import AsyncIterator
from itertools import count, product
from pathlib import Path

from tests.support.control import TestUser, running
from tests.support.matrix.client import ClientDriver, opened
from tests.support.matrix.myagent_client import MyAgentClient
from tests.support.matrix.rest_client import RestClient
from tests.support.matrix.seen import ENDS, Seen, View
from tests.support.matrix.steps import Client, Step
from tests.support.matrix.story import Beat
from tests.support.matrix.yeaft_client import YeaftClient
from tests.support.model_server import ModelRequest, ModelServer, Turn
from tests.support.node import MODEL, Talk, World
from tests.support.runtimes.acp import Copilot, OpenCode
from tests.support.runtimes.claude_code import ClaudeCode
from tests.support.runtimes.driver import RuntimeDriver
from tests.support.runtimes.installed import lend
from tests.support.runtimes.openclaw import OpenClaw

RUNTIMES: tuple[RuntimeDriver, ...] = (ClaudeCode(), OpenCode(), Copilot(), OpenClaw())
"""Besides SemiGraph, which is the execution plane of the other matrix."""

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "runtimes.md"
_ACP = "none of the presets was seen to ask one"
ABSENT: dict[tuple[str, Step], str] = {
    ("opencode", Step.QUESTION): _ACP,
    ("Copilot", Step.QUESTION): _ACP,
}
"""By runtime, the step that it cannot take, with the page's words for the reason."""


class _LaterMyAgent(MyAgentClient):
    """Picks up a session by what has happened in it."""

    async def follow(self, session_id: str) -> None:
        await self._send("user.reconnect", session_id, content={"last_seq": 0})
        await self.view(session_id).first(*ENDS)


_CLIENTS: dict[Client, type[ClientDriver]] = {
    Client.REST: RestClient,
    Client.MYAGENT: _LaterMyAgent,
    Client.YEAFT_WEB: YeaftClient,
}
CELLS = list(product(Client, RUNTIMES))


class Cell:
    """A client at a session of a runtime, and words that no other turn has."""

    def __init__(
        self,
        model: ModelServer,
        client: ClientDriver,
        runtime: RuntimeDriver,
        session: str,
        workspace: Path,
    ) -> None:
        self.workspace = workspace
        self.client = client
        self.runtime = runtime
        self.session = session
        self._model = model
        self._ended = 0

    @property
    def view(self) -> View:
        return self.client.view(self.session)

    async def say(self, *story: Beat) -> str:
        """Says something that the runtime answers with this story."""
        prompt = f"Matrix, prompt {next(_numbers)}."

        def is_wanted(request: ModelRequest) -> bool:
            newest = _PROMPT.findall(request.prompt)[-1:]
            return newest == [prompt] and self.runtime.is_turn(request)

        self._model.when(is_wanted, *self.runtime.turns(story))
        self._ended = len(self.view.of(*ENDS))
        await self.client.say(self.session, prompt)
        return prompt

    async def ask_first(self) -> None:
        """From now on a person is asked before what can change something."""
        careful = {"confirm": "dangerous"}
        await self.client.user.ok("PATCH", f"/sessions/{self.session}/config", careful)

    async def end(self) -> Seen:
        """How the turn ended that was begun last."""
        return await self.view.end(number=self._ended + 1)


_numbers = count(1)
_PROMPT = re.compile(r"Matrix, prompt \d+\.")


class RuntimesWorld:
    """A person whose one machine has every runtime."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def user(self) -> TestUser:
        return self._world.user

    @contextlib.asynccontextmanager
    async def cell(self, kind: Client, runtime: RuntimeDriver) -> AsyncIterator[Cell]:
        session = await self.user.session(
            machine_id=self._world.node.machine_id,
            runtime_type=runtime.runtime_type,
            agent_config=runtime.agent(),
        )
        try:
            await self._warm(session, runtime)
            async with opened(_CLIENTS[kind](self.user)) as client:
                await client.follow(session)
                view = client.view(session)
                await view.until(lambda seen: "Hello." in seen.text(), "what was said before")
                workspace = self._world.node.workspace
                if kind is not Client.YEAFT_WEB:  # whose history has no ends
                    await view.first(*ENDS)
                yield Cell(self._world.model, client, runtime, session, workspace)
        finally:
            await self.user.ok("DELETE", f"/sessions/{session}")

    async def _warm(self, session: str, runtime: RuntimeDriver) -> None:
        """A first turn over REST: what a client picks up has begun."""
        prompt = f"Matrix, prompt {next(_numbers)}."
        self._world.model.when(
            lambda one: prompt in one.prompt and runtime.is_turn(one), Turn(text="Hello.")
        )
        async with Talk(self.user, session) as talk:
            turn_id = await talk.say(prompt)
            for _ in range(runtime.waits - 1):
                with contextlib.suppress(AssertionError):
                    await talk.end_of(turn_id)
            assert (await talk.end_of(turn_id))["content"] == "Hello."

    def later(self, kind: Client) -> contextlib.AbstractAsyncContextManager[ClientDriver]:
        return opened(_CLIENTS[kind](self.user))


@contextlib.asynccontextmanager
async def open_runtimes(folder: Path) -> AsyncIterator[RuntimesWorld]:
    async with (
        running(folder / "data", rate_limit_per_minute=0, default_model=MODEL) as control,
        ModelServer() as model,
    ):
        model.otherwise(lambda _: Turn(text="Something", tokens_in=0, tokens_out=0))
        lend(folder / "home")
        async with World(control, model, folder / "home") as world:
            yield RuntimesWorld(world)
