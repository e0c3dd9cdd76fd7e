"""Messages that a foreign server is owed: in order, in memory and in a file, until they arrived.

A message moves from `waiting` to `sent` and leaves when the server is known to have read it; after
a broken line, all that is not known to have arrived is sent again. Bounded: of those that nobody
waits for, the oldest go; of the others, `is_full` says when no more may be promised. Knows nothing
of sockets.
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


class _Amount(msgspec.Struct):
    count: int = 0
    bytes: int = 0


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
        kept_max: int = limits.WIRE_KEPT_MAX,
        kept_bytes_max: int = limits.WIRE_KEPT_BYTES_MAX,
    ) -> None:
        self._journal = journal
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._kept_max = kept_max
        self._kept_bytes_max = kept_bytes_max
        self._waiting: deque[Message] = deque()
        self._sent: deque[Message] = deque()
        self._loose = _Amount()
        self._kept = _Amount()
        self._ends: set[str] = set()
        self._last = 0
        self._load()

    @property
    def is_empty(self) -> bool:
        return not self._waiting and not self._sent

    @property
    def sent_last(self) -> int:
        """The number of the newest message that was sent and may not have arrived; 0: none."""
        return self._sent[-1].seq if self._sent else 0

    @property
    def ends_waiting(self) -> set[str]:
        """The turns that end with one that is yet to be sent."""
        return {message.ends for message in self._waiting if message.ends}

    def has_end(self, turn_id: str) -> bool:
        return turn_id in self._ends

    def is_full(self, promised: int = 0) -> bool:
        """Whether there is no room for one more that is kept, beside those that will come."""
        kept = self._kept
        return kept.count + promised >= self._kept_max or kept.bytes >= self._kept_bytes_max

    def add(self, body: bytes, *, is_kept: bool, ends: str = "") -> None:
        self._last += 1
        message = Message(seq=self._last, body=msgspec.Raw(body), is_kept=is_kept, ends=ends)
        self._journal.append(_encode(message))
        self._waiting.append(message)
        self._count(message)
        if self._loose.count > self._count_max or self._loose.bytes > self._bytes_max:
            self._make_room()

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
            self._discount(self._sent.popleft())
        if self.is_empty:
            self._journal.clear()
            return
        self._journal.append(_encode(Message(seq=seq)))
        size = self._journal.bytes
        if size > limits.OUTBOX_COMPACT_BYTES and size > 2 * (self._loose.bytes + self._kept.bytes):
            self._rewrite()

    def close(self) -> None:
        if self.is_empty:
            self._journal.remove()
        else:
            self._journal.close()

    def _count(self, message: Message) -> None:
        amount = self._kept if message.is_kept else self._loose
        amount.count += 1
        amount.bytes += len(bytes(message.body))
        if message.ends:
            self._ends.add(message.ends)

    def _discount(self, message: Message) -> None:
        amount = self._kept if message.is_kept else self._loose
        amount.count -= 1
        amount.bytes -= len(bytes(message.body))
        self._ends.discard(message.ends)

    def _make_room(self) -> None:
        """A quarter goes at once: a walk past everything is paid for by what it drops."""
        count = self._loose.count
        for messages in (self._sent, self._waiting):
            kept = deque[Message]()
            for message in messages:
                is_over = (
                    self._loose.count > self._count_max * _SHRINK_TO
                    or self._loose.bytes > self._bytes_max * _SHRINK_TO
                )
                if is_over and not message.is_kept:
                    self._discount(message)
                else:
                    kept.append(message)
            messages.clear()
            messages.extend(kept)
        lost = count - self._loose.count
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
        for message in self._waiting:
            self._count(message)
