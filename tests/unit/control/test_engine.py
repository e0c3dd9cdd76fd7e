"""The record store's connections: each one that was opened is closed, whatever happens between."""

import asyncio
import gc
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import text

from tests.support.eventually import eventually
from trunkline.control.errors import Unavailable
from trunkline.control.store.engine import Store, connect, sqlite_url


def _is_open(path: Path) -> bool:
    return str(path) in {file.path for file in psutil.Process().open_files()}


async def _until_closed(path: Path) -> None:
    """A connection that was cut off is closed by its own thread."""

    async def look() -> bool:
        return _is_open(path)

    await eventually(look, lambda is_open: not is_open)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.db"


async def test_a_read_that_outlives_the_store_closes_its_connection(path: Path) -> None:
    store = await Store.open(sqlite_url(path))
    async with store.read() as connection:
        await connection.execute(text("SELECT 1"))
        await store.close()
        assert _is_open(path)
        await connection.execute(text("SELECT 1"))
    await _until_closed(path)


async def test_connections_that_are_kept_are_there_from_the_start(path: Path) -> None:
    def count() -> int:
        return sum(file.path == str(path) for file in psutil.Process().open_files())

    store = await Store.open(sqlite_url(path))
    await store.fill()
    kept = count()
    async with store.read() as one, store.read() as two, store.write() as three:
        for connection in (one, two, three):
            await connection.execute(text("SELECT 1"))
        assert count() == kept
    await store.close()
    await _until_closed(path)


async def test_a_write_that_outlives_the_store_is_committed_and_closed(path: Path) -> None:
    store = await Store.open(sqlite_url(path))
    async with store.write() as connection:
        await store.close()
        await connection.execute(text("CREATE TABLE late (x INTEGER)"))
    await _until_closed(path)
    again = await Store.open(sqlite_url(path))
    async with again.read() as connection:
        await connection.execute(text("SELECT x FROM late"))
    await again.close()


async def test_a_read_after_the_end_leaves_no_connection_behind(path: Path) -> None:
    store = await Store.open(sqlite_url(path))
    await store.close()
    await store.ping()
    await _until_closed(path)


@pytest.mark.parametrize("turns_of_the_loop", range(12))
async def test_a_read_that_is_cancelled_while_it_connects_closes_what_it_opened(
    path: Path, turns_of_the_loop: int
) -> None:
    store = await Store.open(sqlite_url(path))
    await store.engine.dispose()
    reading = asyncio.create_task(store.ping())
    for _ in range(turns_of_the_loop):
        await asyncio.sleep(0)
    reading.cancel()
    await store.close()
    await asyncio.wait([reading])
    await _until_closed(path)


async def test_a_read_that_is_cancelled_at_its_end_closes_its_connection(path: Path) -> None:
    """A task that was told to stop, and is not waited for, gives back its connection later."""
    store = await Store.open(sqlite_url(path))
    gate, is_read = threading.Event(), asyncio.Event()

    async def read() -> None:
        async with store.read() as connection:
            raw: Any = await connection.get_raw_connection()
            await raw.driver_connection.create_function("held", 0, lambda: gate.wait(60))
            held = asyncio.create_task(raw.driver_connection.execute_fetchall("SELECT held()"))
            await asyncio.sleep(0)
            is_read.set()
        await held

    reading = asyncio.create_task(read())
    await is_read.wait()
    reading.cancel()
    await store.close()
    gate.set()
    await asyncio.wait([reading])
    await _until_closed(path)


async def test_a_close_that_is_cut_off_ends_too(path: Path) -> None:
    connection = await connect(str(path))
    closing = asyncio.ensure_future(connection.close())
    await asyncio.sleep(0)  # it has told its thread, and waits
    connection.stop()  # as a pool does with a connection whose user is cancelled
    closing.cancel()
    ended, _ = await asyncio.wait([closing], timeout=10)
    assert ended == {closing}
    await _until_closed(path)


def test_an_answer_to_a_loop_that_has_ended_goes_nowhere_and_the_connection_closes(
    path: Path,
) -> None:
    gate = threading.Event()

    async def leave_behind() -> None:
        connection = await connect(str(path))
        await connection.create_function("held", 0, lambda: gate.wait(60))
        asking = asyncio.create_task(connection.execute_fetchall("SELECT held()"))
        await asyncio.sleep(0)
        connection.stop()  # as a pool does with a connection whose user is cancelled
        asking.cancel()

    before = set(threading.enumerate())
    asyncio.run(leave_behind())
    gate.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert not _is_open(path)


async def test_a_database_that_cannot_be_migrated_is_closed_again(path: Path) -> None:
    store = await Store.open(sqlite_url(path))
    async with store.write() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = 'records_9999'"))
    await store.close()
    with pytest.raises(Unavailable, match="used by a newer Trunkline"):
        await Store.open(sqlite_url(path))
    assert not _is_open(path)


def test_a_connect_that_the_end_of_the_event_loop_cuts_off_ends_before_the_loop(
    path: Path,
) -> None:
    begun = threading.Event()

    class Slow(sqlite3.Connection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            begun.set()
            time.sleep(0.05)  # still at it when everything in the loop is cancelled
            super().__init__(*arguments, **options)

    async def leave_behind() -> asyncio.Task[Any]:
        connecting = asyncio.create_task(connect(path, factory=Slow))
        await asyncio.to_thread(begun.wait)
        return connecting

    before = set(threading.enumerate())
    connecting = asyncio.run(leave_behind())
    assert connecting.cancelled()
    assert set(threading.enumerate()) <= before
    gc.collect()  # nobody has it; SQLite's module closes what is collected
    assert not _is_open(path)
