"""Whether what was in an archive is a system that can start: looked at as files in a folder."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag

from trunkline.control.access.keys import Keys
from trunkline.control.backup import archive
from trunkline.control.backup.archive import Archive, Manifest
from trunkline.control.errors import TrunklineError
from trunkline.control.services.audit import HEAD_CONTEXT
from trunkline.control.settings import Settings
from trunkline.control.store import migrate

_SESSIONS_AT_ONCE = 500
_FINDINGS_SHOWN = 3


def check(opened: Archive, folder: Path) -> None:
    """Everything but the checksums, which unpacking has compared. InvalidRequest says what is
    wrong; Unavailable (`DATABASE_NEWER`) that this version is too old for it."""
    try:
        problem = next(_problems(opened.manifest, folder), None)
    except (sqlite3.Error, OSError) as error:
        raise opened.bad(str(error)) from error
    if problem is not None:
        raise opened.bad(problem)


def _problems(manifest: Manifest, folder: Path) -> Iterator[str]:
    wanted = [archive.KEYS + one for one in archive.KEY_FILES]
    if manifest.database == "sqlite":
        wanted += [archive.RECORDS, archive.LOG]
    there = {one.name for one in manifest.files}
    for name in wanted:
        if name not in there:
            yield f"{name} is not in it"
    try:
        keys = Keys.open(folder / archive.KEYS)
    except TrunklineError as error:
        yield error.message
        return
    if manifest.database != "sqlite":
        if there.intersection((archive.RECORDS, archive.LOG)):
            yield "it has databases that its manifest does not speak of"
        return
    for branch, name in (("records", archive.RECORDS), ("log", archive.LOG)):
        yield from _database_problems(folder / name, branch, manifest)
    yield from _record_problems(folder / archive.RECORDS, manifest, keys)
    if manifest.schemas["log"] == migrate.HEADS["log"]:  # an older one is upgraded at the start
        yield from asyncio.run(_positions(folder))


def _database_problems(path: Path, branch: str, manifest: Manifest) -> Iterator[str]:
    with closing(_read_only(path)) as connection:
        findings = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        if findings != ["ok"]:
            yield f"{path.name} is damaged: {'; '.join(findings[:_FINDINGS_SHOWN])[:300]}"
        found = [str(row[0]) for row in connection.execute(migrate.VERSIONS)]
    if (of_it := migrate.revision(found, branch)) is None or manifest.schemas.get(branch) != of_it:
        yield f"{path.name} has another schema than the manifest says"


def _record_problems(path: Path, manifest: Manifest, keys: Keys) -> Iterator[str]:
    with closing(_read_only(path)) as connection:
        for table, count in manifest.counts.items():
            if table not in archive.COUNTED:
                yield "its manifest counts what is no table"
            [found] = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
            if found != count:
                yield f"it has {found} {table}, and its manifest says {count}"
        sealed = connection.execute("SELECT sealed FROM audit_head").fetchone()
    if sealed is not None and sealed[0] is not None:  # else it was never started
        try:
            keys.unseal(sealed[0], HEAD_CONTEXT)
        except (InvalidTag, ValueError, TypeError):
            yield "its keys do not open what they should have sealed: they are another system's"


async def _positions(folder: Path) -> list[str]:
    """The records are made of the log, so they cannot be ahead of it."""
    from trunkline.control.core import open_segments

    with closing(_read_only(folder / archive.RECORDS)) as connection:
        reached = connection.execute("SELECT id, folded_id, folded_note FROM sessions").fetchall()
    if not reached:
        return []
    store = await open_segments(msgspec.structs.replace(Settings(), data=str(folder)))
    try:
        for start in range(0, len(reached), _SESSIONS_AT_ONCE):
            some = reached[start : start + _SESSIONS_AT_ONCE]
            heads = await store.heads([one[0] for one in some])
            for session_id, event_id, note in some:
                head = heads.get(session_id)
                if (event_id, note) > ((head.last_id, head.note) if head is not None else (0, 0)):
                    return [f"the log of session {session_id} ends before its records do"]
    finally:
        await store.close()
    return []


def _read_only(path: Path) -> sqlite3.Connection:
    # Nobody else has it open, and it has no journal: nothing beside it need be made.
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
