"""What one MyAgent connection was sent of its sessions, as runs of messages on pages. Pure.

A run: messages `seq`, `seq + 1`, … of the connection are of the events `event_id`, `event_id + 1`,
… of a session; a message that joins several events stands under the last of them. A page has runs
of one session, and where the client was before the first of them.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from trunkline import limits

_PAGES_MAX = 100  # of one session on one connection; without the older, more is repeated


class Place(NamedTuple):
    """Where to go on: after this event, without the first messages of the next one."""

    event_id: int
    skipped: int = 0


class Run(msgspec.Struct, array_like=True, gc=False):
    seq: int
    event_id: int
    nth: int
    """Which of its event's messages the first one is; the others are the first of theirs."""
    count: int = 1


@dataclass(slots=True, eq=False)
class Page:
    """Some runs of a session on a connection. Grows until it is full."""

    track: "Track"
    session_id: str
    seq: int
    place: Place
    acked: int | None
    runs: list[Run] = field(default_factory=list)
    updated_at: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.runs) >= self.track.page_runs

    @property
    def last_seq(self) -> int:
        return self.runs[-1].seq + self.runs[-1].count - 1 if self.runs else 0

    def add(self, seq: int, event_id: int, nth: int) -> None:
        run = self.runs[-1] if self.runs else None
        if (
            run is not None
            and nth == 0
            and run.seq + run.count == seq
            and run.event_id + run.count == event_id
        ):
            run.count += 1
        else:
            self.runs.append(Run(seq, event_id, nth))

    def row(self) -> dict[str, Any]:
        """As it is now; the page may grow while this is written."""
        return {
            "connection_id": self.track.connection_id,
            "session_id": self.session_id,
            "seq": self.seq,
            "user_id": self.track.user_id,
            "event_id": self.place.event_id,
            "skipped": self.place.skipped,
            "acked": self.acked,
            "runs": msgspec.to_builtins(self.runs),
            "updated_at": self.updated_at,
        }


class Book:
    """One session on one connection: the page that grows, and what is kept of those before."""

    __slots__ = ("_kept", "_pages_max", "page")

    def __init__(self, pages_max: int) -> None:
        self._pages_max = pages_max
        self.page: Page | None = None
        self._kept: list[tuple[int, bool]] = []

    def open(self, page: Page, *, begins: bool) -> int | None:
        """Goes on with that page. Returns the number of one that is to be dropped for it.

        Without a page, its messages count as the last one's before it: they come again. Where
        following began is kept longest, because before that the client may have been elsewhere.
        """
        self.page = page
        self._kept.append((page.seq, begins))
        if len(self._kept) <= self._pages_max:
            return None
        older = self._kept[:-1]
        dropped = next((one for one in older if not one[1]), older[0])
        self._kept.remove(dropped)
        return dropped[0]


class Track:
    """One connection."""

    def __init__(
        self,
        connection_id: str,
        user_id: str,
        *,
        page_runs: int = limits.MYAGENT_PAGE_RUNS,
        pages_max: int = _PAGES_MAX,
    ) -> None:
        """`page_runs`: that one page has; `pages_max`: of one session."""
        self.connection_id = connection_id
        self.page_runs = page_runs
        self._pages_max = pages_max
        self.user_id = user_id
        self.acked: int | None = None
        self.unsaved = 0
        """Pages that are to be written."""
        self._books: dict[str, Book] = {}

    def book(self, session_id: str) -> Book:
        book = self._books.get(session_id)
        if book is None:
            book = self._books[session_id] = Book(self._pages_max)
            if len(self._books) > 2 * limits.MYAGENT_SESSIONS_MAX:
                del self._books[next(iter(self._books))]  # most likely one that has ended
        return book

    def acknowledge(self, seq: int) -> list[Page]:
        """Returns the pages for which that is news."""
        if self.acked is not None and seq <= self.acked:
            return []
        self.acked = seq
        changed: list[Page] = []
        for book in self._books.values():
            page = book.page
            if page is not None and (page.acked is None or page.last_seq > page.acked):
                page.acked = seq
                changed.append(page)
        return changed


def place_on(place: Place, runs: list[Run], seq: int) -> Place:
    """Where a client is that has got the message with that number, and none after it."""
    run = next((one for one in reversed(runs) if one.seq <= seq), None)
    if run is None:
        return place
    further = min(run.count - 1, seq - run.seq)
    return Place(run.event_id + further - 1, 1 if further else run.nth + 1)
