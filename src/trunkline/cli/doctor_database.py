"""The doctor's part about the database, where no server runs: whether it answers, and what the next
start would do with its schema."""

import asyncio
import sqlite3
from pathlib import Path

from trunkline.cli.check import Check
from trunkline.control.errors import TrunklineError
from trunkline.control.redaction import redact
from trunkline.control.settings import Settings
from trunkline.log_form import one_line

_NAME = "Database"
_WAIT_S = 5.0


def check(settings: Settings) -> Check:
    url = settings.database_url
    try:
        if url is None or url.startswith("sqlite"):
            return _of_files(settings)
    except TrunklineError as error:
        return Check(_NAME, "fail", error.message, "see docs/operate/upgrade.md")
    return _of_server(url)


def _of_files(settings: Settings) -> Check:
    from trunkline.control.files import log_file, records_file
    from trunkline.control.store.migrate import versions_of_file

    records = records_file(settings)
    files = {"records": records, "log": log_file(settings)}
    is_ours = settings.database_url is None
    where = "SQLite in the data folder" if is_ours else f"SQLite at {records or 'memory'}"
    try:
        ahead = [
            step
            for branch, file in files.items()
            if file is not None and (step := _upgrade(versions_of_file(file), branch))
        ]
    except sqlite3.Error as error:
        fix = f"put a copy back: {_copies(records)}"
        return Check(_NAME, "fail", f"{where} cannot be read: {_first_line(error)}", fix)
    if ahead:
        what = f"the next start upgrades it ({', '.join(ahead)})"
        return Check(_NAME, "ok", f"{where}; {what}, and copies it first: {_copies(records)}")
    return Check(_NAME, "ok", where)


def _copies(path: Path | None) -> str:
    from trunkline.control.store.backup import FOLDER

    return FOLDER if path is None else str(path.with_name(FOLDER))


def _of_server(url: str) -> Check:
    from trunkline.control.store.engine import shown

    fix = "start it, or correct TRUNKLINE_DATABASE_URL"
    try:
        found = asyncio.run(_ask(url))
    except TrunklineError as error:  # no address at all, or no driver
        return Check(_NAME, "fail", error.message, fix)
    except Exception as error:
        return Check(_NAME, "fail", f"{shown(url)}: {_first_line(error)}", fix)
    try:
        ahead = [step for branch in ("records", "log") if (step := _upgrade(found, branch))]
    except TrunklineError as error:
        return Check(_NAME, "fail", f"{shown(url)}: {error.message}", "see docs/operate/upgrade.md")
    if ahead:
        what = f"{shown(url)}; the next start upgrades it ({', '.join(ahead)})"
        return Check(_NAME, "ok", what, "copy it first, with pg_dump: docs/operate/upgrade.md")
    return Check(_NAME, "ok", shown(url))


async def _ask(url: str) -> list[str]:
    from trunkline.control.store.engine import open_engine
    from trunkline.control.store.migrate import versions

    engine = open_engine(url)
    try:
        async with asyncio.timeout(_WAIT_S), engine.connect() as connection:
            return await connection.run_sync(versions)
    finally:
        await engine.dispose()


def _upgrade(found: list[str], branch: str) -> str:
    """What a start would do; "" for nothing. Raises what it would raise."""
    from trunkline.control.store.migrate import HEADS, revision

    now = revision(found, branch)
    return "" if now in (None, HEADS[branch]) else f"{now} to {HEADS[branch]}"


def _first_line(error: Exception) -> str:
    return one_line(redact(str(error).split("\n")[0] or type(error).__name__))[:200]
