"""A backup is made and put back wholly or not at all, and never over what somebody still needs."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.control.backup.conftest import MADE_AT, Silent
from tests.unit.control.backup.test_archive import database, files_of, written
from trunkline.control import data_folder
from trunkline.control.access.keys import Keys
from trunkline.control.backup import making, restored, restoring
from trunkline.control.backup.restored import Restored
from trunkline.control.errors import TrunklineError
from trunkline.control.settings import Settings

POSTGRES = "postgresql+asyncpg://nobody@127.0.0.1:1/none"
NOW = MADE_AT + 60_000


def restore(settings: Settings, saved: Path, *, replace: bool = False) -> Path | None:
    _, aside = restoring.restore(settings, saved, now_ms=NOW, progress=Silent(), replace=replace)
    return aside


def refused(code: str, work: Callable[[], object], said: str | None = None) -> None:
    with pytest.raises(TrunklineError, match=said) as error:
        work()
    assert error.value.code == code


def names(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir()} - {data_folder.LOCK}


def test_a_restored_folder_is_private_and_says_that_it_was_restored(
    saved: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    assert restore(Settings(data=str(data)), saved) is None
    assert names(data) == {"trunkline.db", "log.db", "keys", "audit-heads", restored.FILE}
    files = files_of(saved)
    assert (data / "keys" / "sealing.key").read_bytes() == files["keys/sealing.key"]
    assert {one.stat().st_mode & 0o077 for one in data.rglob("*")} == {0}
    assert restored.read(data) == Restored(restored_at=NOW, made_at=MADE_AT)


def test_a_folder_with_a_system_or_a_server_is_refused_and_a_replaced_one_is_kept(
    saved: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    settings = Settings(data=str(data))
    data.mkdir(mode=0o700)
    (data / "home-folder").write_text("closed")  # no part of a system
    restore(settings, saved)
    (data / "log.db").write_bytes(b"the old one")
    (data / "log.db-wal").write_bytes(b"of the old one")
    refused("DATA_NOT_EMPTY", lambda: restore(settings, saved), "--replace")
    with data_folder.held(settings):
        refused("DATA_IN_USE", lambda: restore(settings, saved, replace=True), "another server")
    assert (data / "log.db").read_bytes() == b"the old one"
    first, second = (restore(settings, saved, replace=True) for _ in range(2))
    assert first is not None
    assert second not in (None, first)
    assert (first / "log.db").read_bytes() == b"the old one"
    assert (first / "log.db-wal").exists()
    assert not (data / "log.db-wal").exists()
    assert names(data) >= {"home-folder", "trunkline.db", "log.db"}


def test_a_bad_backup_and_a_full_disk_change_nothing(saved: Path, tmp_path: Path) -> None:
    data, bad = tmp_path / "data", tmp_path / "bad.tar"
    settings = Settings(data=str(data))
    restore(settings, saved)
    before = {one: one.stat().st_mtime_ns for one in data.rglob("*.db")}
    whole = saved.read_bytes()
    bad.write_bytes(whole[:2_000] + b"X" + whole[2_001:])
    refused("BACKUP_BAD", lambda: restore(settings, bad, replace=True))
    refused(
        "RESTORE_FAILED",
        lambda: restoring.restore(
            settings, saved, now_ms=NOW, progress=Silent(), replace=True, free=lambda _: 1_000
        ),
        "are needed to unpack",
    )
    assert {one: one.stat().st_mtime_ns for one in data.rglob("*.db")} == before
    assert not list(data.glob(".restore*")) + list(data.glob("replaced*"))


def test_an_older_schema_is_left_to_the_next_start(saved: Path, tmp_path: Path) -> None:
    files, path = files_of(saved), tmp_path / "older.tar"
    older = "UPDATE alembic_version SET version_num = 'log_0001'"
    changed = {**files, "log.db": database(files["log.db"], tmp_path, older)}
    schemas = {**json.loads(files["manifest.json"])["schemas"], "log": "log_0001"}
    path.write_bytes(written(changed, schemas=schemas))
    assert restore(Settings(data=str(tmp_path / "data")), path) is None


def test_keys_that_are_elsewhere_are_added_there_and_never_changed(
    saved: Path, tmp_path: Path
) -> None:
    keys = tmp_path / "vault"
    settings = Settings(data=str(tmp_path / "data"), keys=str(keys))
    files = files_of(saved)
    keys.mkdir(mode=0o700)
    (keys / "sealing.key").write_bytes(files["keys/sealing.key"])
    restore(settings, saved)
    assert (keys / "signing.pem").read_bytes() == files["keys/signing.pem"]
    assert not (settings.data_dir / "keys").exists()
    (keys / "sealing.key").write_bytes(bytes(32))
    refused("DATA_NOT_EMPTY", lambda: restore(settings, saved, replace=True), "another system")
    assert (keys / "sealing.key").read_bytes() == bytes(32)


def test_keys_in_one_file_are_saved_and_put_back_there(
    system: Settings, saved: Path, tmp_path: Path
) -> None:
    vault = tmp_path / "keys.pem"
    settings = Settings(data=str(tmp_path / "data"), keys=str(vault))
    restore(settings, saved)
    assert not (settings.data_dir / "keys").exists()
    making.make(settings, tmp_path / "again.tar", now_ms=MADE_AT, progress=Silent())
    ours, theirs = files_of(tmp_path / "again.tar"), files_of(saved)
    for name in ("keys/signing.pem", "keys/sealing.key", "keys/vapid.pem"):
        assert ours[name] == theirs[name]
    Keys.open(vault.with_name("others.pem"))
    other = Settings(data=str(tmp_path / "other"), keys=str(vault.with_name("others.pem")))
    refused("DATA_NOT_EMPTY", lambda: restore(other, saved), "another system")


def test_of_a_system_on_postgresql_all_but_the_database_is_saved_and_restored(
    system: Settings, saved: Path, tmp_path: Path
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    shutil.copytree(system.data_dir, there)
    theirs = Settings(data=str(there), database_url=POSTGRES)
    manifest = making.make(theirs, tmp_path / "p.tar", now_ms=MADE_AT, progress=Silent())
    assert (manifest.database, manifest.schemas, manifest.counts) == ("postgresql", {}, {})
    assert {one.name for one in manifest.files} == {
        f"keys/{one}" for one in ("sealing.key", "signing.pem", "vapid.pem")
    }
    ours = Settings(data=str(here), database_url=POSTGRES)
    refused("RESTORE_OTHER_DATABASE", lambda: restore(ours, saved))
    refused("RESTORE_OTHER_DATABASE", lambda: restore(Settings(data=str(here)), tmp_path / "p.tar"))
    restore(ours, tmp_path / "p.tar")
    assert names(here) == {"keys", restored.FILE}
    restored.remove(here)
    restoring.skip_ids(ours, now_ms=NOW)
    assert restored.read(here) == Restored(restored_at=NOW)
    other = Settings(data=str(here), database_url=f"sqlite+aiosqlite:///{tmp_path / 'x.db'}")
    refused("RESTORE_OTHER_DATABASE", lambda: restore(other, saved), "unset")


@pytest.mark.parametrize(
    ("prepare", "code", "said"),
    [
        (lambda data, to: (data / "log.db").unlink(), "BACKUP_NOTHING", "has no databases"),
        (lambda data, to: (data / "keys" / "vapid.pem").unlink(), "BACKUP_NOTHING", "vapid.pem"),
        (lambda data, to: to.mkdir(), "BACKUP_EXISTS", "is a folder"),
        (lambda data, to: to.write_text("mine"), "BACKUP_EXISTS", "is there already"),
        (lambda data, to: to.parent.rmdir(), "BACKUP_FAILED", "No such file"),
        (lambda data, to: (data / "log.db").write_bytes(b"x" * 9_000), "BACKUP_FAILED", "database"),
        (
            lambda data, to: _interrupted(data),
            "RESTORE_UNFINISHED",
            "next start of the server finishes it",
        ),
    ],
)
def test_where_no_backup_can_be_made_it_says_why_and_leaves_nothing(
    system: Settings, tmp_path: Path, prepare: Callable[[Path, Path], object], code: str, said: str
) -> None:
    data, to = tmp_path / "data", tmp_path / "to" / "b.tar"
    to.parent.mkdir()
    shutil.copytree(system.data_dir, data)
    prepare(data, to)
    before = set(to.parent.iterdir()) if to.parent.exists() else None
    settings = Settings(data=str(data))
    refused(code, lambda: making.make(settings, to, now_ms=1, progress=Silent()), said)
    assert (set(to.parent.iterdir()) if to.parent.exists() else None) == before


def _interrupted(data: Path) -> None:
    (data / ".restore").mkdir()
    (data / ".restore" / "ready").touch()


def test_a_backup_needs_room_and_replaces_only_what_it_may(
    system: Settings, tmp_path: Path
) -> None:
    to = tmp_path / "b.tar"
    to.write_text("the last one")
    for left in (".b.tar.part", ".b.tar.db.part"):  # by a process that was killed
        (tmp_path / left).write_bytes(os.urandom(5_000_000))

    def make(free: int) -> None:
        making.make(system, to, now_ms=1, progress=Silent(), replace=True, free=lambda _: free)

    refused("BACKUP_FAILED", lambda: make(1_000_000), "MB are needed")
    assert to.read_text() == "the last one"
    make(10**9)
    restoring.verify(to, progress=Silent())
    assert names(tmp_path) == {"b.tar"}
    to = tmp_path / "pipe"
    os.mkfifo(to)
    refused("BACKUP_EXISTS", lambda: make(10**9), "is there already")


@pytest.mark.slow
def test_a_restore_that_is_killed_leaves_the_old_system_or_the_new_one() -> None:
    """At every step; what it does is told in tests/support/restore_crashes.py."""
    memory = Path("/dev/shm")  # a killed process needs no disk to be forgotten
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.restore_crashes", folder],
            capture_output=True,
            text=True,
            check=True,
            timeout=240,
        )
    *deaths, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(deaths) > 20
    assert [one["step"] for one in (*deaths, last) if not one["died"]] == [last["step"]]
    for one in (*deaths, last):
        is_new = one["then"] == "new"
        assert one["then"] in ("old", "new"), one
        assert one["left"] != "mix", one
        assert one["kept"] == (["old"] if is_new else []), one
        assert one["is_noted"] is is_new, one
        assert one["rest"] == [], one
    ends = [one["then"] for one in (*deaths, last)]
    assert ends == sorted(ends, reverse=True)
    assert {ends[0], ends[-1]} == {"old", "new"}
