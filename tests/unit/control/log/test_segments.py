"""Both engines of the log behave alike: same tests, SQLite and PostgreSQL."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.control.postgres import Postgres
from trunkline.control.log.segments import (
    Head,
    Segment,
    SegmentStore,
    SqliteSegments,
    SqlSegments,
)


def segment(
    session_id: str, first_id: int, lines: list[str], at: int, machine_seq: int | None
) -> Segment:
    return Segment(session_id, first_id, lines, "\n".join(lines), at, machine_seq)


@pytest.fixture(params=["sqlite", "postgres"])
async def segments(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SegmentStore]:
    opened: SegmentStore
    if request.param == "sqlite":
        opened = await SqliteSegments.open(tmp_path / "log.db")
    else:
        server: Postgres = request.getfixturevalue("postgres")
        opened = await SqlSegments.open(await server.new_database())
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
