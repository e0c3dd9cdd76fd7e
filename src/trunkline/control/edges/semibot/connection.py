"""The Semibot edge: an execution plane's line (docs/protocols/semibot.md).

Frames come in as callbacks and, once live, events go straight to the log: no coroutine, no copy
of what is already text. Everything that waits (tokens, requests) runs beside that path.
"""

import asyncio
from typing import TYPE_CHECKING

import msgspec
import structlog
from msgspec import UNSET

from trunkline import limits
from trunkline.control.access.auth import VmClaims
from trunkline.control.edges.semibot.commands import to_wire
from trunkline.control.edges.semibot.numbers import is_new
from trunkline.control.edges.semibot.paced import PacedSocket
from trunkline.control.log import events
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.machine import LineEnd, Machine
from trunkline.control.machines.tap import Tap
from trunkline.control.machines.traits import Traits
from trunkline.wire.commands import Command
from trunkline.wire.errors import Malformed
from trunkline.wire.semibot.close_codes import CloseCode
from trunkline.wire.semibot.codec import Unknown, decode_uplink
from trunkline.wire.semibot.connection import NO_CAPABILITIES, Connection
from trunkline.wire.semibot.deployed import DEPLOYED, DOCUMENTED, MEMORY
from trunkline.wire.semibot.deployed import FRAME_BYTES_MAX as DEPLOYED_FRAME_BYTES_MAX
from trunkline.wire.semibot.fitting import frame_of
from trunkline.wire.semibot.messages import (
    Ack,
    Auth,
    Batch,
    BatchedEvent,
    Downlink,
    Error,
    ErrorBody,
    FireAndForget,
    Heartbeat,
    QueryResult,
    Request,
    Response,
    Resume,
    SseEvent,
    StartSession,
    Uplink,
)

if TYPE_CHECKING:
    from trunkline.control.edges.semibot.host import VmHost

_log = structlog.get_logger(__name__)

_PEACEFUL = (CloseCode.OK, CloseCode.GOING_AWAY)
_CODES = {
    LineEnd.REVOKED: CloseCode.AUTH_FAILED,
    LineEnd.RENEWED: CloseCode.AUTH_FAILED,
    LineEnd.TERMINATED: CloseCode.NO_ACTIVE_VM,
    LineEnd.REPLACED: CloseCode.REPLACED,
    LineEnd.STOPPED: CloseCode.GOING_AWAY,
}


class VmLine(PacedSocket):
    """One WebSocket of one execution plane."""

    __slots__ = (
        "_auth_deadline",
        "_connection",
        "_host",
        "_log",
        "_logs",
        "_metrics",
        "_traits",
        "capabilities",
        "claims",
        "dialect",
        "has_empty_ticket",
        "machine",
        "refusal",
        "ticket",
        "user_id",
    )
    internal_error = CloseCode.INTERNAL_ERROR

    def __init__(self, host: "VmHost", user_id: str, ticket: str | None) -> None:
        """`ticket`: empty for one that was named and left empty."""
        super().__init__(
            ahead_max=host.tuning.line_ahead_bytes_max,
            bytes_max=limits.FRAME_BYTES_MAX,
            early_bytes_max=limits.AUTH_FRAME_BYTES_MAX,
            per_minute=0,  # the connection counts
            unsent_max=host.tuning.line_unsent_bytes_max,
            now=host.now,
        )
        self.user_id = user_id
        self.ticket = ticket or None
        self.machine: Machine | None = None
        self.claims: VmClaims | None = None
        """What the newest token says that this line was opened with, or given since."""
        self.capabilities = NO_CAPABILITIES
        self.dialect: str | None = None
        """Of its machine's record: `documented`, `deployed`, or not known."""
        self.has_empty_ticket = ticket == ""
        self.refusal: str | None = None
        """Why it is not let in, for the operator: the machine is told less."""
        self._host = host
        self._connection = Connection(per_minute=host.rate_limit, early_max=limits.AUTH_QUEUE_MAX)
        self._logs: dict[str, SessionLog] = {}
        self._auth_deadline: asyncio.TimerHandle | None = None
        self._traits = Traits()
        self._log = host.log
        self._metrics = host.metrics

    def opened(self) -> None:
        self._host.lines.add(self)
        loop = asyncio.get_running_loop()
        self._auth_deadline = loop.call_later(
            self._host.tuning.auth_timeout_s, self.close, CloseCode.AUTH_FAILED, "no auth in time"
        )

    def take(self, text: str) -> None:
        # One frame a token is the deployed daemon's way, and the rate of the document is not made
        # for that.
        is_paced = self.dialect == DEPLOYED
        message = self._connection.receive(text, self._now(), self._is_busy if is_paced else None)
        if message is not None:
            self._dispatch(message, text)
        if self.dialect == DEPLOYED:
            self.ahead_by(len(text))

    def tapped(self) -> Tap | None:
        return None if self.machine is None else self.machine.tap

    def wait_for_log(self) -> None:
        self._host.catch_up(self)

    def take_all(self, texts: list[str]) -> None:
        """The messages that one read of the socket brought, in one tight loop.

        Nearly all are events with nothing special about them, and those go straight to the log.
        """
        if not self._connection.is_unlimited:
            super().take_all(texts)
            return
        logs, append = self._logs, self._log.append
        streamed, escaped = events.STREAMED, events.ESCAPED
        another_type, behind = events.ANOTHER_TYPE
        plain = 0
        for text in texts:
            try:
                message = decode_uplink(text)
                if type(message) is not SseEvent:
                    self._dispatch(message, text)
                    if not self.is_open:
                        break
                    continue
                plain += 1
                log, data = logs.get(message.session_id), message.data
                if (
                    log is None
                    or message.seq is not None
                    or log.is_awaited
                    or type(data) is not str
                    or not data.startswith(streamed)
                    or data.find(another_type, behind) >= 0
                    or escaped in data
                ):
                    self._single(message, text)
                elif log.pending:
                    log.pending.append(data)  # the log knows already that this session has news
                else:
                    append(log, data)
            except Exception as error:
                self.failed(error)
                if not self.is_open:
                    break
        self._metrics.events_received += plain

    def failed(self, error: Exception) -> None:
        """A message that cannot be read is skipped; whoever asked is told."""
        if not isinstance(error, Malformed):
            super().failed(error)
            return
        self._metrics.malformed += 1
        _log.warning("malformed message", machine=self._machine_id, problem=str(error))
        if error.request_id is not None:
            body = ErrorBody(code="INVALID_REQUEST", message=str(error))
            self.tell(Response(id=error.request_id, error=body))

    def close(self, code: int, reason: str) -> None:
        if self.is_open and (self.machine is not None or code in _PEACEFUL):
            _log.info("line closed", machine=self._machine_id, code=int(code), reason=reason)
        elif self.is_open:
            why = self.refusal or reason
            _log.warning("line refused", user=self.user_id[:64], code=int(code), reason=why)
        super().close(code, reason)

    def ended_by_peer(self, code: int) -> None:
        if code == CloseCode.MESSAGE_TOO_BIG:
            self.shows("a close with 1009")

    def shows(self, habit: str) -> None:
        """The machine does what only those of the deployed kind do."""
        if self.machine is not None and self.dialect is None and not self.capabilities:
            self.speaks(DEPLOYED)
            self._host.recognised(self.machine.id, habit)

    def speaks(self, dialect: str | None) -> None:
        self.dialect = dialect

    def _is_busy(self, session_id: str) -> bool:
        return self.machine is not None and self.machine.core.is_busy(session_id)

    def ended(self) -> None:
        self._connection.closed()
        self._logs = {}
        self._stop_deadline()
        self._host.ended(self)

    def _dispatch(self, message: Uplink | Unknown, text: str = "") -> None:
        """`text`: as it came, of what did not come early."""
        kind = type(message)
        received = self._metrics.received
        received[kind] = received.get(kind, 0) + 1
        if isinstance(message, SseEvent):
            self._single(message, text)
        elif isinstance(message, Batch):
            self._batch(message)
        elif isinstance(message, Heartbeat):
            self._host.unknown.fields(message, text)
            self._heartbeat(message)
        elif isinstance(message, Auth):
            self._host.unknown.fields(message, text)
            if self.machine is None:
                # It came in time; how long the check takes is not the machine's fault.
                self._stop_deadline()
                self._host.authenticate(self, message.token)
            else:
                self.complain("ALREADY_AUTHENTICATED", "auth is the first frame, and only that")
        elif isinstance(message, Request):
            self._host.unknown.fields(message, text)
            self._watch_habits(message)
            self._host.requests.request(self, message)
        elif isinstance(message, FireAndForget):
            self._host.unknown.fields(message, text)
            self._watch_habits(message)
            self._host.requests.report(self, message)
        elif isinstance(message, Resume):
            self._host.unknown.fields(message, text)
            self._host.resume(self, message)
            return
        elif isinstance(message, QueryResult):
            if self.machine is not None:
                self._host.queries.answered(self.machine, message.id, message.result, message.error)
        else:
            self._host.unknown.message(message.type)
        if self.machine is not None and self.machine.core.state.is_held:
            with self.machine.input() as core:
                core.resumed()

    def _single(self, event: SseEvent, text: str) -> None:
        """An event in a frame of its own, as it came. Our own machines say nothing unknown."""
        if not self.capabilities:
            self._host.unknown.event(event, text)
        self._event(event)

    def _watch_habits(self, message: Request | FireAndForget) -> None:
        if message.session_id == MEMORY:
            self.shows(f"a request for {MEMORY}")
        if message.method not in self._host.requests.methods:
            self._host.unknown.method(message.method)

    def _event(self, event: SseEvent | BatchedEvent) -> None:
        """From the wire to the log, for an event of any kind."""
        log = self._logs.get(event.session_id)
        if log is None:
            self.complain("SESSION_NOT_FOUND", "no such session on this machine", event.session_id)
            return
        seq = event.seq if self.traits.numbers else None
        if seq is not None and not is_new(log, seq, self._lost):
            return
        if log.is_awaited and self.machine is not None:
            self.machine.spoke(event.session_id)
        data = event.data
        if not isinstance(data, str):
            data = events.to_text(data)
        if events.may_matter(data) and self.machine is not None:
            self._host.machines.watched(self.machine, log, data)
        else:
            self._log.append(log, data)

    def _lost(self, log: SessionLog, known: int, seq: int) -> None:
        self._host.lost(self, log, known, seq)

    def _heartbeat(self, beat: Heartbeat) -> None:
        health = beat.health
        if health is not None and len(msgspec.json.encode(health)) > limits.HEALTH_BYTES_MAX:
            self.complain("TOO_LARGE", f"health has more than {limits.HEALTH_BYTES_MAX} bytes")
            health = None
        if self.machine is not None:
            self._host.machines.heartbeat(self.machine, beat.active_sessions, health)

    def _batch(self, batch: Batch) -> None:
        if "batch" not in self.capabilities:
            self.complain("CAPABILITY_MISSING", "batch was not agreed on in auth")
            return
        if len(batch.events) > limits.BATCH_EVENTS_MAX:
            self.complain("TOO_LARGE", f"more than {limits.BATCH_EVENTS_MAX} events in a batch")
            return
        for event in batch.events:
            self._event(event)

    def go_live(self, machine: Machine, init: Downlink) -> None:
        """The token was good and the machine is attached: `init`, then what came early."""
        self.machine = machine
        self.known()
        self._logs = machine.logs
        self.tell(init)
        for message in self._connection.live():
            self._dispatch(message)

    def accepted(self) -> frozenset[str]:
        self.capabilities = named = self._connection.authenticated()
        self._traits = Traits(
            numbers="seq" in named,
            answers="query" in named,
            steers={"seq", "steer"} <= named,
            rules="rules" in named,
        )
        return self.capabilities

    @property
    def traits(self) -> Traits:
        return self._traits

    @property
    def token(self) -> str:
        """The one that it showed; what is encrypted for this line is encrypted with it."""
        return self._connection.auth.token if self._connection.auth is not None else ""

    def end(self, why: LineEnd) -> None:
        self.close(_CODES[why], why.value)

    def deliver(self, command: Command) -> None:
        is_ours = bool(self.capabilities)
        dialect = DOCUMENTED if is_ours else self.dialect
        message = to_wire(command, named_turns=is_ours, dialect=dialect, rules=self._traits.rules)
        if message is None:
            return
        if isinstance(message, StartSession) and "fork" not in self.capabilities:
            message.data.fork = UNSET
        if isinstance(message, StartSession) and self.traits.numbers:
            # The session may have run elsewhere before: its numbers go on from there.
            log = self._logs.get(command.session_id)
            message.data.acked = (log and log.machine_seq) or 0
        if not self.tell(message) and self.is_open and self.machine is not None:
            self._host.undeliverable(self.machine, command)

    def acknowledge(self, acked: dict[str, int]) -> None:
        self.tell(Ack(acked=acked))

    def complain(self, code: str, message: str, session_id: str | None = None) -> None:
        """One message was no good; the line lives on."""
        error = Error(error=ErrorBody(code=code, message=message))
        if session_id is not None:
            error.session_id = session_id[:200]
        self.tell(error)

    @property
    def frame_bytes_max(self) -> int:
        """What the machine takes in one frame."""
        is_deployed = self.dialect == DEPLOYED
        return DEPLOYED_FRAME_BYTES_MAX if is_deployed else limits.FRAME_BYTES_MAX

    def tell(self, message: Downlink) -> bool:
        """False: it was not sent."""
        if not self.is_open:
            return False
        frame = frame_of(message, self.frame_bytes_max)
        if frame is None:
            kind = type(message).__name__
            _log.error("a message fits no frame", machine=self._machine_id, message=kind)
            return False
        sent = self._metrics.sent
        sent[type(message)] = sent.get(type(message), 0) + 1
        self.send(frame)
        return True

    def _stop_deadline(self) -> None:
        if self._auth_deadline is not None:
            self._auth_deadline.cancel()
            self._auth_deadline = None

    @property
    def _machine_id(self) -> str | None:
        return self.machine.id if self.machine is not None else None
