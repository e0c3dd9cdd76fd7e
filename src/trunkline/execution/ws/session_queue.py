"""The events of one session that the control plane has not acknowledged: numbered, on disk.

An event waits, is sent, and leaves when it is acknowledged. The outbox holds one queue a session.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.ws.disk_queue import DiskQueue, Journal
from trunkline.execution.ws.events import Event, cut

_log = structlog.get_logger(__name__)


class Outgoing(NamedTuple):
    """One event to send."""

    session_id: str
    seq: int
    data: str
    size: int


class _Line(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A line of the file: an event, or how far events need not be sent again. One with the same
    number as the line before continues that one's text."""

    seq: int = 0
    data: str = ""
    acked: int = 0


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Line).decode


class _Numbered:
    """An event with its number."""

    __slots__ = ("event", "is_fixed", "seq", "size")

    def __init__(self, seq: int, event: Event, size: int, *, is_fixed: bool = False) -> None:
        self.seq = seq
        self.event = event
        self.size = size
        self.is_fixed = is_fixed
        """It may have been sent as it is: the control plane may know its number and its text."""

    @property
    def is_kept(self) -> bool:
        return self.event.is_kept


class SessionQueue:
    """The events of one session that the control plane has not acknowledged."""

    def __init__(self, session_id: str, journal: Journal) -> None:
        self.session_id = session_id
        self.is_closed = False
        self._journal = journal
        self.queue: DiskQueue[_Numbered] = DiskQueue(
            journal, lambda one: _encode(_Line(seq=one.seq, data=one.event.text))
        )
        self._load()

    def turns(self) -> Iterator[str]:
        turns = (one.event.turn_id for one in self.queue)
        return (turn for turn in turns if turn is not None)

    def append(self, event: Event, *, is_cut: bool = False) -> None:
        """Numbers an event and writes it down. Text that follows text which was not sent yet
        becomes part of it."""
        queue = self.queue
        queue.catch_up()
        tail = queue.waiting[-1] if queue.waiting else None
        text = event.text
        joined = tail is not None and not tail.is_fixed and tail.event.join(event)
        seq = tail.seq if tail is not None and joined else queue.last + 1
        line = _encode(_Line(seq=seq, data=text))
        if len(line) > limits.EVENT_BYTES_MAX:  # never text that was joined, which is short
            self._append_cut(text, None if is_cut else cut(text))
            return
        self._journal.append(line)
        if tail is not None and joined:
            self._extend(tail, len(line))
        else:
            queue.put(_Numbered(seq, event, len(line)))

    def _append_cut(self, text: str, smaller: str | None) -> None:
        _log.warning("an event is too large for the line", session=self.session_id, bytes=len(text))
        if smaller is None:
            self.queue.last += 1  # its number is missing: the loss can be seen
        else:
            self.append(Event(smaller), is_cut=True)

    def _extend(self, tail: _Numbered, by: int) -> None:
        self.queue.grew(tail, by)
        tail.size += by

    def take(self) -> Outgoing:
        one = self.queue.take()
        one.is_fixed = True
        return Outgoing(self.session_id, one.seq, one.event.text, one.size)

    def acked(self, seq: int) -> None:
        """Everything up to this number is safe."""
        self.queue.drop_until(seq)
        self.queue.tidy()
        if self.queue.is_empty:
            self._journal.close()  # it opens again with the next event, if there ever is one
            if self._journal.is_behind:
                self._journal.clear()

    def delivered(self, seq: int) -> None:
        """As `acked`, for a control plane that acknowledges nothing: this is the last that will
        ever be heard of these events, so the file must know."""
        before = len(self.queue)
        self.acked(seq)
        if self.queue.is_empty:
            self._journal.clear()
        elif len(self.queue) < before:
            self._journal.mark(_encode(_Line(acked=seq)))

    def shrink(self, bytes_max: int) -> None:
        lost = self.queue.shrink(lambda: self.queue.bytes > bytes_max)
        if lost:
            _log.warning("the outbox is full: events lost", session=self.session_id, lost=len(lost))

    def remove(self) -> None:
        """The file is not needed any more."""
        self._journal.remove()

    def _load(self) -> None:
        """What an earlier process left. It may have been sent, so nothing of it is changed."""
        for line, size in self._journal.entries(_decode):
            tail = self.queue.waiting[-1] if self.queue.waiting else None
            if line.acked:
                self.queue.drop_until(line.acked)
            elif tail is not None and line.seq == tail.seq:
                if tail.event.join(Event(line.data)):
                    self._extend(tail, size)
            elif line.seq > self.queue.last:
                self.queue.put(_Numbered(line.seq, Event(line.data), size, is_fixed=True))
