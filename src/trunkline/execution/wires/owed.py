"""Messages that a foreign server is owed: in order, in memory and in a file, until they arrived.

A message moves from `waiting` to `sent` and leaves when the server is known to have read it; after
a broken line, all that is not known to have arrived is sent again. Bounded: the oldest ones that
nobody waits for go first. Knows nothing of sockets.
"""

from collections import deque
from itertools import chain

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.ws.journal import Journal

_log = structlog.get_logger(__name__)

_SHRINK_TO = 0.75
"""Of a bound: room is made for a while, not for one message."""


class Message(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A line of the file: a message; or, without a body, that all up to a number have arrived."""

    seq: int
    body: msgspec.Raw = msgspec.Raw()
    is_kept: bool = False
    """Somebody waits for it: never dropped."""
    ends: str = ""
    """The turn that ends with it."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Message).decode


class Owed:
    """Of one server. What an earlier process left in the file is owed still."""

    def __init__(
        self,
        journal: Journal,
        *,
        count_max: int = limits.WIRE_OWED_MAX,
        bytes_max: int = limits.WIRE_OWED_BYTES_MAX,
    ) -> None:
        self._journal = journal
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._waiting: deque[Message] = deque()
        self._sent: deque[Message] = deque()
        self._bytes = 0
        self._last = 0
        self._load()

    @property
    def is_empty(self) -> bool:
        return not self._waiting and not self._sent

    @property
    def sent_last(self) -> int:
        """The number of the newest message that was sent and may not have arrived; 0: none."""
        return self._sent[-1].seq if self._sent else 0

    def has_end(self, turn_id: str) -> bool:
        """Whether the end of that turn is among them."""
        return any(one.ends == turn_id for one in chain(self._sent, self._waiting))

    def add(self, body: bytes, *, is_kept: bool = False, ends: str = "") -> None:
        self._last += 1
        message = Message(seq=self._last, body=msgspec.Raw(body), is_kept=is_kept, ends=ends)
        self._journal.append(_encode(message))
        self._waiting.append(message)
        self._bytes += len(body)
        count = len(self._waiting) + len(self._sent)
        if count > self._count_max or self._bytes > self._bytes_max:
            self._make_room(count)

    def take(self) -> bytes | None:
        """The next one to send."""
        if not self._waiting:
            return None
        message = self._waiting.popleft()
        self._sent.append(message)
        return bytes(message.body)

    def rewind(self) -> None:
        """The line broke."""
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()

    def arrived(self, seq: int) -> None:
        """The server has read everything that was sent up to this number."""
        if not self._sent or self._sent[0].seq > seq:
            return
        while self._sent and self._sent[0].seq <= seq:
            self._bytes -= len(bytes(self._sent.popleft().body))
        if self.is_empty:
            self._journal.clear()
            return
        self._journal.append(_encode(Message(seq=seq)))
        size = self._journal.bytes
        if size > limits.OUTBOX_COMPACT_BYTES and size > 2 * self._bytes:
            self._rewrite()

    def close(self) -> None:
        if self.is_empty:
            self._journal.remove()
        else:
            self._journal.close()

    def _make_room(self, count: int) -> None:
        lost = 0
        for messages in (self._sent, self._waiting):
            kept = deque[Message]()
            for message in messages:
                is_over = (
                    count - lost > self._count_max * _SHRINK_TO
                    or self._bytes > self._bytes_max * _SHRINK_TO
                )
                if is_over and not message.is_kept:
                    self._bytes -= len(bytes(message.body))
                    lost += 1
                else:
                    kept.append(message)
            messages.clear()
            messages.extend(kept)
        if lost:
            _log.warning("too much is owed to the server: the oldest is lost", lost=lost)
            self._rewrite()

    def _rewrite(self) -> None:
        self._journal.rewrite(map(_encode, chain(self._sent, self._waiting)))

    def _load(self) -> None:
        for line in self._journal.read():
            try:
                message = _decode(line)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                _log.warning("a line of what is owed is unreadable")
                continue
            self._last = max(self._last, message.seq)
            if message.body:
                self._waiting.append(message)
            while self._waiting and not message.body and self._waiting[0].seq <= message.seq:
                self._waiting.popleft()
        self._bytes = sum(len(bytes(one.body)) for one in self._waiting)
