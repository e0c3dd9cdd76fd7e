"""What records and log say of a Yeaft agent that is not in memory: its conversations, what it was
at, and what it has asked.

`YeaftAgentHost` asks when an agent connects; nothing here is written.
"""

from typing import Any

import msgspec
from sqlalchemy import select

from trunkline.control.core import Core
from trunkline.control.edges.yeaft_agent import questions
from trunkline.control.edges.yeaft_agent.agent import Agent
from trunkline.control.machines.machine import Machine
from trunkline.control.sessions.state import Turn
from trunkline.control.store.among import among
from trunkline.control.store.schema import machines, sessions, users
from trunkline.control.tasks import Serial
from trunkline.wire import events
from trunkline.wire.commands import Say
from trunkline.wire.yeaft.agent import SlashCommands

_SESSIONS_AT_ONCE = 500
_RECALLED_EVENTS = 5_000  # of a turn that was active; what it said before is in the log only


class YeaftRecords:
    def __init__(self, core: Core, saving: Serial) -> None:
        self._core = core
        self._saving = saving

    async def load(self, machine: Machine) -> Agent:
        """An agent that nobody has asked for since the start."""
        known = await self.username(machine), self._saving, await self.slash_commands(machine)
        agent = Agent(self._core, machine, *known)
        for session_id, remote in (await self.remotes(list(machine.logs))).items():
            agent.talk.conversation(session_id).recall(remote)
        await questions.load(self._core, agent)
        for session_id, hosted in list(machine.core.state.sessions.items()):
            for turn in hosted.session.told[:1]:
                say = await self._core.turns.say(session_id, turn.id)
                if say is not None and session_id in machine.logs:
                    await self._recall(agent, say, turn, is_late=bool(hosted.session.late))
        return agent

    async def username(self, machine: Machine) -> str:
        query = select(users.c.name).where(users.c.id == machine.user_id)
        return str(await self._core.store.scalar(query) or "")

    async def slash_commands(self, machine: Machine) -> SlashCommands | None:
        """As it said them last."""
        query = select(machines.c.slash_commands).where(machines.c.id == machine.id)
        stored = await self._core.store.scalar(query)
        return None if stored is None else msgspec.convert(stored, SlashCommands)

    async def remotes(self, session_ids: list[str]) -> dict[str, Any]:
        """What is kept of each conversation."""
        found: dict[str, Any] = {}
        for start in range(0, len(session_ids), _SESSIONS_AT_ONCE):
            some = among(sessions.c.id, session_ids[start : start + _SESSIONS_AT_ONCE])
            rows = await self._core.store.all(select(sessions.c.id, sessions.c.remote).where(some))
            found.update((row.id, row.remote) for row in rows)
        return found

    async def _recall(self, agent: Agent, say: Say, turn: Turn, *, is_late: bool) -> None:
        """What the agent was at when we went down."""
        is_cancelling = turn.cancel is not None
        inward = agent.talk.recall(say, is_cancelling=is_cancelling, is_late=is_late)
        log = agent.machine.logs[say.session_id]
        first = await self._core.log.place_before(log, _RECALLED_EVENTS)
        async for page in self._core.log.pages(log, first, log.last_id):
            for _, line in page:
                event = events.read(line)
                if event is not None and event.turn_id == turn.id:
                    inward.recall(event)
