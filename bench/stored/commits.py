"""The scenario `commits`: what one commit takes as the sessions in it become more.

No server and no generator: the log's own store, in SQLite and in a PostgreSQL that waits for the
disk, is given commits as the log makes them in a crowd, one event of each session; and then folds
what they have left.
"""

import asyncio
import statistics
import tempfile
import time

from tests.unit.control.postgres import NoPostgres, Postgres

from bench import budgets
from bench.commands import EVENT_HEAD, EVENT_TAIL, TOKEN
from bench.results import Metric, Results
from trunkline.control.clock import now_ms
from trunkline.control.core import open_segments
from trunkline.control.ids import new_id
from trunkline.control.log.store import Segment, SegmentStore
from trunkline.control.settings import Settings

SQLITE, POSTGRES = "SQLite", "PostgreSQL"
_EVENT = f"{EVENT_HEAD}{TOKEN}{EVENT_TAIL}"
_WARM = 2


def commits(_number: int, results: Results) -> list[str]:
    """Gives what failed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        asyncio.run(_measure(SQLITE, Settings(data=folder), results))
        try:
            server = Postgres(is_durable=True)
        except NoPostgres as error:
            return [f"commits, {POSTGRES}: {error}"]
        try:
            url = asyncio.run(server.new_database())
            asyncio.run(_measure(POSTGRES, Settings(data=folder, database_url=url), results))
        finally:
            server.stop()
    return []


def row(engine: str, sessions: int) -> str:
    """How the results name it."""
    return f"{engine}, {sessions:,} sessions"


async def _measure(engine: str, settings: Settings, results: Results) -> None:
    store = await open_segments(settings)
    try:
        for sessions in budgets.COMMIT_SESSIONS:
            ids = [new_id() for _ in range(sessions)]
            wanted = budgets.COMMIT_EVENTS // sessions
            count = min(max(wanted, budgets.COMMITS_MIN), budgets.COMMITS_MAX)
            times_ms = [await _commit(store, ids, at + 1) for at in range(_WARM + count)][_WARM:]
            results.add(Metric.COMMIT, row(engine, sessions), statistics.median(times_ms))
            began = time.perf_counter()
            await store.fold(all=True)
            took_us = 1e6 * (time.perf_counter() - began)
            events = sessions * (_WARM + count)
            results.add(Metric.FOLD, row(engine, sessions), took_us / events)
    finally:
        await store.close()


async def _commit(store: SegmentStore, ids: list[str], event_id: int) -> float:
    at = now_ms()
    segments = [Segment(one, event_id, [_EVENT], _EVENT, at, None) for one in ids]
    began = time.perf_counter()
    await store.append(segments)
    return 1000 * (time.perf_counter() - began)
