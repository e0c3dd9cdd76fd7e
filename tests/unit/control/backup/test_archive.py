"""What is no backup, or is a damaged or a hostile one, is refused in words, and nothing is left of
it; what is one is what was saved."""

import gzip
import io
import os
import re
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.control.backup.conftest import MADE_AT, Silent
from trunkline.control.backup import restoring
from trunkline.control.backup.archive import Manifest, Member, Writer
from trunkline.control.errors import TrunklineError
from trunkline.control.settings import Settings
from trunkline.control.store.migrate import HEADS

Files = dict[str, bytes]


def files_of(path: Path) -> Files:
    with tarfile.open(path) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]


def written(files: Files, /, **manifest: Any) -> bytes:
    """An archive of these files, whose manifest fits them but for what is said."""
    old = msgspec.json.decode(files["manifest.json"], type=Manifest)
    file = io.BytesIO()
    writer = Writer(file, lambda _: None, 0)
    for name, content in files.items():
        if name != "manifest.json":
            writer.add(name, io.BytesIO(content), len(content))
    fields = {**msgspec.structs.asdict(old), "files": writer.members, **manifest}
    writer.finish(Manifest(**fields))
    return file.getvalue()


def database(content: bytes, folder: Path, *statements: str) -> bytes:
    """A database, changed."""
    path = folder / "changed.db"
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        for one in statements:
            connection.execute(one)
    return path.read_bytes()


def member(name: str, kind: bytes = tarfile.REGTYPE, **fields: Any) -> bytes:
    """One member's head, and a block behind it if it has a content."""
    head = tarfile.TarInfo(name)
    head.type = kind
    for field, value in {"size": 3, **fields}.items():
        setattr(head, field, value)
    return head.tobuf(tarfile.GNU_FORMAT) + b"abc".ljust(512, b"\0")


def refused(path: Path, said: str, code: str = "BACKUP_BAD") -> None:
    before = set(path.parent.iterdir())
    with pytest.raises(TrunklineError, match=said) as error:
        restoring.verify(path, progress=Silent())
    assert error.value.code == code
    assert len(error.value.message) < 600
    assert set(path.parent.iterdir()) == before


def test_a_backup_is_whole_private_and_any_tar_reads_it(saved: Path, system: Settings) -> None:
    manifest = restoring.verify(saved, progress=Silent())
    assert (manifest.database, manifest.made_at, manifest.schemas) == ("sqlite", MADE_AT, HEADS)
    assert manifest.counts == {"users": 1, "machines": 0, "sessions": 0}
    files = files_of(saved)
    for name in ("keys/sealing.key", "keys/signing.pem", "keys/vapid.pem", "audit-heads"):
        assert files[name] == (system.data_dir / name).read_bytes()
    assert saved.stat().st_mode & 0o777 == 0o600
    assert {one.name for one in saved.parent.iterdir()} == {saved.name}


_WRONG = "cannot be used: "


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda whole: b"", "not an archive"),
        (lambda whole: b"x" * 5_000, "not an archive"),
        (lambda whole: gzip.compress(whole), "not an archive"),
        (lambda whole: bytes(1024), "no manifest"),
        (lambda whole: whole[:-1024], "cut off or damaged"),
        (lambda whole: whole[:1_000], "cut off or damaged"),
        (lambda whole: whole[:-2_000] + bytes(2_000), "(cut off|no manifest|manifest)"),
        (lambda whole: whole[:2_000] + b"X" + whole[2_001:], "trunkline.db is damaged"),
        (lambda whole: member("../evil") + whole, "'../evil' in it is nothing that a backup has"),
        (lambda whole: member("/etc/evil") + whole, "is nothing that a backup has"),
        (lambda whole: member("keys/../../evil") + whole, "is nothing that a backup has"),
        (lambda whole: member("keys/a/b") + whole, "is nothing that a backup has"),
        (lambda whole: member("keys/.hidden") + whole, "is nothing that a backup has"),
        (lambda whole: member("keys/") + whole, "is nothing that a backup has"),
        (lambda whole: member("server.lock") + whole, "is nothing that a backup has"),
        (lambda whole: member("x" * 90 + "\n") + whole, "is nothing that a backup has"),
        (
            lambda whole: member("log.db", tarfile.SYMTYPE, linkname="/etc/passwd") + whole,
            "no plain file",
        ),
        (lambda whole: member("log.db", tarfile.LNKTYPE, linkname="x") + whole, "no plain file"),
        (lambda whole: member("keys", tarfile.DIRTYPE) + whole, "no plain file"),
        (lambda whole: member("log.db", tarfile.CHRTYPE) + whole, "no plain file"),
        (lambda whole: member("log.db", tarfile.GNUTYPE_SPARSE) + whole, "no plain file"),
        (lambda whole: member("pax", tarfile.XHDTYPE) + whole, "no plain file"),
        (lambda whole: member("long", tarfile.GNUTYPE_LONGNAME) + whole, "no plain file"),
        (lambda whole: member("log.db") + whole, "'log.db' is in it twice"),
        (lambda whole: member("keys/more") + whole, "does not list what is in it"),
        (lambda whole: whole[:-1024] + member("keys/more") + bytes(1024), "more in it than"),
        (lambda whole: member("keys/big", size=2**60) + whole, "cut off or damaged"),
        (lambda whole: member("keys/big", size=len(whole) * 2) + whole, "cut off or damaged"),
        (
            lambda whole: b"".join(member(f"keys/{one}") for one in range(200)) + whole,
            "more in it than",
        ),
    ],
)
def test_a_damaged_or_hostile_file_is_refused(
    saved: Path, tmp_path: Path, change: Callable[[bytes], bytes], said: str
) -> None:
    path = tmp_path / "bad.tar"
    path.write_bytes(change(saved.read_bytes()))
    refused(path, _WRONG + ".*" + said)


@pytest.mark.parametrize(
    ("manifest", "said", "code"),
    [
        ({"format": 2, "trunkline": "9.0.0"}, "made by a newer Trunkline (9.0.0)", "BACKUP_NEWER"),
        ({"format": 9, "trunkline": "\x1b[2J\n" * 99}, "newer Trunkline (\\x1b", "BACKUP_NEWER"),
        ({"made_at": 2**60}, "manifest cannot be read", "BACKUP_BAD"),
        ({"format": "one"}, "manifest cannot be read", "BACKUP_BAD"),
        ({"database": "mysql"}, "manifest cannot be read", "BACKUP_BAD"),
        ({"database": "postgresql"}, "databases that its manifest does not speak of", "BACKUP_BAD"),
        ({"files": []}, "does not list what is in it", "BACKUP_BAD"),
        ({"files": [Member("log.db", -1, "")]}, "manifest cannot be read", "BACKUP_BAD"),
        ({"schemas": {}}, "another schema", "BACKUP_BAD"),
        ({"schemas": {**HEADS, "log": "log_0001"}}, "another schema", "BACKUP_BAD"),
        ({"counts": {"sessions": 7}}, "it has 0 sessions, and its manifest says 7", "BACKUP_BAD"),
        ({"counts": {"users; DROP TABLE users": 1}}, "what is no table", "BACKUP_BAD"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    saved: Path, tmp_path: Path, manifest: dict[str, Any], said: str, code: str
) -> None:
    path = tmp_path / "bad.tar"
    path.write_bytes(written(files_of(saved), **manifest))
    refused(path, re.escape(said), code)


def test_what_no_system_can_start_with_is_refused_though_its_checksums_fit(
    saved: Path, tmp_path: Path
) -> None:
    files, path = files_of(saved), tmp_path / "bad.tar"
    session = (
        "INSERT INTO sessions (id, org_id, user_id, runtime_type, agent_config, session_config,"
        " status, folded_id, updated_at, created_at) SELECT 's', org_id, id, 'semigraph', '{}',"
        " '{}', 'active', 5, 0, 0 FROM users"
    )
    newer = "UPDATE alembic_version SET version_num = '{}_9999'"
    records = files["trunkline.db"]
    cases: list[tuple[Files, dict[str, Any], str, str]] = [
        ({"keys/sealing.key": bytes(32)}, {}, "they are another system's", "BACKUP_BAD"),
        ({"keys/sealing.key": b"short"}, {}, "are damaged", "BACKUP_BAD"),
        ({"keys/signing.pem": b"no key"}, {}, "is not a private key", "BACKUP_BAD"),
        ({"trunkline.db": b"no database" * 999}, {}, "not a database", "BACKUP_BAD"),
        ({"log.db": files["log.db"][:8192]}, {}, "(malformed|damaged)", "BACKUP_BAD"),
        (
            {"trunkline.db": database(records, tmp_path, session)},
            {"counts": {"sessions": 1}},
            "log of session s ends before its records do",
            "BACKUP_BAD",
        ),
        (
            {"trunkline.db": database(records, tmp_path, newer.format("records"))},
            {},
            "used by a newer Trunkline",
            "DATABASE_NEWER",
        ),
    ]
    for changed, manifest, said, code in cases:
        path.write_bytes(written({**files, **changed}, **manifest))
        refused(path, said, code)
    for missing in ("keys/vapid.pem", "log.db", "trunkline.db"):
        path.write_bytes(written({name: files[name] for name in files if name != missing}))
        refused(path, f"{missing} is not in it")


def test_there_is_no_backup_of_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none.tar", tmp_path / "pipe", tmp_path):
        with pytest.raises(TrunklineError, match="is no file"):
            restoring.verify(path, progress=Silent())
