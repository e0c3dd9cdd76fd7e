"""A log with a cut front and a gap: a reader has the right events, or hears that some are gone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.worn_log import AHEAD, CUT, END, GAP, IDS, LAST, POSITIONS, line_of, wear
from trunkline.control.clock import now_ms
from trunkline.control.log.feeds import Feeds, Message, Translate
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import Batch
from trunkline.control.log.sqlite_segments import SqliteSegments

WARM = pytest.mark.parametrize("warm", [True, False], ids=["in memory", "on disk"])


class Reader:
    def __init__(self) -> None:
        self.told: list[object] = []

    def deliver(self, batch: Batch) -> None:
        self.told += enumerate(batch.lines, batch.first_id)

    def resync(self) -> None:
        self.told.append("resync")


class Client:
    def __init__(self) -> None:
        self.ids: list[int] = []

    def take(self, session_id: str, messages: list[Message]) -> None:
        for one in messages:
            assert one.body == line_of(one.event_id).encode()  # its own line, not a neighbour's
            self.ids.append(one.event_id)

    async def room(self) -> None: ...


def plain(_session_id: str) -> Translate:
    return lambda first, lines: [
        Message(one, line.encode()) for one, line in enumerate(lines, first)
    ]


def events(ids: list[int]) -> list[tuple[int, str]]:
    return [(one, line_of(one)) for one in ids]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteSegments]:
    store = await SqliteSegments.open(tmp_path / "log.db")
    yield store
    await store.close()


@WARM
async def test_a_position_that_the_log_does_not_hold_is_a_resync(
    store: SqliteSegments, warm: bool
) -> None:
    log, session = await wear(store, warm=warm)
    for name, (position, is_held) in POSITIONS.items():
        reader = Reader()
        await log.follow(session, reader, position)
        is_near = is_held and position >= AHEAD  # the ring never reaches over the gap
        told = events([one for one in IDS if one > position])
        assert reader.told == (told if is_near else ["resync"]), name
        assert await log.holds(session, position) == is_held, name


@WARM
async def test_pages_have_each_event_once_whatever_is_gone(
    store: SqliteSegments, warm: bool
) -> None:
    log, session = await wear(store, warm=warm)
    for position, _ in POSITIONS.values():
        after = [one for one in IDS if one > position]
        for limit in (1, 3, 500):
            assert await log.read(session, position, limit) == events(after)[:limit]
        paged = [one async for page in log.pages(session, position, END) for one in page]
        assert paged == events(after)
        upto = [one for one in IDS if one <= position]
        back = [page async for page in log.back(session, position, 2)]
        assert [one for page in reversed(back) for one in page] == events(upto)
        part = [one async for page in log.pages(session, 0, position) for one in page]
        assert part == events(upto)
        for count in (1, 4, 8, 500):
            assert await log.newest(session, position, count) == events(upto)[-count:]


@WARM
async def test_the_place_before_the_newest_events_counts_events(
    store: SqliteSegments, warm: bool
) -> None:
    log, session = await wear(store, warm=warm)
    for count in (1, 5, 6, 9, 11, 500):
        place = await log.place_before(session, count)
        assert [one for one in IDS if one > place] == IDS[-count:], count
        place = await log.place_before(session, count, LAST)
        assert [one for one in IDS if place < one <= LAST] == IDS[:6][-count:], count


@WARM
async def test_a_feed_replays_over_the_gap_and_goes_on(store: SqliteSegments, warm: bool) -> None:
    log, session = await wear(store, warm=warm)
    for position, _ in POSITIONS.values():
        feeds, client = Feeds(log, plain), Client()
        await feeds.follow(session, client, position)
        assert client.ids == [one for one in IDS if one > position]
        feeds.leave("s", client)
    log.append(session, line_of(END + 1))
    await log.committed(session)
    late = Client()
    await Feeds(log, plain).follow(session, late, LAST)
    assert late.ids == [*range(AHEAD + 1, END + 2)]


async def test_a_log_that_is_restored_and_silent_gives_its_last_events_and_then_new_ones(
    store: SqliteSegments,
) -> None:
    log, session = await wear(store, warm=True)
    await store.skip(GAP)
    log = Log(store, now_ms)
    session = await log.open("s")
    assert session.last_id == END + GAP
    assert await log.newest(session, session.last_id, 3) == events(IDS[-3:])
    lost, here = Reader(), Reader()
    await log.follow(session, lost, END + 7)
    await log.follow(session, here, END + GAP)
    client = Client()
    await Feeds(log, plain).follow(session, client, END - 1)
    log.append(session, line_of(END + GAP + 1))
    await log.committed(session)
    assert lost.told == ["resync", *events([END + GAP + 1])]
    assert here.told == events([END + GAP + 1])
    assert client.ids == [END, END + GAP + 1]


async def test_a_cut_in_memory_reaches_the_ring_and_ids_go_on(store: SqliteSegments) -> None:
    log, session = await wear(store, warm=True)
    assert await log.cut("s", AHEAD + 3) == AHEAD + 4
    reader = Reader()
    await log.follow(session, reader, AHEAD + 2)
    assert reader.told == ["resync"]
    assert await log.read(session, 0, 10) == events([AHEAD + 4, END])
    assert await log.cut("s", 2**53 - 1) == END + 1
    assert await log.read(session, 0, 10) == []
    assert await log.newest(session, END, 10) == []
    assert await log.holds(session, END)
    log.append(session, line_of(END + 1))
    await log.committed(session)
    assert reader.told == ["resync", *events([END + 1])]
    assert await log.read(session, 0, 10) == events([END + 1])


async def test_nothing_is_cut_under_one_who_reads_page_by_page(store: SqliteSegments) -> None:
    log, session = await wear(store, warm=False)
    pages = log.pages(session, CUT, END)
    first = await anext(pages)
    assert await log.cut("s", LAST) == CUT + 1
    rest = [one async for page in pages for one in page]
    assert first + rest == events(IDS)
    assert await log.cut("s", LAST) == AHEAD + 1
