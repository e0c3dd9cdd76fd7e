"""A list of any length is one parameter, and one statement, of both databases."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event, select

from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import orgs, users
from trunkline.control.store.service_schema import memories

NAMES = ["a", "b", 'it\'s "one"', "名字", "back\\slash"]


@contextmanager
def statements(store: Store) -> Iterator[set[str]]:
    seen: set[str] = set()

    def note(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        seen.add(statement)

    event.listen(store.engine.sync_engine, "before_cursor_execute", note)
    yield seen
    event.remove(store.engine.sync_engine, "before_cursor_execute", note)


async def test_every_length_finds_its_rows_by_the_same_statement(store: Store) -> None:
    async with store.write() as connection:
        for name in NAMES:
            row = {"id": name, "name": name, "created_at": 1}
            await connection.execute(orgs.insert().values(row))
    with statements(store) as seen:
        for wanted in ([], ["b"], NAMES[1:], [*NAMES, *(f"x{n}" for n in range(2_000))]):
            found = await store.scalars(select(orgs.c.id).where(among(orgs.c.id, wanted)))
            assert sorted(found) == sorted(set(wanted) & set(NAMES))
    assert len(seen) == 1


async def test_those_that_are_not_among_them_and_numbers(store: Store) -> None:
    others = select(users.c.id).where(~among(users.c.id, ["x"]))
    assert "x" not in await store.scalars(others)
    numbers = select(memories.c.id).where(among(memories.c.fts_rowid, [2**40]))
    assert await store.scalars(numbers) == []


async def test_sqlite_looks_each_value_up(sqlite_store: Store) -> None:
    with statements(sqlite_store) as seen:
        await sqlite_store.all(select(users.c.name).where(among(users.c.id, ["x"])))
    async with sqlite_store.read() as connection:
        (query,) = seen
        plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", ('["x"]',))
        step = str(plan.first())
    assert "SEARCH users USING INDEX" in step
