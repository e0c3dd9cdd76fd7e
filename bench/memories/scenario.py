"""Recall at five on the table, by words, by meaning and by both; and the time of a search among
100,000 memories, in SQLite and in PostgreSQL.

No server and no generator: the control plane's own service, on a new database.
"""

import asyncio
import random
import secrets
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import insert
from tests.unit.control.postgres import NoPostgres, Postgres

from bench import budgets
from bench.memories import table
from bench.results import Metric, Results
from trunkline.control.clock import now_ms
from trunkline.control.ids import new_id
from trunkline.control.services import memory_terms
from trunkline.control.services.embeddings import BuiltIn
from trunkline.control.services.memories import Memories
from trunkline.control.services.memory_search import by_words, scope
from trunkline.control.services.memory_vectors import owners_of
from trunkline.control.store import schema, service_schema
from trunkline.control.store.engine import Store, sqlite_url

WORDS, MEANING, BOTH = "full text", "built-in vectors", "both"
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
_TOP = 5
_INSERTED_AT_ONCE = 2_000

Found = Callable[[str], Awaitable[list[str]]]


def memories(number: int, results: Results) -> list[str]:
    """One round; what could not be measured."""
    failures = []
    with tempfile.TemporaryDirectory(prefix="bench-memories-") as folder:
        asyncio.run(_measure(SQLITE, sqlite_url(Path(folder) / "records.db"), results))
    try:
        with _postgres() as server:
            url = asyncio.run(server.new_database())
            asyncio.run(_measure(POSTGRES, url, results))
    except NoPostgres as error:
        failures.append(f"memories, {POSTGRES}: {error}")
    return failures


@contextmanager
def _postgres() -> Iterator[Postgres]:
    server = Postgres()
    try:
        yield server
    finally:
        server.stop()


async def _measure(database: str, url: str, results: Results) -> None:
    store = await Store.open(url)
    try:
        await _recall(store, database, results)
        await _speed(store, database, results)
    finally:
        await store.close()


async def _recall(store: Store, database: str, results: Results) -> None:
    org, service = await _org(store), Memories(store, now_ms, BuiltIn())
    for content in table.remembered():
        await service.add(org, None, content)
    ways = await ways_of(store, service, org)
    for language, metric in (("en", Metric.RECALL_ENGLISH), ("zh", Metric.RECALL_CHINESE)):
        for name, found in ways.items():
            share = await recall(found, language)
            results.add(metric, f"{name}, {database}", 100 * share)


async def ways_of(store: Store, service: Memories, org: str) -> dict[str, Found]:
    """Each way to find memories of an org: contents, best first."""
    contents = {
        row.id: row.content
        for row in await store.all(service_schema.memories.select().where(scope(org, None)))
    }

    def best(scores: dict[str, float]) -> list[str]:
        ranked = sorted(scores, key=lambda one: (-scores[one], one))
        return [contents[one] for one in ranked[:_TOP] if one in contents]

    async def words(question: str) -> list[str]:
        async with store.read() as connection:
            terms = memory_terms.asked(question)
            return best(await by_words(connection, org, None, terms))

    async def meaning(question: str) -> list[str]:
        meant = await service.index.meaning(question, is_query=True)
        assert meant is not None
        async with store.read() as connection:
            return best(await meant.vectors.nearest(connection, owners_of(org, None), meant.vector))

    async def both(question: str) -> list[str]:
        return [hit.content for hit in await service.search(org, None, question, _TOP)]

    return {WORDS: words, MEANING: meaning, BOTH: both}


async def recall(found: Found, language: str | None = None) -> float:
    """The share of questions whose memory is among the five best."""
    asked = [pair for pair in table.pairs() if language in (None, pair.language)]
    return statistics.mean([pair.memory in await found(pair.question) for pair in asked])


async def _speed(store: Store, database: str, results: Results) -> None:
    org, service = await _org(store), Memories(store, now_ms, BuiltIn())
    await _fill(store, org)
    await service.index.catch_up()
    ways = await ways_of(store, service, org)
    questions = [pair.question for pair in table.pairs()][:: budgets.MEMORY_QUESTIONS_EVERY]
    for name, metric in ((MEANING, Metric.MEMORY_NEAREST), (BOTH, Metric.MEMORY_SEARCH)):
        took_ms = []
        for question in questions:
            began = time.perf_counter()
            await ways[name](question)
            took_ms.append(1000 * (time.perf_counter() - began))
        results.add(metric, database, statistics.median(took_ms))


async def _fill(store: Store, org: str) -> None:
    """Sentences of words that occur in real ones."""
    chance = random.Random(7)
    known = [content.split() if " " in content else [content] for content in table.remembered()]
    words = [word for content in known for word in content]
    rows = []
    for _ in range(budgets.MEMORIES):
        content = " ".join(chance.choices(words, k=8))
        rows.append(
            {
                "id": new_id(),
                "org_id": org,
                "content": content,
                "terms": memory_terms.indexed(content),
                "metadata": {},
                "fts_rowid": secrets.randbits(63),
                "created_at": 1,
            }
        )
    for start in range(0, len(rows), _INSERTED_AT_ONCE):
        async with store.write() as connection:
            some = rows[start : start + _INSERTED_AT_ONCE]
            await connection.execute(insert(service_schema.memories), some)


async def _org(store: Store) -> str:
    org = new_id()
    async with store.write() as connection:
        row = {"id": org, "name": org, "created_at": 1}
        await connection.execute(insert(schema.orgs).values(row))
    return org
