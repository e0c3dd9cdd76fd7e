"""Both engines of the log behave alike: same tests, SQLite and PostgreSQL."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from tests.unit.control.postgres import Postgres
from trunkline.control.clock import now_ms
from trunkline.control.log.journal import Journal
from trunkline.control.log.log import Log
from trunkline.control.log.postgres_segments import PostgresSegments
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import Head, Logged, NoteRow, Segment, SegmentStore
from trunkline.control.tuning import DEFAULT, Tuning


def segment(
    session_id: str,
    first_id: int,
    lines: list[str],
    at: int,
    machine_seq: int | None,
    *notes: NoteRow,
) -> Segment:
    body = "\n".join(lines)
    return Segment(session_id, first_id, lines, body, at, machine_seq, list(notes))


async def heads(store: SegmentStore, *session_ids: str) -> dict[str, Head]:
    """What each takes aside."""
    found = await store.heads(list(session_ids))
    return {one: head._replace(bytes=0) for one, head in found.items()}


async def all_entries(store: SegmentStore, session_id: str, *after: int) -> list[Logged]:
    """Page by page."""
    log, found = Log(store, now_ms), []
    async for page in log.entries(session_id, *(after or (0, 0))):
        found += page
    return found


@pytest.fixture
def page_bytes_max() -> int:
    return DEFAULT.events_page_bytes_max


class Folded(Journal):
    """Everything is folded at once."""

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        await super().append(segments, again=again)
        await self.fold(all=True)


class FoldedSqlite(Folded, SqliteSegments):
    pass


class FoldedPostgres(Folded, PostgresSegments):
    pass


@pytest.fixture(params=["journal", "folded"])
def is_folded(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "folded")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
async def segments(
    request: pytest.FixtureRequest, tmp_path: Path, page_bytes_max: int, is_folded: bool
) -> AsyncIterator[SegmentStore]:
    # Nothing is folded but by the test.
    tuning = Tuning(events_page_bytes_max=page_bytes_max, fold_quiet_s=3_600.0)
    opened: SegmentStore
    if request.param == "sqlite":
        engine = FoldedSqlite if is_folded else SqliteSegments
        opened = await engine.open(tmp_path / "log.db", tuning=tuning)
    else:
        server: Postgres = request.getfixturevalue("postgres")
        url = await server.new_database()
        other = FoldedPostgres if is_folded else PostgresSegments
        opened = await other.open(url, tuning=tuning)
    yield opened
    await opened.close()


async def test_what_was_appended_is_read_back_in_order_with_its_ids(
    segments: SegmentStore,
) -> None:
    await segments.append([segment("s1", 1, ["a", "b"], 10, None), segment("s2", 1, ["x"], 10, 7)])
    await segments.append([segment("s1", 3, ["c"], 11, 4)])
    assert await segments.read("s1", 0, 10) == [(1, "a"), (2, "b"), (3, "c")]
    assert await segments.read("s1", 1, 1) == [(2, "b")]
    assert await segments.read("s1", 3, 10) == []
    assert await segments.read("nobody", 0, 10) == []


async def test_heads_say_where_each_log_ends(segments: SegmentStore) -> None:
    await segments.append([segment("s1", 1, ["a", "b"], 10, None), segment("s2", 1, ["x"], 10, 7)])
    await segments.append([segment("s1", 3, ["c"], 11, 4)])
    assert await heads(segments, "s1", "s2", "s3") == {"s1": Head(3, 4), "s2": Head(1, 7)}


async def test_a_number_without_an_event_is_kept_and_is_no_event(segments: SegmentStore) -> None:
    await segments.append([segment("s1", 1, ["a"], 10, 4)])
    for again in (False, True):
        batch = [segment("s1", 2, [], 11, 5), segment("s2", 1, [], 11, 1)]
        await segments.append([*batch, segment("s3", 1, ["x"], 11, 1)], again=again)
    assert await heads(segments, "s1", "s2", "s3") == {
        "s1": Head(1, 5),
        "s2": Head(0, 1),
        "s3": Head(1, 1),
    }
    assert await segments.read("s1", 0, 10) == [(1, "a")]
    assert await segments.read("s2", 0, 10) == []
    await segments.append([segment("s1", 2, ["b"], 12, 6), segment("s2", 1, ["y"], 12, 2)])
    assert await heads(segments, "s1", "s2") == {"s1": Head(2, 6), "s2": Head(1, 2)}
    assert await segments.read("s2", 0, 10) == [(1, "y")]


async def test_any_text_survives(segments: SegmentStore) -> None:
    lines = ["", "你好 👋", "\u2028\x00\x85", "x" * 100_000, '{"a": "\\n"}', ""]
    await segments.append([segment("s1", 1, lines, 10, None)])
    await segments.append(
        [segment("s1", 7, [""], 11, None), segment("s2", 1, ["\ud800"], 11, None)]
    )
    assert [line for _, line in await segments.read("s1", 0, 10)] == [*lines, ""]
    assert await segments.read("s2", 0, 10) == [(1, "?")]


async def test_deleting_one_log_leaves_the_others(segments: SegmentStore) -> None:
    await segments.append([segment("s1", 1, ["a"], 10, None), segment("s2", 1, ["x"], 10, None)])
    await segments.delete("s1")
    assert await heads(segments, "s1", "s2") == {"s2": Head(1, None)}


async def test_notes_stand_among_the_events_in_their_order(segments: SegmentStore) -> None:
    await segments.append(
        [
            segment("s", 1, ["a", "b"], 10, None, NoteRow(1, 0, "n1"), NoteRow(2, 1, "n2")),
            segment("other", 1, ["x"], 10, None, NoteRow(1, 1, "its own")),
        ]
    )
    await segments.append([segment("s", 3, [], 11, None, NoteRow(3, 2, "n3"))])
    await segments.append([segment("s", 3, ["c"], 12, None, NoteRow(4, 3, "n4"))])
    wanted = [
        Logged(0, 1, 10, "n1"),
        Logged(1, 0, 10, "a"),
        Logged(1, 2, 10, "n2"),
        Logged(2, 0, 10, "b"),
        Logged(2, 3, 11, "n3"),
        Logged(3, 0, 12, "c"),
        Logged(3, 4, 12, "n4"),
    ]
    assert await segments.entries("s", 0, 0) == wanted
    # From every position that a fold can have reached.
    for place, entry in enumerate(wanted):
        note = max([0, *(one.note for one in wanted[: place + 1])])
        assert await segments.entries("s", entry.event_id, note) == wanted[place + 1 :]
    assert await segments.read("s", 0, 10) == [(1, "a"), (2, "b"), (3, "c")]
    assert await heads(segments, "s", "other") == {
        "s": Head(3, None, 4),
        "other": Head(1, None, 1),
    }


async def test_a_log_of_notes_only_has_a_head(segments: SegmentStore) -> None:
    await segments.append([segment("s", 1, [], 10, None, NoteRow(1, 0, "n"))])
    assert await heads(segments, "s") == {"s": Head(0, None, 1)}
    assert await segments.entries("s", 0, 0) == [Logged(0, 1, 10, "n")]


async def test_what_is_written_again_is_there_once(segments: SegmentStore) -> None:
    batch = [segment("s", 1, ["a"], 10, 4, NoteRow(1, 1, "n")), segment("t", 1, [], 10, 7)]
    await segments.append(batch)
    await segments.append([*batch, segment("u", 1, ["x"], 10, None)], again=True)
    assert await segments.entries("s", 0, 0) == [Logged(1, 0, 10, "a"), Logged(1, 1, 10, "n")]
    assert await heads(segments, "s", "t", "u") == {
        "s": Head(1, 4, 1),
        "t": Head(0, 7),
        "u": Head(1, None),
    }


async def test_entries_of_many_pages_are_merged_in_their_order(segments: SegmentStore) -> None:
    """More notes than a page in one place, more rows than a page in another."""
    count = 1_100
    many = [NoteRow(number, 1, f"n{number}") for number in range(1, count + 1)]
    await segments.append([segment("s", 1, ["a"], 1, None, *many)])
    await segments.append(
        [
            segment("s", 2 + number, [f"e{number}"], 2, None, *after)
            for number in range(count)
            for after in [[NoteRow(count + number + 1, 2 + number, f"m{number}")]]
        ]
    )
    texts = [one.text for one in await all_entries(segments, "s")]
    among = [text for number in range(count) for text in (f"e{number}", f"m{number}")]
    assert texts == ["a", *(one.body for one in many), *among]
    behind = [one.text for one in await all_entries(segments, "s", 600, count + 599)]
    assert behind == among[2 * 599 :]


@pytest.mark.parametrize("page_bytes_max", [1_000])
async def test_large_entries_come_in_smaller_pages(segments: SegmentStore) -> None:
    for number in range(1, 6):
        note = NoteRow(number, number, f"n{number}")
        await segments.append([segment("s", number, ["x" * 900], number, None, note)])
    first = await segments.entries("s", 0, 0)
    assert [(one.event_id, one.note) for one in first] == [(1, 0), (1, 1), (2, 0), (2, 2)]
    found = [(one.event_id, one.note) for one in await all_entries(segments, "s")]
    assert found == [(place, note) for place in range(1, 6) for note in (0, place)]


async def test_deleting_a_log_removes_its_notes_and_no_others(segments: SegmentStore) -> None:
    for session_id in ("s1", "s2"):
        await segments.append([segment(session_id, 1, ["a"], 10, None, NoteRow(1, 1, "n"))])
    await segments.delete("s1")
    assert await segments.entries("s1", 0, 0) == []
    assert await heads(segments, "s1", "s2") == {"s2": Head(1, None, 1)}


@pytest.mark.parametrize("page_bytes_max", [10_000])
async def test_the_newest_events_before_an_id_come_in_their_order(segments: SegmentStore) -> None:
    for first in range(1, 100, 3):
        lines = [f"e{number}" for number in range(first, first + 3)]
        await segments.append([segment("s", first, lines, first, None)])
    await segments.append([segment("s", 100, ["x" * 20_000], 100, None)])
    for before, limit in ((100, 5), (50, 7), (51, 7), (3, 10), (1, 10), (1_000_000, 1)):
        wanted = [number for number in range(1, 101) if number < before][-limit:]
        found = await segments.read_back("s", before, limit)
        assert [number for number, _ in found] == wanted
        assert all(line == f"e{number}" for number, line in found if number < 100)
    assert [number for number, _ in await segments.read_back("s", 200, 50)] == [100]
    assert await segments.read_back("nobody", 100, 5) == []


async def test_what_is_cut_off_is_gone_and_ids_and_note_numbers_go_on(
    segments: SegmentStore,
) -> None:
    for first in range(1, 31, 3):
        lines = [f"e{number}" for number in range(first, first + 3)]
        note = NoteRow(first, first + 2, f"n{first}")
        await segments.append([segment("s", first, lines, first, 7, note)])
    await segments.append([segment("other", 1, ["x"], 1, None)])
    await segments.fold(all=True)
    size = (await segments.sizes(["s"]))["s"]
    assert await segments.cut("s", 10) == 11
    events = await segments.read("s", 0, 100)
    assert events == [(number, f"e{number}") for number in range(11, 31)]
    at = {one.event_id: one.at for one in await all_entries(segments, "s") if not one.note}
    assert at == {number: (number - 1) // 3 * 3 + 1 for number in range(11, 31)}
    assert [one.event_id for one in await all_entries(segments, "s") if one.note == 0] == [
        number for number, _ in events
    ]
    assert await segments.cut("s", 30) == 31
    assert await segments.read("s", 0, 100) == []
    assert await segments.read_back("s", 100, 100) == []
    assert await all_entries(segments, "s") == []
    assert (await segments.sizes(["s"]))["s"] < size
    assert await heads(segments, "s") == {"s": Head(30, 7, 28, 31)}
    await segments.append([segment("s", 31, ["later"], 40, 8)])
    await segments.fold(all=True)
    assert await segments.read("s", 30, 100) == [(31, "later")]
    assert await heads(segments, "s") == {"s": Head(31, 8, 28, 31)}
    assert await segments.cut("s", 30) == 31
    assert await segments.cut("nobody", 30) == 1
    assert await segments.read("other", 0, 10) == [(1, "x")]


async def test_after_a_skip_every_log_goes_on_far_behind_its_end(segments: SegmentStore) -> None:
    await segments.append([segment("s", 1, ["a"], 1, 3), segment("cut", 1, ["b"], 1, None)])
    await segments.fold(all=True)
    await segments.cut("cut", 1)
    await segments.skip(1_000, ["s", "silent"])
    assert await heads(segments, "s", "cut", "silent", "nobody") == {
        "s": Head(1_001, 3, 0, 1),
        "cut": Head(1_001, None, 0, 1_002),
        "silent": Head(1_000, None, 0, 1_001),
    }
    await segments.append([segment("s", 1_002, ["z"], 2, 4, NoteRow(1, 1_001, "n"))])
    for _ in range(2):
        assert await segments.read("s", 0, 10) == [(1, "a"), (1_002, "z")]
        assert await segments.read("s", 500, 10) == [(1_002, "z")]
        assert await segments.read_back("s", 1_002, 10) == [(1, "a")]
        assert [one.text for one in await all_entries(segments, "s")] == ["a", "n", "z"]
        await segments.fold(all=True)


async def test_sizes_and_ages_tell_what_can_be_cut(segments: SegmentStore) -> None:
    await segments.append([segment(one, 1, ["x" * 100], 10, None) for one in ("a", "b", "c")])
    await segments.fold(all=True)
    attached = Random(1).randbytes(20_000).hex()  # of which most stays when it is packed
    note = NoteRow(1, 1, attached)
    await segments.append([segment("b", 2, ["y" * 100_000], 20, None, note)])
    await segments.fold(all=True)
    sizes = await segments.sizes()
    assert set(sizes) == {"a", "b", "c"}
    assert all(size > 0 for size in sizes.values())
    assert sizes["b"] > sizes["a"]
    assert await segments.sizes(["b", "nobody"]) == {"b": sizes["b"]}
    front = await segments.front("b", 10)
    assert [(one.first_id, one.last_id, one.at) for one in front][-1][1:] == (2, 20)
    # What stands behind an event goes with it: else more would be cut off than is too much.
    assert front[0].bytes > len(attached) // 2 > front[1].bytes > 0
    assert sum(one.bytes for one in front) == sizes["b"]
    assert await segments.front("b", 1) == front[:1]
    assert await segments.front("nobody", 10) == []
