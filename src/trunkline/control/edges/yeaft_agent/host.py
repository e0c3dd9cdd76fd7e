"""What stands behind every Yeaft agent's line: secrets, records, and the watch over silent lines.

`YeaftAgentLine` turns frames into messages and calls here for everything that has to wait.
"""

import asyncio

import structlog
from sqlalchemy import func, select

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.door.dispatch import YEAFT_AGENT
from trunkline.control.door.head import Head
from trunkline.control.door.websocket import adopt
from trunkline.control.edges.yeaft_agent import questions
from trunkline.control.edges.yeaft_agent.connection import YeaftAgentLine
from trunkline.control.edges.yeaft_agent.state import Agent, Conversation
from trunkline.control.errors import InvalidRequest, LimitReached, NotFound, Unauthorized
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.secrets import Known
from trunkline.control.sessions.turns import Turn, say
from trunkline.control.store import schema
from trunkline.control.tasks import Serial
from trunkline.wire import events
from trunkline.wire.yeaft.agent import visitor_of
from trunkline.wire.yeaft.close_codes import CloseCode
from trunkline.wire.yeaft.inward_state import Doubt

_log = structlog.get_logger(__name__)

_ENDED = ("failed", "terminated")
_SESSIONS_AT_ONCE = 500
_RECALLED_EVENTS = 5_000  # of a turn that was at work; what it said before is in the log only
_CANCELS_AMONG = 50_000  # entries of the audit log


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
        if not visitor.names:
            raise InvalidRequest("id is missing in the URL")
        if sum(1 for line in self.lines if line.agent is None) >= limits.UNKNOWN_SOCKETS_MAX:
            raise LimitReached("too many agents have not shown a secret yet")
        adopt(transport, head, YeaftAgentLine(self, visitor), limits.FRAME_BYTES_MAX)

    # --- Coming and going -------------------------------------------------------------------------

    def authenticate(self, line: YeaftAgentLine, secret: str) -> None:
        self.core.tasks.spawn(self._authenticate(line, secret), "yeaft agent authentication")

    async def _authenticate(self, line: YeaftAgentLine, secret: str) -> None:
        try:
            known = await self._known(line, secret)
            machine = await self.core.machines.get(known.machine_id)
            agent = self._agents.get(machine.id)
            if agent is None:
                agent = await self._load(Agent(machine))
                agent = self._agents.setdefault(machine.id, agent)  # another line may be faster
            # Nothing may come between these: the line is either not there or complete.
            if line.is_open:
                machine.running = set(machine.logs)
                self.core.machines.attach(machine, line, fresh=False)
                # What went out on an earlier line, and was not heard of, goes out again.
                machine.turns_sent.clear()
                line.go_live(agent)
        except Unauthorized as error:
            _log.warning("agent refused", reason=error.message)
            line.close(CloseCode.REFUSED, "authentication failed")
        except Exception:
            _log.exception("an agent could not be authenticated")
            line.close(CloseCode.INTERNAL_ERROR, "internal error")
        else:
            _log.info("agent is live", machine=machine.id, user=machine.user_id)

    async def _known(self, line: YeaftAgentLine, secret: str) -> Known:
        """Agents put their id into one field or another, and what they like into the rest."""
        if len(secret) > limits.API_KEY_CHARS_MAX:
            raise Unauthorized("the secret is too long to be one of ours")
        for name in line.visitor.names:
            try:
                return await self.core.machine_secrets.agent(name, secret)
            except Unauthorized:
                continue
        raise Unauthorized("no such agent, or not its secret")

    def ended(self, line: YeaftAgentLine) -> None:
        self.lines.discard(line)
        if line.agent is not None:
            self.core.machines.detach(line.agent.machine, line)

    def sweep(self) -> None:
        """Once a second: silent lines, turns that were ended here, questions without an answer."""
        now = asyncio.get_running_loop().time()
        for line in list(self.lines):
            if self.core.log.is_stalled:
                line.last_seen = now  # it is we who do not listen
            if now - line.last_seen > limits.YEAFT_SILENCE_S:
                line.close(CloseCode.SILENT, "no sign of life")
            else:
                line.sweep()
        for agent in list(self._agents.values()):
            agent.tidy()
            questions.sweep(self.core, agent)
            if agent.machine.line is None and agent.machine.state in _ENDED:
                del self._agents[agent.machine.id]

    def say_goodbye(self) -> None:
        for line in list(self.lines):
            line.close(CloseCode.GOING_AWAY, "the control plane is going down")

    # --- What was before this line ----------------------------------------------------------------

    async def _load(self, agent: Agent) -> Agent:
        """An agent that nobody has asked for since the start: from records and log."""
        machine = agent.machine
        sessions, users = schema.sessions, schema.users
        ids = list(machine.logs)
        async with self.core.store.read() as connection:
            name = await connection.scalar(
                select(users.c.name).where(users.c.id == machine.user_id)
            )
            for start in range(0, len(ids), _SESSIONS_AT_ONCE):
                some = ids[start : start + _SESSIONS_AT_ONCE]
                rows = await connection.execute(
                    select(sessions.c.id, sessions.c.remote).where(sessions.c.id.in_(some))
                )
                for row in rows:
                    agent.conversation(row.id).recall(machine.id, row.remote)
        agent.username = name or ""
        await questions.load(self.core, agent)
        open_turns = await self.core.turns.open_of(ids)
        cancels = await self._cancels(machine) if open_turns else {}
        for turn in open_turns:
            if agent.prompts.current(turn.session_id) is None and turn.session_id in machine.logs:
                is_cancelling = cancels.get(turn.session_id, 0) > turn.created_at
                await self._recall(agent, turn, is_cancelling=is_cancelling)
        return agent

    async def _recall(self, agent: Agent, turn: Turn, *, is_cancelling: bool) -> None:
        """The oldest turn is what the agent was at when we went down, if it ever got it; its
        record may not say so. What the agent says next is of that turn."""
        agent.prompts.add(say(turn, []))
        inward = agent.conversation(turn.session_id).inward
        inward.begin(turn.id, turn.message)
        inward.is_cancelling = is_cancelling
        if agent.machine.ends.owes(turn.session_id):
            inward.expect_late(Doubt.WORDS)
        log = agent.machine.logs[turn.session_id]
        first = max(0, log.last_id - _RECALLED_EVENTS)
        async for page in self.core.log.pages(log, first, log.last_id):
            for _, line in page:
                event = events.read(line)
                if event is not None and event.turn_id == turn.id:
                    inward.recall(event)

    async def _cancels(self, machine: Machine) -> dict[str, int]:
        """When each session was last told to stop its turn, as far as the newest entries say."""
        audit = schema.audit
        async with self.core.store.read() as connection:
            newest = await connection.scalar(select(func.max(audit.c.seq))) or 0
            rows = await connection.execute(
                select(audit.c.session_id, func.max(audit.c.at))
                .where(
                    audit.c.seq > newest - _CANCELS_AMONG,
                    audit.c.org_id == machine.org_id,
                    audit.c.event == "session.cancel",
                )
                .group_by(audit.c.session_id)
            )
            return {session_id: at for session_id, at in rows if session_id in machine.logs}

    def synced(self, line: YeaftAgentLine, agent: Agent) -> None:
        """The agent has sent what it had kept: what it knows nothing of goes out again."""
        for at_work in agent.prompts.at_work():
            agent.conversation(at_work.session_id).inward.came_back()
        self.core.machines.delivery.resumed(agent.machine, line)
        self.core.tasks.spawn(self._redeliver(line, agent), "yeaft agent synced")

    async def _redeliver(self, line: YeaftAgentLine, agent: Agent) -> None:
        for turn in await self.core.turns.open_of(list(agent.machine.logs)):
            inward = agent.conversation(turn.session_id).inward
            is_busy = turn.session_id in line.processing
            if inward.turn_id == turn.id and (is_busy or inward.has_spoken or inward.is_cancelling):
                line.begun.append(turn)
        heard = [turn.id for turn in line.begun]
        if line.has_listed:
            await self._end_lost(line, agent)
        if agent.machine.line is line:
            agent.machine.turns_sent.update(heard)  # their records may not say it yet
            await self.core.recovery.redeliver(agent.machine, heard)

    def listed(self, line: YeaftAgentLine, agent: Agent) -> None:
        """Deployed agents may say what they are at only after they have said that they are done
        with what they had to say first."""
        self.core.tasks.spawn(self._end_lost(line, agent), "yeaft agent listed")

    async def _end_lost(self, line: YeaftAgentLine, agent: Agent) -> None:
        """What the agent had begun and is not at any more was lost with its program. It is at what
        it speaks of on this line, whether its list says so or not."""
        begun, line.begun = line.begun, []
        for turn in begun:
            inward = agent.conversation(turn.session_id).inward
            is_silent = inward.turn_id == turn.id and inward.is_silent
            if is_silent and turn.session_id not in line.processing:
                await self._lost(agent, turn, is_cancelled=inward.is_cancelling)

    async def _lost(self, agent: Agent, turn: Turn, *, is_cancelled: bool) -> None:
        """The agent had begun it, has said what it had kept, and is not at it any more."""
        machine, finish = agent.machine, self.core.lifecycle.finish
        if is_cancelled:
            await finish(machine, turn.session_id, "cancelled", turn.id, cancelled=True)
            return
        await finish(
            machine,
            turn.session_id,
            "failed",
            turn.id,
            error="the agent was restarted in the middle of this turn",
            code="MACHINE_RESTARTED",
        )

    # --- Records ----------------------------------------------------------------------------------

    def remember(self, agent: Agent, conversation: Conversation) -> None:
        """How the agent calls a conversation, and how it speaks: for the time after a restart."""
        remote = conversation.remote(agent.machine.id)
        if remote != conversation.saved:
            conversation.saved = remote
            work = self.core.session_records.update(conversation.session_id, remote=remote)
            self._saving.add(work, "yeaft conversation record")

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
