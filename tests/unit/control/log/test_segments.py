"""Both engines of the log behave alike: same tests, SQLite and PostgreSQL."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.unit.control.postgres import Postgres
from trunkline.control.clock import now_ms
from trunkline.control.log.log import Log
from trunkline.control.log.segments import (
    Head,
    Logged,
    NoteRow,
    Segment,
    SegmentStore,
    SqliteSegments,
    SqlSegments,
)
from trunkline.control.tuning import DEFAULT


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


async def all_entries(store: SegmentStore, session_id: str, *after: int) -> list[Logged]:
    """Page by page."""
    log, found = Log(store, now_ms), []
    async for page in log.entries(session_id, *(after or (0, 0))):
        found += page
    return found


@pytest.fixture
def page_bytes_max() -> int:
    return DEFAULT.events_page_bytes_max


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
async def segments(
    request: pytest.FixtureRequest, tmp_path: Path, page_bytes_max: int
) -> AsyncIterator[SegmentStore]:
    opened: SegmentStore
    if request.param == "sqlite":
        opened = await SqliteSegments.open(tmp_path / "log.db", page_bytes_max=page_bytes_max)
    else:
        server: Postgres = request.getfixturevalue("postgres")
        url = await server.new_database()
        opened = await SqlSegments.open(url, page_bytes_max=page_bytes_max)
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
    heads = await segments.heads(["s1", "s2", "s3"])
    assert heads == {"s1": Head(3, 4), "s2": Head(1, 7)}


async def test_a_number_without_an_event_is_kept_and_is_no_event(segments: SegmentStore) -> None:
    await segments.append([segment("s1", 1, ["a"], 10, 4)])
    for again in (False, True):
        batch = [segment("s1", 2, [], 11, 5), segment("s2", 1, [], 11, 1)]
        await segments.append([*batch, segment("s3", 1, ["x"], 11, 1)], again=again)
    heads = await segments.heads(["s1", "s2", "s3"])
    assert heads == {"s1": Head(1, 5), "s2": Head(0, 1), "s3": Head(1, 1)}
    assert await segments.read("s1", 0, 10) == [(1, "a")]
    assert await segments.read("s2", 0, 10) == []
    await segments.append([segment("s1", 2, ["b"], 12, 6), segment("s2", 1, ["y"], 12, 2)])
    assert await segments.heads(["s1", "s2"]) == {"s1": Head(2, 6), "s2": Head(1, 2)}
    assert await segments.read("s2", 0, 10) == [(1, "y")]


async def test_a_batch_is_written_whole_or_not_at_all(segments: SegmentStore) -> None:
    await segments.append([segment("s1", 1, ["a"], 10, None)])
    clash = [segment("s2", 1, ["x"], 10, None), segment("s1", 1, ["again"], 10, None)]
    with pytest.raises(Exception, match=r"(?i)unique"):
        await segments.append(clash)
    assert await segments.read("s2", 0, 10) == []
    assert await segments.read("s1", 0, 10) == [(1, "a")]
    await segments.append([segment("s2", 1, ["x"], 10, None)])
    assert await segments.read("s2", 0, 10) == [(1, "x")]


async def test_any_text_survives(segments: SegmentStore) -> None:
    lines = ["", "你好 👋", "\u2028\x00\x85", "x" * 100_000, '{"a": "\\n"}']
    await segments.append([segment("s1", 1, lines, 10, None)])
    assert [line for _, line in await segments.read("s1", 0, 10)] == lines


async def test_deleting_one_log_leaves_the_others(segments: SegmentStore) -> None:
    await segments.append([segment("s1", 1, ["a"], 10, None), segment("s2", 1, ["x"], 10, None)])
    await segments.delete("s1")
    assert await segments.heads(["s1", "s2"]) == {"s2": Head(1, None)}


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
    assert await segments.heads(["s", "other"]) == {
        "s": Head(3, None, 4),
        "other": Head(1, None, 1),
    }


async def test_a_log_of_notes_only_has_a_head(segments: SegmentStore) -> None:
    await segments.append([segment("s", 1, [], 10, None, NoteRow(1, 0, "n"))])
    assert await segments.heads(["s"]) == {"s": Head(0, None, 1)}
    assert await segments.entries("s", 0, 0) == [Logged(0, 1, 10, "n")]


async def test_notes_are_written_with_their_events_or_not_at_all_and_once(
    segments: SegmentStore,
) -> None:
    batch = [segment("s", 1, ["a"], 10, None, NoteRow(1, 1, "n"))]
    await segments.append(batch)
    clash = [segment("s", 2, ["b"], 10, None, NoteRow(2, 2, "m"), NoteRow(1, 2, "clash"))]
    with pytest.raises(Exception, match=r"(?i)unique"):
        await segments.append(clash)
    await segments.append(batch, again=True)
    assert await segments.entries("s", 0, 0) == [Logged(1, 0, 10, "a"), Logged(1, 1, 10, "n")]


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
    assert await segments.heads(["s1", "s2"]) == {"s2": Head(1, None, 1)}


async def test_the_sqlite_file_has_the_format_that_older_versions_wrote(tmp_path: Path) -> None:
    """A golden row: what is on disk must stay readable."""
    store = await SqliteSegments.open(tmp_path / "log.db")
    await store.append([segment("s1", 41, ['{"type":"text_chunk"}', "{}"], 1234, 9)])
    await store.close()
    with sqlite3.connect(tmp_path / "log.db") as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(segments)")]
        rows = connection.execute("SELECT * FROM segments").fetchall()
    connection.close()
    assert columns == ["session_id", "last_id", "first_id", "at", "machine_seq", "body"]
    assert rows == [("s1", 42, 41, 1234, 9, b'{"type":"text_chunk"}\n{}')]


async def test_notes_on_disk_have_the_format_that_older_versions_wrote(tmp_path: Path) -> None:
    store = await SqliteSegments.open(tmp_path / "log.db")
    await store.append([segment("s1", 41, [], 1234, None, NoteRow(7, 40, '{"type":"heard"}'))])
    await store.close()
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(notes)")]
        rows = connection.execute("SELECT * FROM notes").fetchall()
    assert columns == ["session_id", "number", "after_id", "at", "body"]
    assert rows == [("s1", 7, 40, 1234, '{"type":"heard"}')]
