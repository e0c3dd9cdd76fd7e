"""What one session still owes the control plane: numbered events, in memory and in a file.

An event moves from `waiting` to `sent`, and leaves when it is acknowledged. A line in the file
with the same number as the one before continues that one's text.
"""

from collections import deque
from collections.abc import Iterator
from itertools import chain

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.ws.event import Event, cut
from trunkline.execution.ws.journal import Journal

_log = structlog.get_logger(__name__)


class _Line(msgspec.Struct, omit_defaults=True, kw_only=True):
    """An event; or how far events need not be sent again."""

    seq: int = 0
    data: str = ""
    acked: int = 0


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Line).decode


class Owed:
    """An event with its number."""

    __slots__ = ("event", "is_fixed", "seq", "size")

    def __init__(self, seq: int, event: Event, size: int, *, is_fixed: bool = False) -> None:
        self.seq = seq
        self.event = event
        self.size = size
        self.is_fixed = is_fixed
        """It may have been sent as it is: the control plane may know its number and its text."""


class SessionQueue:
    """The events of one session that are not safe at the control plane yet."""

    def __init__(self, session_id: str, journal: Journal) -> None:
        self.session_id = session_id
        self.waiting: deque[Owed] = deque()
        self.last = 0
        self.bytes = 0
        self.is_closed = False
        self._sent: deque[Owed] = deque()
        self._journal = journal
        self._load()

    @property
    def is_empty(self) -> bool:
        return not self.waiting and not self._sent

    def all(self) -> Iterator[Owed]:
        return chain(self._sent, self.waiting)

    # --- In -----------------------------------------------------------------------------------

    def append(self, event: Event, *, is_cut: bool = False) -> int:
        """Numbers an event and writes it down. Text that follows text which was not sent yet
        becomes part of it. Returns how many bytes the session owes more."""
        tail = self.waiting[-1] if self.waiting else None
        text = event.text
        joined = tail is not None and not tail.is_fixed and tail.event.join(event)
        seq = tail.seq if tail is not None and joined else self.last + 1
        line = _encode(_Line(seq=seq, data=text))
        if len(line) > limits.EVENT_BYTES_MAX:  # never text that was joined, which is short
            return self._append_cut(text, None if is_cut else cut(text))
        self._journal.append(line)
        if tail is not None and joined:
            tail.size += len(line)
        else:
            self.last = seq
            self.waiting.append(Owed(seq, event, len(line)))
        self.bytes += len(line)
        return len(line)

    def _append_cut(self, text: str, smaller: str | None) -> int:
        _log.warning("an event is too large for the line", session=self.session_id, bytes=len(text))
        if smaller is None:
            self.last += 1  # its number is missing: the loss can be seen
            return 0
        return self.append(Event(smaller), is_cut=True)

    # --- Out ----------------------------------------------------------------------------------

    def take(self) -> Owed:
        """The next event to send."""
        owed = self.waiting.popleft()
        owed.is_fixed = True
        self._sent.append(owed)
        return owed

    def rewind(self) -> None:
        """The line broke: what was not acknowledged is sent again, as it was."""
        self.waiting.extendleft(reversed(self._sent))
        self._sent.clear()

    def acked(self, seq: int) -> int:
        """Everything up to this number is safe. Returns how many bytes are owed less."""
        freed = self._drop_until(seq)
        size = self._journal.bytes
        if size > limits.OUTBOX_COMPACT_BYTES and size > 2 * self.bytes:
            self._tidy()
        if self.is_empty:
            self._journal.close()  # it opens again with the next event, if there ever is one
        return freed

    def delivered(self, seq: int) -> int:
        """As `acked`, for a control plane that acknowledges nothing: this is the last that will
        ever be heard of these events, so the file must know."""
        freed = self.acked(seq)
        if self.is_empty:
            self._journal.clear()
        elif freed:
            self._journal.append(_encode(_Line(acked=seq)))
        return freed

    def shrink(self, bytes_max: int) -> int:
        """Drops the oldest events that nobody waits for until the rest fits. Returns how many
        bytes are owed less."""
        before, dropped = self.bytes, 0
        for events in (self._sent, self.waiting):
            kept = []
            for owed in events:
                if self.bytes > bytes_max and not owed.event.is_kept:
                    self.bytes -= owed.size
                    dropped += 1
                else:
                    kept.append(owed)
            events.clear()
            events.extend(kept)
        if dropped:
            _log.warning("the outbox is full: events lost", session=self.session_id, lost=dropped)
            self._tidy()
        return before - self.bytes

    def remove(self) -> None:
        """The file is not needed any more."""
        self._journal.remove()

    def close(self) -> None:
        """Leaves the file to the next process, if anything is owed."""
        if self.is_empty:
            self._journal.remove()
        else:
            self._journal.close()

    # --- The file -----------------------------------------------------------------------------

    def _load(self) -> None:
        """What an earlier process left. It may have been sent, so nothing of it is changed."""
        for raw in self._journal.read():
            try:
                line = _decode(raw)
            except (msgspec.DecodeError, UnicodeError):
                _log.warning("a line of the outbox is unreadable", session=self.session_id)
                continue
            tail = self.waiting[-1] if self.waiting else None
            if line.acked:
                self._drop_until(line.acked)
            elif tail is not None and line.seq == tail.seq:
                if tail.event.join(Event(line.data)):
                    tail.size += len(raw)
                    self.bytes += len(raw)
            elif line.seq > self.last:
                self.last = line.seq
                self.waiting.append(Owed(line.seq, Event(line.data), len(raw), is_fixed=True))
                self.bytes += len(raw)

    def _drop_until(self, seq: int) -> int:
        before = self.bytes
        for events in (self._sent, self.waiting):
            while events and events[0].seq <= seq:
                self.bytes -= events.popleft().size
        self.last = max(self.last, seq)
        return before - self.bytes

    def _tidy(self) -> None:
        if self.is_empty:
            self._journal.clear()
            return
        self._journal.rewrite(
            _encode(_Line(seq=owed.seq, data=owed.event.text)) for owed in self.all()
        )
