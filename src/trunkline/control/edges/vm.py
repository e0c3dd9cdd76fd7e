"""The Semibot edge: an execution plane's line (source document 000).

Frames come in as callbacks and, once live, events go straight to the log: no coroutine, no copy
of what is already text. Everything that waits (tokens, requests) runs beside that path.
"""

import asyncio

import msgspec
import structlog
from msgspec import UNSET
from picows import WSFrame, WSListener, WSMsgType, WSTransport

from trunkline import limits
from trunkline.control import events
from trunkline.control.auth import VmClaims
from trunkline.control.commands import Command
from trunkline.control.door.head import Head
from trunkline.control.door.websocket import adopt, send_close
from trunkline.control.edges.vm_commands import to_wire
from trunkline.control.edges.vm_host import VmHost
from trunkline.control.errors import InvalidRequest, LimitReached
from trunkline.control.log import SessionLog
from trunkline.control.machine import Machine
from trunkline.wire.errors import CloseLine, Malformed
from trunkline.wire.frames import Assembler, check_text
from trunkline.wire.semibot.close_codes import CloseCode
from trunkline.wire.semibot.codec import Unknown, decode_uplink, encode
from trunkline.wire.semibot.connection import Connection, State
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
    Request,
    Response,
    Resume,
    SseEvent,
    StartSession,
    Uplink,
)

_log = structlog.get_logger(__name__)

_TEXT = WSMsgType.TEXT
_PING = WSMsgType.PING
_CLOSE = WSMsgType.CLOSE
_CONTINUATION = WSMsgType.CONTINUATION
_BINARY = WSMsgType.BINARY


def accept_vm(host: VmHost, transport: asyncio.Transport, head: Head) -> None:
    """An upgrade request for `/ws/vm`."""
    user_id = head.query.get("user_id", "")
    if not user_id:
        raise InvalidRequest("user_id is missing in the URL")
    if host.unknown_lines() >= limits.UNKNOWN_LINES_MAX:
        raise LimitReached("too many lines have not shown a token yet")
    adopt(transport, head, VmLine(host, user_id, head.query.get("ticket")), limits.FRAME_BYTES_MAX)


class VmLine(WSListener):
    """One WebSocket of one execution plane."""

    def __init__(self, host: VmHost, user_id: str, ticket: str | None) -> None:
        self.user_id = user_id
        self.ticket = ticket
        self.machine: Machine | None = None
        self.claims: VmClaims | None = None
        """What the newest token says that this line was opened with, or given since."""
        self.capabilities: frozenset[str] = frozenset()
        self.last_seen = host.now()
        self.was_active = True
        """Set by every frame and cleared by the sweep: a clock reading less per frame."""
        self._host = host
        self._connection = Connection(per_minute=host.rate_limit, early_max=limits.AUTH_QUEUE_MAX)
        self._assembler = Assembler(limits.AUTH_FRAME_BYTES_MAX)
        self._transport: WSTransport
        self._logs: dict[str, SessionLog] = {}
        self._auth_deadline: asyncio.TimerHandle | None = None
        self._log = host.log
        self._metrics = host.metrics
        self._starting: dict[str, float] = {}
        self._texts: list[str] = []
        self._is_plain = False
        """A final text frame is a message, and all there is to do with it is to take it."""

    # --- picows ---------------------------------------------------------------------------------

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        self._host.lines.add(self)
        loop = asyncio.get_running_loop()
        self._auth_deadline = loop.call_later(
            limits.AUTH_TIMEOUT_S, self.close, CloseCode.AUTH_FAILED, "no auth in time"
        )

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        try:
            if (
                self._is_plain
                and frame.msg_type == _TEXT
                and frame.fin
                and not (frame.rsv1 or frame.rsv2 or frame.rsv3)
            ):
                self._texts.append(frame.get_payload_as_utf8_text())
                if frame.last_in_buffer:
                    self._take_texts()
            else:
                self._take_texts()
                self._any_frame(frame)
        except Exception as error:
            self._take_texts()
            self._failed(error)

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._end()

    def pause_writing(self) -> None:
        """Nothing to do: the next `send` looks at what is unsent."""

    def resume_writing(self) -> None:
        """Nothing to do."""

    def _take_texts(self) -> None:
        """The messages that one read of the socket brought, in one tight loop.

        Nearly all are events with nothing special about them, and those go straight to the log.
        """
        self.was_active = True
        texts, self._texts = self._texts, []
        logs, append, starting = self._logs, self._log.append, self._starting
        plain = 0
        for text in texts:
            try:
                message = decode_uplink(text)
                if type(message) is not SseEvent:
                    self._dispatch(message)
                    if not self._is_plain:
                        break  # the line was closed
                    continue
                plain += 1
                log, data = logs.get(message.session_id), message.data
                if (
                    log is None
                    or message.seq is not None
                    or starting
                    or type(data) is not str
                    or '"execution_' in data
                    or '"approval_' in data
                ):
                    self._event(message)
                elif log.pending:
                    log.pending.append(data)  # the log knows already that this session has news
                else:
                    append(log, data)
            except Exception as error:
                self._failed(error)
                if not self._is_plain:
                    break
        self._metrics.events_received += plain

    def _failed(self, error: Exception) -> None:
        """A frame or message could not be taken: warn and go on, or close the line."""
        match error:
            case Malformed():
                self._metrics.malformed += 1
                _log.warning("malformed message", machine=self._machine_id, problem=str(error))
                if error.request_id is not None:
                    body = ErrorBody(code="INVALID_REQUEST", message=str(error))
                    self.send(Response(id=error.request_id, error=body))
            case UnicodeDecodeError():
                self.close(CloseCode.INVALID_TEXT, "text that is not UTF-8")
            case CloseLine():
                self.close(error.code, error.reason)
            case _:
                _log.error("a frame could not be handled", machine=self._machine_id, exc_info=error)
                self.close(CloseCode.INTERNAL_ERROR, "internal error")

    def _any_frame(self, frame: WSFrame) -> None:
        """Every frame that is not a plain message on a live line without a rate limit."""
        self.was_active = True
        if frame.rsv1 or frame.rsv2 or frame.rsv3:
            raise CloseLine(CloseCode.PROTOCOL_ERROR, "reserved bits without an extension")
        kind = frame.msg_type
        if kind == _PING:
            self._transport.send_pong(frame.get_payload_as_bytes())
        elif kind == _CLOSE:
            self.close(CloseCode.OK, "")
        elif kind in (_TEXT, _BINARY, _CONTINUATION):
            opcode = 0 if kind == _CONTINUATION else 1 if kind == _TEXT else 2
            whole = self._assembler.feed(opcode, frame.fin, frame.get_payload_as_bytes())
            self._is_plain = self._connection.is_unlimited and self._assembler.idle
            if whole is not None:
                check_text(whole)
                message = self._connection.receive(whole, self._host.now())
                if message is not None:
                    self._dispatch(message)

    # --- Messages -------------------------------------------------------------------------------

    def _dispatch(self, message: Uplink | Unknown) -> None:
        kind = type(message)
        received = self._metrics.received
        received[kind] = received.get(kind, 0) + 1
        if isinstance(message, SseEvent):
            self._event(message)
        elif isinstance(message, Batch):
            self._batch(message)
        elif isinstance(message, Heartbeat):
            self._heartbeat(message)
        elif isinstance(message, Auth):
            if self.machine is None:
                # It came in time; how long the check takes is not the machine's fault.
                self._stop_deadline()
                self._host.authenticate(self, message.token)
            else:
                self.complain("ALREADY_AUTHENTICATED", "auth is the first frame, and only that")
        elif isinstance(message, Request):
            self._host.requests.request(self, message)
        elif isinstance(message, FireAndForget):
            self._host.requests.report(self, message)
        elif isinstance(message, Resume):
            self._host.resume(self, message)
            return
        else:
            _log.debug("unknown message type", machine=self._machine_id)
        if self.machine is not None:
            self._host.machines.delivery.resumed(self.machine, self)

    def _event(self, event: SseEvent | BatchedEvent) -> None:
        """From the wire to the log, for an event of any kind."""
        log = self._logs.get(event.session_id)
        if log is None:
            self.complain("SESSION_NOT_FOUND", "no such session on this machine", event.session_id)
            return
        if event.seq is not None and not self._is_new(log, event.seq):
            return
        self._starting.pop(event.session_id, None)
        data = event.data
        if not isinstance(data, str):
            data = events.to_text(data)
        if '"execution_' in data or '"approval_' in data:
            self._host.watched(self, log, data)
        else:
            self._log.append(log, data)

    def _is_new(self, log: SessionLog, seq: int) -> bool:
        """Keeps count of a machine's numbers; False for an event that we have already."""
        if "seq" not in self.capabilities:
            return True
        known = log.machine_seq or 0
        if seq <= known:
            return False  # sent again after a reconnect
        if seq > known + 1:
            self._host.lost(self, log, known, seq)
        log.machine_seq = seq
        return True

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

    # --- What the control plane does with the line ------------------------------------------------

    def go_live(self, machine: Machine, init: Downlink) -> None:
        """The token was good and the machine is attached: `init`, then what came early."""
        self.machine = machine
        self._assembler.bytes_max = limits.FRAME_BYTES_MAX
        self._logs = machine.logs
        self._starting = machine.starting
        self.send(init)
        self._is_plain = self._connection.is_unlimited and self._assembler.idle
        for message in self._connection.live():
            self._dispatch(message)

    def accepted(self) -> frozenset[str]:
        self.capabilities = self._connection.authenticated()
        return self.capabilities

    @property
    def token(self) -> str:
        """The one that it showed; what is encrypted for this line is encrypted with it."""
        return self._connection.auth.token if self._connection.auth is not None else ""

    @property
    def is_open(self) -> bool:
        return self._connection.state is not State.CLOSED

    def deliver(self, command: Command) -> None:
        message = to_wire(command, named_turns=bool(self.capabilities))
        if message is None:
            return
        if isinstance(message, StartSession) and "seq" in self.capabilities:
            # The session may have run elsewhere before: its numbers go on from there.
            log = self._logs.get(command.session_id)
            message.data.acked = (log and log.machine_seq) or 0
        self.send(message)

    def withdraw(self, turn_id: str) -> bool:
        """What was delivered is on the wire."""
        return False

    def acknowledge(self, acked: dict[str, int]) -> None:
        self.send(Ack(acked=acked))

    def complain(self, code: str, message: str, session_id: str | None = None) -> None:
        """One message was no good; the line lives on (000 §8)."""
        error = Error(error=ErrorBody(code=code, message=message))
        if session_id is not None:
            error.session_id = session_id[:200]
        self.send(error)

    def send(self, message: Downlink) -> None:
        if not self.is_open:
            return
        frame = encode(message)
        if len(frame) > limits.FRAME_BYTES_MAX:
            self._too_large(message)
            return
        sent = self._metrics.sent
        sent[type(message)] = sent.get(type(message), 0) + 1
        self._transport.send(_TEXT, frame)
        unsent = self._transport.underlying_transport.get_write_buffer_size()
        if unsent > limits.LINE_UNSENT_BYTES_MAX:
            _log.warning("the machine does not read; cutting its line", machine=self._machine_id)
            self._transport.underlying_transport.abort()

    def _too_large(self, message: Downlink) -> None:
        """A frame that the wire does not allow: sent without what can be done without."""
        kind = type(message).__name__
        _log.error("a message is too large for one frame", machine=self._machine_id, message=kind)
        if isinstance(message, StartSession) and message.data.snapshot is not UNSET:
            message.data.snapshot = UNSET
            self.send(message)
        elif isinstance(message, Response) and message.error is None:
            body = ErrorBody(code="RESULT_TOO_LARGE", message="the result does not fit a frame")
            self.send(Response(id=message.id, error=body))

    def pause(self, paused: bool) -> None:
        """While the disk does not keep up, machines are not read."""
        transport = self._transport.underlying_transport
        if paused:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def close(self, code: int, reason: str) -> None:
        """From here on nothing of this line is taken any more."""
        if not self.is_open:
            return
        self._end()
        _log.info("line closed", machine=self._machine_id, code=int(code), reason=reason)
        send_close(self._transport, code, reason)

    def _end(self) -> None:
        if not self.is_open:
            return
        self._connection.closed()
        self._is_plain = False
        self._logs = {}
        self._stop_deadline()
        self._host.ended(self)

    def _stop_deadline(self) -> None:
        if self._auth_deadline is not None:
            self._auth_deadline.cancel()

    @property
    def _machine_id(self) -> str | None:
        return self.machine.id if self.machine is not None else None
