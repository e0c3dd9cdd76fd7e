"""The AGP edge: a device's line (docs/protocols/agp.md).

Frames come in as callbacks, and updates go straight to the log: no coroutine, one typed decode.
What outlives the line is the `AgpDevice`'s; what has to wait is the `AgpHost`'s.
"""

from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
import structlog

from trunkline import limits
from trunkline.control.edges.agp.device import AgpDevice
from trunkline.control.edges.socket import Socket
from trunkline.control.machines.machine import LineEnd
from trunkline.control.machines.tap import Tap
from trunkline.control.machines.traits import KINDS
from trunkline.control.surprises import LOOKED_AT_CHARS_MAX
from trunkline.wire.agp.close_codes import CloseCode
from trunkline.wire.agp.codec import Unknown, decode_uplink, encode
from trunkline.wire.agp.messages import (
    MESSAGE_CHUNK,
    UPDATE_TYPES,
    Downlink,
    Ping,
    Pong,
    PromptResponse,
    PromptResponsePayload,
    ToolCall,
    Update,
    UpdatePayload,
    Uplink,
)
from trunkline.wire.commands import Command
from trunkline.wire.errors import CloseLine, Malformed

if TYPE_CHECKING:
    from trunkline.control.edges.agp.host import AgpHost

_log = structlog.get_logger(__name__)

WIRE = "agp"

_PING_ID_CHARS_MAX = 200


class _Payload(msgspec.Struct):
    payload: msgspec.Raw


class _OfToolCall(msgspec.Struct):
    tool_call: msgspec.Raw


_payload = msgspec.json.Decoder(_Payload)
_tool_call = msgspec.json.Decoder(_OfToolCall)
_UPDATE_FIELDS = frozenset(UpdatePayload.__struct_encode_fields__)
_TOOL_CALL_FIELDS = frozenset(ToolCall.__struct_encode_fields__)
_END_FIELDS = frozenset(PromptResponsePayload.__struct_encode_fields__)


_CODES = {
    LineEnd.REVOKED: CloseCode.REFUSED,
    LineEnd.RENEWED: CloseCode.REFUSED,
    LineEnd.TERMINATED: CloseCode.REMOVED,
    LineEnd.REPLACED: CloseCode.REFUSED,
    LineEnd.STOPPED: CloseCode.GOING_AWAY,
}


class AgpLine(Socket):
    """One WebSocket of one device."""

    capabilities: frozenset[str] = frozenset()
    traits = KINDS["agp"]

    def __init__(self, host: "AgpHost", device: AgpDevice, proven_at: int) -> None:
        """`proven_at`: how many tokens had been renewed when this one was looked at."""
        super().__init__(
            bytes_max=limits.FRAME_BYTES_MAX,
            per_minute=host.rate_limit,
            unsent_max=host.line_unsent_max,
            now=host.now,
        )
        self.device = device
        self.proven_at = proven_at
        self.last_told = self.last_seen
        """When something was last sent: that is activity too."""
        self._host = host
        self._metrics = host.metrics

    def opened(self) -> None:
        self._host.attach(self)

    def ended(self) -> None:
        self._host.detach(self)

    def tapped(self) -> Tap | None:
        return self.device.machine.tap

    def take_all(self, texts: list[str]) -> None:
        """The messages that one read of the socket brought. Nearly all are pieces of text, and a
        stream is bounded by how fast the log takes it, not by a rate."""
        ts, updates, at = self._host.clock(), 0, 0
        while at < len(texts) and self.is_open:
            try:
                start, at = at, self.device.texts(texts, at)
                updates += at - start
                if at < len(texts):
                    at += 1
                    message = decode_uplink(texts[at - 1])
                    self._look(message, texts[at - 1])
                    if type(message) is Update and self.device.update(message, ts):
                        updates += 1
                    else:
                        self._other(message)
            except Exception as error:
                self.failed(error)
        received = self._metrics.received
        received[Update] = received.get(Update, 0) + updates

    def take(self, text: str) -> None:
        """A message that came in pieces."""
        self.take_all([text])

    def failed(self, error: Exception) -> None:
        """A message that cannot be read is skipped; it counts like any other."""
        if isinstance(error, Malformed):
            self._metrics.malformed += 1
            _log.warning("malformed message", machine=self.device.machine.id, problem=str(error))
            try:
                self.count()
            except CloseLine as limit:
                error = limit
            else:
                return
        super().failed(error)

    def _look(self, message: Uplink | Unknown, text: str) -> None:
        """What an app says and no document knows, so that an operator sees it."""
        if type(message) is Update:
            self._look_at_update(message, text)
        elif type(message) is Unknown:
            self._host.surprises.saw(WIRE, f"message {message.method}")
        elif type(message) is PromptResponse:
            payload = _payload.decode(text).payload
            self._host.surprises.saw_fields(WIRE, payload, _END_FIELDS)

    def _look_at_update(self, message: Update, text: str) -> None:
        """Not at pieces of text, of which there are too many, nor at what is large."""
        kind = message.payload.update_type
        if kind not in UPDATE_TYPES:
            self._host.surprises.saw(WIRE, f"update_type {kind}")
        if kind == MESSAGE_CHUNK or len(text) > LOOKED_AT_CHARS_MAX:
            return
        payload = _payload.decode(text).payload
        self._host.surprises.saw_fields(WIRE, payload, _UPDATE_FIELDS)
        if message.payload.tool_call is not None:
            tool_call = _tool_call.decode(payload).tool_call
            self._host.surprises.saw_fields(WIRE, tool_call, _TOOL_CALL_FIELDS)

    def _other(self, message: Uplink | Unknown) -> None:
        """Everything but a piece of an active turn."""
        self.count()
        received, kind = self._metrics.received, type(message)
        received[kind] = received.get(kind, 0) + 1
        if isinstance(message, PromptResponse):
            self.device.answer(message)
        elif isinstance(message, Ping):
            device = self.device.talk.state
            named = message.msg_id
            is_named = isinstance(named, str) and len(named) <= _PING_ID_CHARS_MAX
            payload = {"msg_id": named} if is_named else {}
            pong = Pong(
                msg_id=str(uuid4()), guid=device.guid, user_id=device.user_id, payload=payload
            )
            self.tell(pong)

    def tell(self, message: Downlink) -> None:
        sent, kind = self._metrics.sent, type(message)
        sent[kind] = sent.get(kind, 0) + 1
        self.last_told = self._now()
        self.send(encode(message))

    def probe(self) -> None:
        """Asks for a sign of life: whatever comes back counts as one."""
        if self.is_open:
            self._transport.send_ping()

    def end(self, why: LineEnd) -> None:
        self.close(_CODES[why], why.value)

    def deliver(self, command: Command) -> None:
        self.device.deliver(command)

    def acknowledge(self, acked: dict[str, int]) -> None:
        """AGP has no numbers to acknowledge."""
