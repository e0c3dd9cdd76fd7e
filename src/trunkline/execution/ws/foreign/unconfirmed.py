"""Messages that a foreign server is not known to have read: in order, in memory and in a file.

After a broken line, all of them are sent again. Bounded: of those that nobody waits for, the
oldest go; of the others, `is_full` says when no more may be accepted. Knows nothing of sockets.
"""

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.ws.disk_queue import SHRINK_TO, DiskQueue, Journal

_log = structlog.get_logger(__name__)

WIRE_OWED_MAX = 5_000  # messages that are not known to have arrived, and may be lost
WIRE_OWED_BYTES_MAX = 8 * limits.MIB
WIRE_KEPT_MAX = 5_000  # those that may not, with the turns that will end in one
WIRE_KEPT_BYTES_MAX = 32 * limits.MIB


class UnconfirmedMessage(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A line of the file: a message; or, without a body, that all up to a number have arrived."""

    seq: int
    body: msgspec.Raw = msgspec.Raw()
    is_kept: bool = False
    ends: str = ""
    """The turn that ends with it."""

    @property
    def size(self) -> int:
        return len(bytes(self.body))


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(UnconfirmedMessage).decode


class Unconfirmed:
    """Of one server. What an earlier process left in the file is still to be sent."""

    def __init__(
        self,
        journal: Journal,
        *,
        count_max: int = WIRE_OWED_MAX,
        bytes_max: int = WIRE_OWED_BYTES_MAX,
        kept_max: int = WIRE_KEPT_MAX,
        kept_bytes_max: int = WIRE_KEPT_BYTES_MAX,
    ) -> None:
        self._journal = journal
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._kept_max = kept_max
        self._kept_bytes_max = kept_bytes_max
        self._queue: DiskQueue[UnconfirmedMessage] = DiskQueue(journal, _encode)
        self._ends: set[str] = set()
        self._load()

    @property
    def is_empty(self) -> bool:
        return self._queue.is_empty

    @property
    def sent_last(self) -> int:
        """The number of the newest message that was sent and may not have arrived; 0: none."""
        return self._queue.sent[-1].seq if self._queue.sent else 0

    @property
    def ends_waiting(self) -> set[str]:
        """The turns that end with one that is yet to be sent."""
        return {message.ends for message in self._queue.waiting if message.ends}

    def has_end(self, turn_id: str) -> bool:
        return turn_id in self._ends

    def is_full(self, expected: int = 0) -> bool:
        """Whether there is no room for one more that is kept, beside those that will come."""
        kept = self._queue.kept
        return kept.count + expected >= self._kept_max or kept.bytes >= self._kept_bytes_max

    def add(self, body: bytes, *, is_kept: bool, ends: str = "") -> None:
        seq = self._queue.last + 1
        message = UnconfirmedMessage(seq=seq, body=msgspec.Raw(body), is_kept=is_kept, ends=ends)
        self._queue.catch_up()
        self._journal.append(_encode(message))
        self._put(message)
        if self._is_over(1.0):
            # A quarter goes at once: a walk past everything is made up for by what it drops.
            lost = self._queue.shrink(lambda: self._is_over(SHRINK_TO))
            self._forget_ends(lost)
            _log.warning("too much waits for the server: the oldest is lost", lost=len(lost))

    def take(self) -> bytes | None:
        """The next one to send."""
        return bytes(self._queue.take().body) if self._queue.waiting else None

    def rewind(self) -> None:
        """The line broke."""
        self._queue.rewind()

    def arrived(self, seq: int) -> None:
        """The server has read everything that was sent up to this number."""
        arrived = self._queue.drop_sent(seq)
        if not arrived:
            return
        self._forget_ends(arrived)
        if self.is_empty:
            self._journal.clear()
        else:
            self._journal.mark(_encode(UnconfirmedMessage(seq=seq)))
            self._queue.tidy()

    def settle(self) -> None:
        """Writes down what a full disk has kept out."""
        self._queue.settle()

    def close(self) -> None:
        self._queue.close()

    def _is_over(self, part: float) -> bool:
        loose = self._queue.loose
        return loose.count > self._count_max * part or loose.bytes > self._bytes_max * part

    def _put(self, message: UnconfirmedMessage) -> None:
        self._queue.put(message)
        if message.ends:
            self._ends.add(message.ends)

    def _forget_ends(self, messages: list[UnconfirmedMessage]) -> None:
        self._ends.difference_update(message.ends for message in messages)

    def _load(self) -> None:
        for message, _ in self._journal.entries(_decode):
            if message.body:
                self._put(message)
            else:
                self._forget_ends(self._queue.drop_until(message.seq))
