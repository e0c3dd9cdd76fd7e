"""What stands behind every Yeaft agent's line: secrets, records, and the watch over silent lines.

`YeaftAgentLine` turns frames into messages and calls here for everything that has to wait.
"""

import asyncio

import structlog

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.door.head import YEAFT_AGENT, Head
from trunkline.control.door.websocket import adopt
from trunkline.control.edges.yeaft_agent import questions
from trunkline.control.edges.yeaft_agent.agent import Agent
from trunkline.control.edges.yeaft_agent.connection import YeaftAgentLine
from trunkline.control.edges.yeaft_agent.records import YeaftRecords
from trunkline.control.errors import LimitReached, NotFound, Unauthorized
from trunkline.control.machines.secrets import Known
from trunkline.control.machines.telling import ENDED
from trunkline.control.tasks import Serial
from trunkline.wire.yeaft.agent import visitor_of
from trunkline.wire.yeaft.agent_talk import PROTOCOL
from trunkline.wire.yeaft.close_codes import CloseCode

_log = structlog.get_logger(__name__)

_QUERY = frozenset(("type", "id", "instanceId", "name", "workDir", "platform", "capabilities"))
_SILENCE_S = 180.0  # then a line is dead, close 4008


class YeaftAgentHost:
    """Everything that the lines share."""

    path = YEAFT_AGENT
    is_machines = True

    def __init__(self, core: Core) -> None:
        self.core = core
        self.lines: set[YeaftAgentLine] = set()
        self._agents: dict[str, Agent] = {}
        self._records = YeaftRecords(core, Serial(core.tasks))

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        """An upgrade request for `/ws/yeaft?type=agent`."""
        self.core.surprises.saw_query(PROTOCOL, head.query, _QUERY)
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
            agent = self._agents.get(machine.id) or await self._records.load(machine)
        if machine.core.state.status in ENDED:
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
            if agent.machine.line is None and agent.machine.core.state.status in ENDED:
                del self._agents[agent.machine.id]

    def say_goodbye(self) -> None:
        for line in list(self.lines):
            line.close(CloseCode.GOING_AWAY, "the control plane is going down")

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
