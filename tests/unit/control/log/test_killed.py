"""`kill -9` of a real process on a real file or database, in the middle of commits and folds."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.support.log_writer import SESSIONS, opened
from tests.unit.control.postgres import Postgres
from trunkline.control.log.store import Logged
from trunkline.control.store.engine import close_engine, open_engine, sqlite_url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "log.db")
    else:
        server: Postgres = request.getfixturevalue("postgres")
        async with server.database() as url:
            yield url


def _killed_after(place: str, commits: int) -> int:
    """How many commits it had made by its own word."""
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.support.log_writer", place],
        stdout=subprocess.PIPE,
        text=True,
    )
    with writer:
        assert writer.stdout is not None
        for _ in range(commits):
            last = int(writer.stdout.readline())
        writer.kill()
        return max([last, *(int(one) for one in writer.stdout.read().split("\n")[:-1])])


async def _folded(place: str) -> int:
    engine = open_engine(place if "://" in place else sqlite_url(Path(place)))
    async with engine.connect() as connection:
        found = await connection.scalar(text("SELECT count(*) FROM segments"))
    await close_engine(engine)
    return int(found or 0)


async def test_what_a_killed_process_has_committed_is_there_once_and_the_next_goes_on(
    place: str,
) -> None:
    for commits in (30, 60):
        said = await asyncio.to_thread(_killed_after, place, commits)
        # So many commits are more than the journal takes without a fold.
        assert await _folded(place)
        store = await opened(place)
        heads = await store.heads(SESSIONS)
        ends = {(head.last_id, head.machine_seq, head.note) for head in heads.values()}
        (end,) = ends  # one commit is of all sessions, whole
        last = end[0]
        assert last in (said, said + 1)  # its last word may not have been said
        wanted = [
            entry
            for number in range(1, last + 1)
            for entry in (
                Logged(number, 0, number, f'{{"n":{number},"of":"{SESSIONS[3]}"}}'),
                Logged(number, number, number, f"n{number}"),
            )
        ]
        assert await store.entries(SESSIONS[3], 0, 0) == wanted
        for one in SESSIONS:
            ids = [number for number, _ in await store.read(one, 0, 10_000)]
            assert ids == list(range(1, last + 1))
        await store.close()
