"""The Yeaft agent's edge: one line of one agent (docs/protocols/yeaft.md).

Messages come in as callbacks; output goes straight to the log: no coroutine, and `data` is read
only for what other protocols show of it. What waits (secrets, records) is in the host.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog

from trunkline import limits
from trunkline.control.edges.socket import Socket
from trunkline.control.edges.yeaft_agent.agent import Agent
from trunkline.control.edges.yeaft_agent.outside import Outside, is_answer
from trunkline.control.ids import may_be_ours, new_id
from trunkline.control.machines.machine import LineEnd
from trunkline.control.machines.tap import Tap
from trunkline.control.machines.traits import KINDS
from trunkline.control.surprises import LOOKED_AT_CHARS_MAX
from trunkline.wire.commands import Command
from trunkline.wire.errors import CloseLine, Malformed
from trunkline.wire.yeaft import codec, fields, names, plain
from trunkline.wire.yeaft.agent import Handshake, Visitor, capabilities_of
from trunkline.wire.yeaft.agent_talk import PROTOCOL
from trunkline.wire.yeaft.catalog import SESSION_LIST
from trunkline.wire.yeaft.close_codes import CloseCode
from trunkline.wire.yeaft.inward_state import READY
from trunkline.wire.yeaft.messages import (
    AgentStatus,
    ConversationList,
    Envelope,
    ErrorMessage,
    Registered,
)
from trunkline.wire.yeaft.provider_events import unknown_type

if TYPE_CHECKING:
    from trunkline.control.edges.yeaft_agent.host import YeaftAgentHost

_CAPABILITY_CHARS_MAX = 60
_CAPABILITIES_MAX = 100  # that one agent names

_log = structlog.get_logger(__name__)

_RESERVED = frozenset(("seq", "batch", "query", "steer", "fork", "rules"))
"""Capabilities of another wire, which mean something to the router."""
_OF_CONVERSATIONS = frozenset(
    (
        "claude_output",
        "ask_user_question",
        "turn_completed",
        "execution_cancelled",
        "conversation_closed",
        "conversation_deleted",
        "session_id_update",
        *READY,
    )
)
"""Never without a conversation of ours; other messages may be of something the agent has."""
_OF_NO_CONVERSATION = names.SERVERS | {"agent_sync_complete", "agent_status", "conversation_list"}


class YeaftAgentLine(Socket):
    """One WebSocket of one agent. A `Line` once it has registered."""

    capabilities: frozenset[str] = frozenset()
    traits = KINDS["yeaft"]

    def __init__(self, host: "YeaftAgentHost", visitor: Visitor) -> None:
        super().__init__(
            bytes_max=limits.FRAME_BYTES_MAX,
            early_bytes_max=limits.AUTH_FRAME_BYTES_MAX,
            per_minute=host.core.settings.rate_limit_per_minute,
            unsent_max=host.core.tuning.line_unsent_bytes_max,
            now=host.core.now,
        )
        self.visitor = visitor
        self.agent: Agent | None = None
        self._host = host
        self._core = host.core
        self._handshake = Handshake(new_id())
        self._early: list[str] = []
        self._deadline: asyncio.TimerHandle | None = None
        self._outside: Outside
        self._refused: dict[str, None] = {}

    def opened(self) -> None:
        self._host.lines.add(self)
        wait_s = self._core.tuning.yeaft_auth_timeout_s
        self._await(wait_s, self.refuse, "no auth in time")
        self.send(self._handshake.challenge())

    def take(self, text: str) -> None:
        if self.agent is not None:
            self._take(self.agent, text)
            return
        self.count()
        if self._handshake.auth is None:
            auth = self._handshake.take(text)
            self._core.surprises.saw_fields(PROTOCOL, text, fields.OF_AGENTS)
            named = capabilities_of(
                auth.capabilities,
                count_max=_CAPABILITIES_MAX,
                chars_max=_CAPABILITY_CHARS_MAX,
            )
            self.capabilities = named - _RESERVED
            # It came in time; how long the check takes is not the agent's fault.
            self._stop_waiting()
            self._host.authenticate(self, auth.secret)
        elif len(self._early) < limits.AUTH_QUEUE_MAX:
            self._early.append(text)
        else:
            raise CloseLine(CloseCode.REFUSED, "too many messages before registration")

    def tapped(self) -> Tap | None:
        return None if self.agent is None else self.agent.machine.tap

    def take_all(self, texts: list[str]) -> None:
        """Nearly all are plain pieces of text, and those go straight to the log."""
        if self.agent is None:
            super().take_all(texts)
            return
        logs, by_head = self.agent.machine.logs, self.agent.talk.by_head
        append = self._core.log.append
        head, to_line = plain.HEAD, plain.to_line
        count = 0
        for text in texts:
            state = by_head.get(text[head])
            if (
                state is not None
                and not state.is_watched
                and (log := logs.get(state.conversation_id)) is not None
                and (line := to_line(state, text)) is not None
            ):
                count += 1
                if log.pending:
                    log.pending.append(line)  # the log knows already that this session has news
                else:
                    append(log, line)
                continue
            if self._take_piece(self.agent, text):
                count += 1
                continue
            super().take_all([text])
            if not self.is_open:
                break
        self._core.metrics.events_received += count

    def _take_piece(self, agent: Agent, text: str) -> bool:
        """A piece of text in a form of the agent's own. False: it is anything else."""
        piece = plain.read(text)
        if piece is None:
            return False
        state = agent.talk.stream(piece.conversation_id)
        log = agent.machine.logs.get(piece.conversation_id)
        if state is None or state.is_watched or log is None:
            return False
        self._core.log.append(log, plain.to_whole_line(state, piece, text))
        return True

    def go_live(self, agent: Agent) -> None:
        """The machine is attached to this line already."""
        self.agent = agent
        self.known()
        agent.line_up(self, self.visitor.work_dir)
        self._outside = Outside(self._core, agent.machine, lambda name: self._refuse(agent, name))
        self._core.machines.heartbeat(agent.machine, None, self._about())
        self._await(limits.RESUME_GRACE_S, self._synced)  # not every agent says when it is
        self.send(codec.encode(Registered(agent_id=agent.machine.id)))
        early, self._early = self._early, []
        self.take_all(early)

    def _about(self) -> dict[str, object]:
        """What the agent says of itself, for lists of machines."""
        version = self._handshake.auth.version if self._handshake.auth is not None else None
        texts = {
            "name": self.visitor.name,
            "workDir": self.visitor.work_dir,
            "platform": self.visitor.platform,
            "version": version[: limits.NAME_CHARS_MAX] if isinstance(version, str) else "",
        }
        about: dict[str, object] = {name: text for name, text in texts.items() if text}
        commands = None if self.agent is None else self.agent.slash_commands
        if commands is not None:  # and be it that there are none any more
            about |= {"slashCommands": commands.names}
            about |= {"slashCommandDescriptions": commands.descriptions}
        return about

    def _synced(self) -> None:
        """The agent has said what it had to say first."""
        self._stop_waiting()
        if self.is_open and self.agent is not None:
            self.agent.synced()

    def _take(self, agent: Agent, text: str) -> None:
        try:
            envelope = codec.decode(text)
        except Malformed:
            self.count()  # what an agent says is slowed by back-pressure; this is not worth that
            raise
        name = envelope.type
        is_known = names.canonical(name) in names.RELEASED
        if len(text) <= LOOKED_AT_CHARS_MAX:
            if is_known:
                self._core.surprises.saw_fields(PROTOCOL, text, fields.OF_AGENTS)
            if (kind := unknown_type(envelope)) is not None:
                self._core.surprises.saw(PROTOCOL, f"output {kind}")
        if name in _OF_NO_CONVERSATION:
            self._of_agent(agent, name, text)
            return
        if name == "slash_commands_update":
            self._note_commands(agent, text)
        elif not is_known and name != SESSION_LIST:
            self._core.surprises.saw(PROTOCOL, f"message {name}")
        session_id = _conversation_of(envelope)
        log = agent.machine.logs.get(session_id) if session_id is not None else None
        if log is None:
            named = envelope.conversation_id == session_id
            if session_id is not None and (
                name in _OF_CONVERSATIONS or (named and may_be_ours(session_id))
            ):
                # Whether there is such a conversation elsewhere is not to be learned here.
                self._refuse(agent, session_id)
            else:
                self._outside.take(session_id, text)
            return
        if is_answer(name, text):
            self._outside.pass_on(text)
            return
        agent.heard(log.session_id, envelope, text)

    def _of_agent(self, agent: Agent, name: str, text: str) -> None:
        match name:
            case "agent_sync_complete":
                self._synced()
            case "agent_status":
                self._status(agent, text)
            case "conversation_list":
                self._listed(agent, text)
            case _:
                raise Malformed(f"{name!r} is the server's to say")

    def _status(self, agent: Agent, text: str) -> None:
        """The agent's heartbeat, `idle` or `busy`."""
        state = codec.read(text, AgentStatus).state
        health: dict[str, object] = {"state": state[:40] if isinstance(state, str) else None}
        if len(text) <= limits.HEALTH_BYTES_MAX:
            health = {**codec.fields(text, without=("type", "agentId")), **health}
        self._core.machines.heartbeat(agent.machine, None, {**self._about(), **health})

    def _note_commands(self, agent: Agent, text: str) -> None:
        """Kept for clients that come later; those that are here get the message itself."""
        agent.note_commands(text)
        said = {**agent.machine.health, **self._about()}
        self._core.machines.heartbeat(agent.machine, None, said)

    def _listed(self, agent: Agent, text: str) -> None:
        """What runs there. Sent often; what should not run any more is stopped once a line."""
        listed = codec.read(text, ConversationList).conversations
        ids = {one.id: one.processing for one in listed if isinstance(one.id, str)}
        strays = {one for one in ids if one not in agent.machine.logs and may_be_ours(one)}
        if strays and not agent.talk.state.has_listed:
            with agent.machine.input() as core:
                core.strays(strays)
        agent.listed({one: is_busy is True for one, is_busy in ids.items()})

    def _refuse(self, agent: Agent, session_id: str) -> None:
        """Said once for each id: a buffer that an agent kept may hold thousands of them."""
        if session_id in self._refused:
            return
        self._refused[session_id] = None
        if len(self._refused) > limits.YEAFT_REFUSED_IDS_MAX:
            del self._refused[next(iter(self._refused))]
        self.complain("SESSION_NOT_FOUND", "no such conversation on this machine", session_id)
        self._host.refused(agent, session_id)

    def complain(self, code: str, message: str, session_id: str | None = None) -> None:
        """One message was no good; the line lives on."""
        error = ErrorMessage(message=message, code=code)
        if session_id is not None:
            error.conversation_id = session_id[: limits.NAME_CHARS_MAX]
        self.send(codec.encode(error))

    def end(self, why: LineEnd) -> None:
        """All of these mean that it is not to come back by itself."""
        self.close(CloseCode.REFUSED, why.value)

    def deliver(self, command: Command) -> None:
        if self.agent is not None:
            self.agent.deliver(command)

    def acknowledge(self, acked: dict[str, int]) -> None:
        """The wire has no numbers."""

    def refuse(self, why: str, told: str = "") -> None:
        """The agent is not let in. `told`: what it hears, if not all of it."""
        note_refused(self.visitor, why)
        self.close(CloseCode.REFUSED, told or why)

    def failed(self, error: Exception) -> None:
        if isinstance(error, CloseLine) and self.agent is None:
            note_refused(self.visitor, error.reason)
        if not isinstance(error, Malformed):
            super().failed(error)
            return
        self._core.metrics.malformed += 1
        machine_id = self.agent.machine.id if self.agent is not None else None
        _log.warning("malformed message", machine=machine_id, problem=str(error))
        self.complain("INVALID_REQUEST", str(error))

    def ended(self) -> None:
        self._stop_waiting()
        if self.agent is not None:
            self.agent.line_down(self)
        self._host.ended(self)

    def _await(self, delay_s: float, call: Callable[..., None], *arguments: object) -> None:
        self._deadline = asyncio.get_running_loop().call_later(delay_s, call, *arguments)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def note_refused(visitor: Visitor, why: str) -> None:
    """Whoever set the agent up finds here what is wrong."""
    _log.warning("agent refused", reason=why, instance=visitor.instance, name=visitor.name)


def _conversation_of(envelope: Envelope) -> str | None:
    """The conversation that a message names. `sessionId` alone may name one in messages that we
    know; in others it may be the name of anything that the agent has of its own."""
    is_known = names.canonical(envelope.type) in names.RELEASED
    for named in (envelope.conversation_id, envelope.session_id if is_known else None):
        if isinstance(named, str) and named:
            return named
    if envelope.type in _OF_CONVERSATIONS:
        raise Malformed("conversationId is missing, or is no text")
    return None
