"""Fixtures for everything that needs records: `store` on both databases, `keys`, `clock`.

A test that takes `store` runs twice, on SQLite and, as a slow one, on PostgreSQL; one that takes
`sqlite_store` runs once.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from tests.support.clock import FakeClock as FakeClock
from tests.unit.control.postgres import NoPostgres, Postgres, in_own_loop
from trunkline.control.access.keys import Keys
from trunkline.control.store.engine import Store, sqlite_url


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def keys() -> Keys:
    return Keys(generate_private_key(public_exponent=65537, key_size=2048), bytes(range(32)))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The run's PostgreSQL server; skips, and says why, where it cannot run."""
    try:
        server = Postgres()
    except NoPostgres as reason:
        pytest.skip(f"no PostgreSQL: {reason}")
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty database file that tests copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"

    async def migrate() -> None:
        await (await Store.open(sqlite_url(path))).close()

    in_own_loop(migrate())
    return path


@pytest.fixture
async def sqlite_store(tmp_path: Path, migrated_sqlite: Path) -> AsyncIterator[Store]:
    path = tmp_path / "records.db"
    shutil.copyfile(migrated_sqlite, path)
    store = await Store.open(sqlite_url(path))
    yield store
    await store.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, migrated_sqlite: Path
) -> AsyncIterator[Store]:
    """An empty, migrated store of its own for each test, on both databases."""
    async with AsyncExitStack() as stack:
        if request.param == "sqlite":
            path = tmp_path / "records.db"
            shutil.copyfile(migrated_sqlite, path)
            url = sqlite_url(path)
        else:
            server: Postgres = request.getfixturevalue("postgres")
            url = await stack.enter_async_context(server.database())
        store = await Store.open(url)
        stack.push_async_callback(store.close)
        yield store
