"""`kill -9` of a real process on a real file, in the middle of commits and folds."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.support.log_writer import SESSIONS, TUNING
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import Logged


def _killed_after(file: Path, commits: int) -> int:
    """How many commits it had made by its own word."""
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.support.log_writer", str(file)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with writer:
        assert writer.stdout is not None
        for _ in range(commits):
            last = int(writer.stdout.readline())
        writer.kill()
        return max([last, *(int(one) for one in writer.stdout.read().split("\n")[:-1])])


async def test_what_a_killed_process_has_committed_is_there_once_and_the_next_goes_on(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log.db"
    for commits in (30, 60):
        said = _killed_after(file, commits)
        with closing(sqlite3.connect(file)) as connection:
            folded = connection.execute("SELECT count(*) FROM segments").fetchone()[0]
        assert folded  # so many commits are more than the journal takes without a fold
        store = await SqliteSegments.open(file, tuning=TUNING)
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
