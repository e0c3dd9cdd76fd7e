"""A database of an older version is copied, then upgraded, wholly or not at all; one that this
version does not know is refused in words."""

import json
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.upgrade_crashes import OLD
from trunkline.control.errors import Unavailable
from trunkline.control.store import backup, migrate
from trunkline.control.store.engine import Store, sqlite_url

NEW = migrate.HEADS["records"]
_MIB = 1024 * 1024


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "trunkline.db"
    path.parent.mkdir(mode=0o700)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE things (name)")
        connection.execute("INSERT INTO things VALUES ('kept')")
    return path


@pytest.mark.parametrize(
    ("found", "branch", "revision"),
    [
        ([], "records", None),
        (["log_0002"], "records", None),
        (["log_0002", OLD], "records", OLD),
        (["log_0001", NEW], "log", "log_0001"),
    ],
)
def test_a_branch_has_its_own_revision(found: list[str], branch: str, revision: str | None) -> None:
    assert migrate.revision(found, branch) == revision


@pytest.mark.parametrize(
    ("found", "branch", "code", "said"),
    [
        (["records_9999"], "records", "DATABASE_NEWER", f"is records_9999.* knows {NEW}"),
        (["log_0077", NEW], "records", "DATABASE_NEWER", "is log_0077.* knows log_"),
        (["1975ea83b712"], "log", "DATABASE_FOREIGN", "of another program"),
        ([f"records_{'9' * 500}"], "records", "DATABASE_NEWER", "is records_9{32}, "),
        (["'; DROP TABLE x; --\n"], "records", "DATABASE_FOREIGN", r"x; --\\n"),
    ],
)
def test_what_this_version_does_not_know_is_refused_in_words(
    found: list[str], branch: str, code: str, said: str
) -> None:
    with pytest.raises(Unavailable, match=said) as refused:
        migrate.revision(found, branch)
    assert refused.value.code == code
    assert len(refused.value.message) < 400


def test_a_copy_is_whole_and_private_and_the_oldest_go(database: Path) -> None:
    folder = database.with_name(backup.FOLDER)
    folder.mkdir()
    others = [f"trunkline-records_0001-2020010{day}T000000Z.db" for day in range(1, 7)]
    for name in (*others, ".trunkline-records_0001-x.part", "log-log_0001-20200101T000000Z.db"):
        (folder / name).touch()
    made = backup.make(database, OLD)
    assert backup.copies(database) == [made, *(folder / name for name in others[:1:-1])]
    assert made.name.startswith(f"trunkline-{OLD}-2")
    assert {one.name for one in folder.iterdir()} == {
        made.name,
        *others[2:],
        "log-log_0001-20200101T000000Z.db",
    }
    assert (folder.stat().st_mode & 0o777, made.stat().st_mode & 0o777) == (0o700, 0o600)
    with closing(sqlite3.connect(made)) as connection:
        assert connection.execute("SELECT name FROM things").fetchall() == [("kept",)]


def test_without_room_for_a_copy_nothing_is_changed(database: Path) -> None:
    with pytest.raises(Unavailable, match=r"needs 65 MB, and 1 MB are free\. Make room") as refused:
        backup.make(database, OLD, free=lambda _: 1_000)
    assert refused.value.code == "BACKUP_FAILED"
    assert backup.copies(database) == []
    assert backup.make(database, OLD, free=lambda _: 66 * _MIB).is_file()


def test_where_no_copy_can_be_made_it_says_why(database: Path) -> None:
    database.with_name(backup.FOLDER).touch()
    with pytest.raises(Unavailable, match=r"not upgraded: .*(exists|directory)"):
        backup.make(database, OLD)


async def test_a_new_database_has_no_copies_and_a_current_one_gets_none(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    for _ in range(2):
        await (await Store.open(sqlite_url(path))).close()
    assert backup.copies(path) == []
    assert migrate.versions_of_file(path) == [NEW]


@pytest.mark.slow
def test_an_upgrade_that_is_killed_leaves_the_old_or_the_new_and_a_copy() -> None:
    """At every step; what it does is told in tests/support/upgrade_crashes.py."""
    memory = Path("/dev/shm")  # a killed process needs no disk to be forgotten
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.upgrade_crashes", folder],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
    deaths = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    *killed, last = deaths
    assert (last["died"], last["version"], last["copies"]) == (False, [NEW], [[OLD]])
    assert len(killed) > 15
    for one in killed:
        assert one["died"]
        assert one["is_well"], one
        assert one["version"] in ([OLD], [NEW])
        assert all(copy == [OLD] for copy in one["copies"])
        if one["version"] == [NEW]:
            assert one["copies"]
        if "then" in one:
            assert (one["next_start"], one["then"]["version"]) == (True, [NEW])
            assert one["then"]["copies"]
    whole = {OLD: killed[0]["schema"], NEW: last["schema"]}
    assert [one for one in killed if one["schema"] != whole[one["version"][0]]] == []
    # It was killed before there was a copy, and in the middle of the change itself.
    assert {bool(one["copies"]) for one in killed} == {True, False}
