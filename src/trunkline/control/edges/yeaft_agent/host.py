"""What stands behind every Yeaft agent's line: secrets, records, and the watch over silent lines.

`YeaftAgentLine` turns frames into messages and calls here for everything that has to wait.
"""

import asyncio

import structlog
from sqlalchemy import select

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.door.head import YEAFT_AGENT, Head
from trunkline.control.door.websocket import adopt
from trunkline.control.edges.yeaft_agent import questions
from trunkline.control.edges.yeaft_agent.agent import Agent
from trunkline.control.edges.yeaft_agent.connection import YeaftAgentLine
from trunkline.control.errors import LimitReached, NotFound, Unauthorized
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.secrets import Known
from trunkline.control.machines.telling import ENDED
from trunkline.control.sessions.state import Turn
from trunkline.control.store import schema
from trunkline.control.store.among import among
from trunkline.control.tasks import Serial
from trunkline.wire import events
from trunkline.wire.commands import Say
from trunkline.wire.yeaft.agent import visitor_of
from trunkline.wire.yeaft.close_codes import CloseCode

_log = structlog.get_logger(__name__)

_SILENCE_S = 180.0  # then a line is dead, close 4008
_SESSIONS_AT_ONCE = 500
_RECALLED_EVENTS = 5_000  # of a turn that was at work; what it said before is in the log only


class YeaftAgentHost:
    """Everything that the lines share."""

    path = YEAFT_AGENT
    is_machines = True

    def __init__(self, core: Core) -> None:
        self.core = core
        self.lines: set[YeaftAgentLine] = set()
        self._agents: dict[str, Agent] = {}
        self._saving = Serial(core.tasks)

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        """An upgrade request for `/ws/yeaft?type=agent`."""
        visitor = visitor_of(
            head.query, chars_max=limits.NAME_CHARS_MAX, path_chars_max=limits.FILE_PATH_CHARS_MAX
        )
        adopt(transport, head, YeaftAgentLine(self, visitor), limits.FRAME_BYTES_MAX)

    def authenticate(self, line: YeaftAgentLine, secret: str) -> None:
        self.core.tasks.spawn(self._authenticate(line, secret), "yeaft agent authentication")

    async def _authenticate(self, line: YeaftAgentLine, secret: str) -> None:
        try:
            agent = await self._agent(line, secret)
            machine = agent.machine
            # Nothing may come between these: the line is either not there or complete.
            if line.is_open:
                self.core.connections.known(line.transport)
                self.core.machines.attach(machine, line, fresh=False)
                line.go_live(agent)
        except Unauthorized as error:
            line.refuse(error.message, "authentication failed")
        except LimitReached as error:
            line.refuse(error.message)
        except Exception:
            _log.exception("an agent could not be authenticated")
            line.close(CloseCode.INTERNAL_ERROR, "internal error")
        else:
            _log.info("agent is live", machine=machine.id, user=machine.user_id)

    async def _agent(self, line: YeaftAgentLine, secret: str) -> Agent:
        """The agent that has shown this secret, which is still good when this returns."""
        renewed = None
        while renewed != self._renewed:  # else it may have ended while the rest was read
            renewed = self._renewed
            known = await self._known(line, secret)
            machine = await self.core.machines.get(known.machine_id)
            agent = self._agents.get(machine.id) or await self._load(machine)
        if machine.core.state in ENDED:
            raise Unauthorized("this machine was given up")
        return self._agents.setdefault(machine.id, agent)  # another line may be faster

    @property
    def _renewed(self) -> tuple[int, int]:
        return self.core.machine_secrets.renewed, self.core.user_secrets.renewed

    async def _known(self, line: YeaftAgentLine, secret: str) -> Known:
        """By the secret alone: what an agent calls itself is free text. Its own secret is that
        agent's; its owner's lets in any number of them, each under a name of its own."""
        if len(secret) > limits.API_KEY_CHARS_MAX:
            raise Unauthorized("the secret is too long to be one of ours")
        known = await self.core.machine_secrets.by_agent_secret(secret)
        if known is not None:
            return known
        user_id = await self.core.user_secrets.find(secret)
        if user_id is None:
            raise Unauthorized("the secret is nobody's")
        visitor = line.visitor
        if not visitor.instance:
            raise Unauthorized("with a user's secret, instanceId or id has to name the agent")
        name = visitor.name or visitor.instance
        return await self.core.machine_secrets.instance(user_id, visitor.instance, name)

    def ended(self, line: YeaftAgentLine) -> None:
        self.lines.discard(line)
        if line.agent is not None:
            self.core.machines.detach(line.agent.machine, line)

    def sweep(self) -> None:
        """Once a second: silent lines, turns that were ended here, questions without an answer."""
        now = self.core.now()
        for line in list(self.lines):
            if self.core.log.stalled is not None:
                line.last_seen = now  # it is we who do not listen
            if now - line.last_seen > _SILENCE_S:
                line.close(CloseCode.SILENT, "no sign of life")
        for agent in list(self._agents.values()):
            try:
                agent.tick()
                questions.sweep(self.core, agent)
            except Exception:  # the others are not to suffer from it
                _log.exception("an agent could not be looked after", machine=agent.machine.id)
            if agent.machine.line is None and agent.machine.core.state in ENDED:
                del self._agents[agent.machine.id]

    def say_goodbye(self) -> None:
        for line in list(self.lines):
            line.close(CloseCode.GOING_AWAY, "the control plane is going down")

    async def _load(self, machine: Machine) -> Agent:
        """An agent that nobody has asked for since the start: from records and log."""
        sessions, users = schema.sessions, schema.users
        ids = list(machine.logs)
        async with self.core.store.read() as connection:
            name = await connection.scalar(
                select(users.c.name).where(users.c.id == machine.user_id)
            )
            agent = Agent(self.core, machine, name or "", self._saving)
            for start in range(0, len(ids), _SESSIONS_AT_ONCE):
                some = ids[start : start + _SESSIONS_AT_ONCE]
                rows = await connection.execute(
                    select(sessions.c.id, sessions.c.remote).where(among(sessions.c.id, some))
                )
                for row in rows:
                    agent.talk.conversation(row.id).recall(row.remote)
        await questions.load(self.core, agent)
        for session_id, hosted in list(machine.core.sessions.items()):
            for turn in hosted.session.state.told[:1]:
                say = await self.core.turns.say(session_id, turn.id)
                if say is not None and session_id in machine.logs:
                    is_late = bool(hosted.session.state.late)
                    await self._recall(agent, say, turn, is_late=is_late)
        return agent

    async def _recall(self, agent: Agent, say: Say, turn: Turn, *, is_late: bool) -> None:
        """What the agent was at when we went down."""
        is_cancelling = turn.cancel is not None
        inward = agent.talk.recall(say, is_cancelling=is_cancelling, is_late=is_late)
        log = agent.machine.logs[say.session_id]
        first = await self.core.log.place_before(log, _RECALLED_EVENTS)
        async for page in self.core.log.pages(log, first, log.last_id):
            for _, line in page:
                event = events.read(line)
                if event is not None and event.turn_id == turn.id:
                    inward.recall(event)

    def refused(self, agent: Agent, session_id: str) -> None:
        self.core.tasks.spawn(self._refused(agent, session_id), "yeaft refusal")

    async def _refused(self, agent: Agent, session_id: str) -> None:
        """What its user has elsewhere, or had, is no intrusion."""
        who = questions.owner_of(agent)
        _log.warning("conversation refused", session=session_id[:64], machine=agent.machine.id)
        try:
            await self.core.session_records.get(who, session_id)
        except NotFound as error:
            self.core.refusals.note(who, "yeaft", error)
