"""A Yeaft agent's line in memory: the real edge on a real core, without a socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support import fresh_data
from tests.support.eventually import eventually
from trunkline.control.access.auth import Principal
from trunkline.control.core import Core
from trunkline.control.edges.yeaft_agent.connection import YeaftAgentLine
from trunkline.control.edges.yeaft_agent.host import YeaftAgentHost
from trunkline.control.sessions.records import NewMessage, NewSession
from trunkline.control.settings import Settings
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.wire.yeaft.agent import visitor_of

Json = dict[str, Any]


class MemoryLine(YeaftAgentLine):
    """Keeps what it would send."""

    def __init__(self, host: YeaftAgentHost, agent_id: str, **more: str) -> None:
        query = {"id": agent_id, "name": "builder", "workDir": "/srv/project", **more}
        super().__init__(host, visitor_of(query, chars_max=200, path_chars_max=4000))
        self.texts: list[str] = []
        self.close_code: int | None = None
        self.is_open = True
        self.opened()

    @property
    def transport(self) -> asyncio.Transport:
        """Of no address."""
        return asyncio.Transport()

    def send_all(self, messages: Iterable[bytes]) -> None:
        if self.is_open:
            self.texts += [one.decode() for one in messages]

    def close(self, code: int, reason: str) -> None:
        if self.is_open:
            self.close_code = code
            self._end()

    def hear(self, message: Json | str) -> None:
        """What the agent says, as the socket would hand it in."""
        try:
            self.take(message if isinstance(message, str) else json.dumps(message))
        except Exception as error:
            self.failed(error)

    def auth(self, secret: str) -> None:
        self.hear({"type": "auth", "tempId": self.sent[0]["tempId"], "secret": secret})

    async def register(self, secret: str) -> None:
        self.auth(secret)
        await self.until("registered")

    async def until_closed(self) -> int:
        async def look() -> int | None:
            return self.close_code

        code = await eventually(look)
        assert code is not None
        return code

    @property
    def sent(self) -> list[Json]:
        return [json.loads(text) for text in self.texts]

    def of_type(self, kind: str) -> list[Json]:
        return [one for one in self.sent if one["type"] == kind]

    async def until(self, kind: str, fits: Callable[[Json], bool] = lambda _one: True) -> Json:
        async def look() -> list[Json]:
            return [one for one in self.of_type(kind) if fits(one)]

        return (await eventually(look))[0]


class World:
    """One control plane without a door, its first user, and that user's agent on a line."""

    def __init__(
        self, core: Core, host: YeaftAgentHost, who: Principal, line: MemoryLine, secret: str
    ) -> None:
        self.core = core
        self.host = host
        self.who = who
        self.line = line
        self.secret = secret

    async def again(self) -> MemoryLine:
        """The line breaks, and the agent comes back; it has said nothing yet."""
        machine_id = self.machine_id
        self.line.close(1006, "")
        self.line = MemoryLine(self.host, machine_id)
        await self.line.register(self.secret)
        return self.line

    async def another(self) -> MemoryLine:
        """The line of another agent of the same user."""
        known, secret = await self.core.machine_secrets.issue_agent(self.who.user_id, "another")
        line = MemoryLine(self.host, known.machine_id)
        await line.register(secret)
        return line

    @property
    def machine_id(self) -> str:
        assert self.line.agent is not None
        return self.line.agent.machine.id

    async def session(self, *, ready: bool = True) -> str:
        session = await self.core.sessions.create(self.who, NewSession(machine_id=self.machine_id))
        await self.line.until(
            "create_conversation", lambda one: one["conversationId"] == session.id
        )
        if ready:
            self.line.hear({"type": "session_ready", "conversationId": session.id})
        return session.id

    async def say(self, session_id: str, text: str) -> str:
        return await self.core.sessions.send(self.who, session_id, NewMessage(message=text))

    async def turn(self) -> str:
        """A session with a turn at work."""
        session = await self.session()
        await self.say(session, "go")
        await self.line.until("send_message", lambda one: one["conversationId"] == session)
        return session

    async def events(self, session_id: str) -> list[Json]:
        await self.core.log.flushed()
        found = await self.core.sessions.events(self.who, session_id, 0, 1000)
        return [json.loads(one.data) for one in found]


@asynccontextmanager
async def world(data: Path, tuning: Tuning = DEFAULT, **settings: Any) -> AsyncIterator[World]:
    given: Json = {"rate_limit_per_minute": 0, **settings}
    fresh_data.copy_to(data)
    core = await Core.open(Settings(data=str(data), **given), "an-admin-token", tuning)
    try:
        who = await core.auth.load_first_user()
        host = YeaftAgentHost(core)
        known, secret = await core.machine_secrets.issue_agent(who.user_id, "builder")
        line = MemoryLine(host, known.machine_id)
        await line.register(secret)
        line.hear({"type": "agent_sync_complete"})
        made = World(core, host, who, line, secret)
        yield made
        made.line.close(1001, "")
    finally:
        await core.close()
