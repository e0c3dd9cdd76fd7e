"""What the journal holds and the segments do not yet, in memory.

A commit is one append to a list. By session it is sorted some thousand entries at a time, and when
somebody asks: a reader of events that the ring has not, or the fold.
"""

from collections import deque
from collections.abc import Sequence

from trunkline.control.log.packing import Entry

BySession = dict[str, list[Entry]]

_UNSORTED_MAX = 2_000
"""A fraction of a millisecond. With all that a fold takes, nobody would be served for ten."""


class Unfolded:
    def __init__(self) -> None:
        self.rows: deque[tuple[int, int]] = deque()
        """The journal's rows in the order of their numbers, and what each takes in memory."""
        self.bytes = 0
        self._unsorted: list[Sequence[Entry]] = []
        self._unsorted_count = 0
        self._waiting: BySession = {}
        """What the next fold takes."""
        self._folding: BySession = {}
        """What the fold under way has not folded yet."""
        self.folding_upto = 0
        """The last row that it takes."""

    def add(self, seq: int, size: int, entries: Sequence[Entry]) -> None:
        is_late = bool(self.rows) and self.rows[-1][0] > seq
        self.rows.append((seq, size))
        if is_late:  # a commit and a delete have overtaken each other
            self.rows = deque(sorted(self.rows))
        self.bytes += size
        self._unsorted.append(entries)
        self._unsorted_count += len(entries)
        if self._unsorted_count > _UNSORTED_MAX:
            self._sort()

    def of(self, session_id: str) -> list[Entry]:
        """Of one session, in order."""
        self._sort()
        waiting = self._waiting.get(session_id, [])
        folding = self._folding.get(session_id)
        return waiting if folding is None else folding + waiting

    def sessions(self) -> set[str]:
        self._sort()
        return {*self._folding, *self._waiting}

    def drop(self, session_id: str) -> None:
        self._sort()
        self._waiting.pop(session_id, None)
        self._folding.pop(session_id, None)

    def replace(self, session_id: str, entries: Sequence[Entry]) -> None:
        """Before any fold: some of them were folded by an earlier process."""
        self._sort()
        if entries:
            self._waiting[session_id] = list(entries)
        else:
            self._waiting.pop(session_id, None)

    def begin(self, known: int) -> None:
        """A fold begins; one that did not come to its end goes on. `known`: a row up to which
        there is none that is not here yet."""
        if self._folding or not self.rows:
            return
        self._sort()
        self._folding, self._waiting = self._waiting, {}
        self.folding_upto = min(self.rows[-1][0], known)

    def slice(self, sessions_max: int, bytes_max: int) -> BySession:
        """Some of the fold under way: sessions, or the beginning of a large one."""
        found: BySession = {}
        size = 0
        for session_id, entries in self._folding.items():
            more = sum([len(one.body) for one in entries if one.body is not None])
            found[session_id] = entries if size + more <= bytes_max else _begin(entries, bytes_max)
            size += more
            if len(found) >= sessions_max or size >= bytes_max:
                break
        return found

    def folded(self, some: BySession) -> None:
        for session_id, entries in some.items():
            if rest := self._folding.pop(session_id)[len(entries) :]:
                self._folding[session_id] = rest

    def stale(self, bytes_max: int) -> int | None:
        """When all is folded: a row up to which the journal can be forgotten next, not too many at
        a time."""
        upto, size = None, 0
        for seq, row_bytes in self.rows:
            if seq > self.folding_upto or size > bytes_max:
                break
            upto, size = seq, size + row_bytes
        return upto

    def forget(self, upto: int) -> None:
        while self.rows and self.rows[0][0] <= upto:
            self.bytes -= self.rows.popleft()[1]

    def _sort(self) -> None:
        waiting = self._waiting
        for entries in self._unsorted:
            for one in entries:
                if one.first_id == 0:
                    waiting.pop(one.session_id, None)
                elif (found := waiting.get(one.session_id)) is not None:
                    found.append(one)
                else:
                    waiting[one.session_id] = [one]
        self._unsorted.clear()
        self._unsorted_count = 0


def _begin(entries: list[Entry], bytes_max: int) -> list[Entry]:
    size = 0
    for place, one in enumerate(entries):
        size += len(one.body or "")
        if size > bytes_max:
            return entries[: place + 1]
    return entries
