"""News cost what changes, not what happens: no look at the records without a listener, and one for
many changes."""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from trunkline.control.access.auth import Principal
from trunkline.control.news import News
from trunkline.control.sessions import state as states
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.projection import Position, Step
from trunkline.control.sessions.records import SessionRecords
from trunkline.control.signals import Signals
from trunkline.control.tasks import Tasks


class Looks:
    """Stands for both kinds of records."""

    def __init__(self) -> None:
        self.sessions: list[list[str]] = []
        self.questions: list[list[tuple[str, str]]] = []

    async def some(self, session_ids: Sequence[str]) -> list[Any]:
        self.sessions.append(list(session_ids))
        return []

    async def named(self, names: Sequence[tuple[str, str]]) -> list[Any]:
        self.questions.append(list(names))
        return []


class Record(msgspec.Struct, kw_only=True):
    id: str
    org_id: str
    user_id: str


class Page:
    def __init__(self, who: Principal) -> None:
        self.who = who
        self.told: list[bytes] = []

    def tell(self, news: bytes) -> None:
        self.told.append(news)


def step(session_id: str, *changes: states.Change) -> Step:
    return Step(session_id, Position(1, 1), 1, changes, b"")


async def test_records_are_read_only_for_listeners_and_once_for_many_changes() -> None:
    looks, tasks = Looks(), Tasks()
    news = News(cast(SessionRecords, looks), cast(Approvals, looks), tasks, Signals())
    news.session("a")
    news.written([step("a", states.TurnEnded("t", "completed", None))])
    assert len(tasks) == 0

    page = Page(Principal("u", "o", "admin"))
    news.listen(page)
    news.written([step("a", states.TurnNoted("t", {}), states.TurnTold("t", is_told=True))])
    assert len(tasks) == 0  # nothing that shows in a list
    for number in range(250):
        news.session(f"s{number}")
        news.session(f"s{number}")
    news.written([step("s0", states.Asked("q", {}), states.TurnOpened("t", "hi", None))])
    await tasks.done()
    assert [len(look) for look in looks.sessions] == [200, 50]
    assert looks.questions == [[("s0", "q")]]

    news.leave(page)
    news.session("b")
    await tasks.done()
    assert len(looks.sessions) == 2


async def test_what_goes_while_the_records_are_looked_at_does_not_come_back() -> None:
    class Slow(Looks):
        async def some(self, session_ids: Sequence[str]) -> list[Any]:
            news.gone("session", "a", ("o", "u"))
            return [Record(id=one, org_id="o", user_id="u") for one in session_ids]

    news = News(cast(SessionRecords, Slow()), cast(Approvals, Looks()), tasks := Tasks(), Signals())
    page = Page(Principal("u", "o", "member"))
    news.listen(page)
    news.session("a")
    news.session("b")
    await tasks.done()
    told = [(frame.split(b"\n")[0], b'"id":"a"' in frame) for frame in page.told]
    assert told == [(b"event: gone", True), (b"event: session", False)]


async def test_what_cannot_be_read_now_is_told_later() -> None:
    class Away(Looks):
        async def some(self, session_ids: Sequence[str]) -> list[Any]:
            await super().some(session_ids)
            if len(self.sessions) == 1:
                raise OSError("the database is away")
            return [Record(id=one, org_id="o", user_id="u") for one in session_ids]

    looks, tasks = Away(), Tasks()
    news = News(cast(SessionRecords, looks), cast(Approvals, looks), tasks, Signals(), retry_s=0)
    page = Page(Principal("u", "o", "member"))
    news.listen(page)
    news.written([step("a", states.Asked("q", {}))])
    await tasks.done()
    assert looks.questions == [[("a", "q")], [("a", "q")]]
    assert looks.sessions == [["a"], ["a"]]
    assert len(page.told) == 1


async def test_a_record_is_told_to_those_who_may_see_it() -> None:
    news = News(cast(SessionRecords, Looks()), cast(Approvals, Looks()), Tasks(), Signals())
    owner, fellow, head, stranger = (
        Page(Principal(user, org, role))
        for user, org, role in (
            ("u1", "o1", "member"),
            ("u2", "o1", "member"),
            ("u3", "o1", "org_admin"),
            ("u4", "o2", "org_admin"),
        )
    )
    for page in (owner, fellow, head, stranger):
        news.listen(page)
    news.gone("session", "s", ("o1", "u1"))
    frame = b'event: gone\ndata: {"kind":"session","id":"s"}\n\n'
    assert owner.told == head.told == [frame]
    assert fellow.told == stranger.told == []
