"""The log's SQLite file on a real file system of a few MiB."""

import subprocess
import sys
from pathlib import Path

from tests.support import small_disk

CHURN = """
import asyncio, secrets, sqlite3, sys
from pathlib import Path
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import Segment

async def tried(call, *given, **options):
    for _ in range(3):
        try:
            return await call(*given, **options)
        except sqlite3.OperationalError as error:
            full = error
            options = {"again": True} if call.__name__ == "append" else options
    raise full

async def main():
    store = await SqliteSegments.open(Path(sys.argv[1]) / "log.db")
    for number in range(60):
        line = f"{number} " + secrets.token_hex(25_000)
        await tried(store.append, [Segment(f"s{number}", 1, [line], line, number, None)])
        if number:
            assert (await store.read(f"s{number}", 0, 5)) == [(1, line)]
            await tried(store.delete, f"s{number}")
            await tried(store.fold, all=True)
    kept = await store.read("s0", 0, 5)
    assert [(one, text[:2]) for one, text in kept] == [(1, "0 ")], kept
    await store.close()

asyncio.run(main())
"""


def test_more_is_written_than_the_disk_holds_as_long_as_it_fits_at_any_time(
    tmp_path: Path,
) -> None:
    """What was moved out of the write-ahead log leaves its place to what comes, also before that
    is due."""
    small_disk.needed()
    script = small_disk.command(tmp_path, "2m", sys.executable, "-c", CHURN, str(tmp_path))
    ended = subprocess.run(script, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
