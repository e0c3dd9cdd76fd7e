"""opencode's conversations: one SQLite database, opened for reading only and for a short time.

Sessions, messages and parts are rows; what a message is stands in JSON. A database that has
another shape, or is no database, has no conversations.
"""

import contextlib
import re
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.foreign.conversation import (
    Conversation,
    Entry,
    ended,
    ms,
    newest,
    said,
    title_of,
    tool,
)
from trunkline.wire import resuming

RUNTIME, PRESET = "acp", "opencode"

SESSIONS_MAX = 2_000  # the newest
_PARTS_MAX = 20_000  # of one conversation, the newest
_VALUE_BYTES_MAX = 8 * limits.MIB
_QUERY_S = 5.0
_STEPS = 100_000  # of SQLite's machine, between looks at the clock
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_FAILED = (sqlite3.Error, OSError, ValueError)

_LIST = """
SELECT s.id, s.title, s.directory, s.time_created, s.time_updated,
       (SELECT count(*) FROM message m WHERE m.session_id = s.id)
FROM session s WHERE s.parent_id IS NULL AND s.time_archived IS NULL
ORDER BY s.time_updated DESC LIMIT ?
"""
_PARTS = """
SELECT m.data, p.data, p.time_created FROM part p JOIN message m ON m.id = p.message_id
WHERE p.session_id = ? ORDER BY m.time_created DESC, m.id DESC, p.id DESC LIMIT ?
"""


def base(home: Path, env: Mapping[str, str]) -> Path:
    own = env.get("XDG_DATA_HOME")
    return (Path(own) if own else home / ".local" / "share") / "opencode"


def conversations(folder: Path, within_s: float = _QUERY_S) -> list[Conversation]:
    """The newest, without those of helpers and those that were put away."""
    try:
        with _opened(folder, within_s) as database:
            return [one for row in database.execute(_LIST, (SESSIONS_MAX,)) if (one := _of(row))]
    except _FAILED:
        return []


def _of(row: tuple[Any, ...]) -> Conversation | None:
    conversation_id, title, directory, created, updated, count = row
    if not isinstance(conversation_id, str) or not _ID.fullmatch(conversation_id):
        return None
    if not isinstance(directory, str) or not isinstance(count, int) or count == 0:
        return None
    return Conversation(
        runtime=RUNTIME,
        preset=PRESET,
        id=conversation_id,
        title=title_of(title if isinstance(title, str) else ""),
        folder=directory,
        started_at=ms(created),
        updated_at=ms(updated),
        message_count=count,
        command=resuming.command(PRESET, conversation_id),
    )


def history(folder: Path, conversation_id: str) -> list[Entry]:
    entries: list[Entry] = []
    try:
        with _opened(folder, _QUERY_S) as database:
            rows = database.execute(_PARTS, (conversation_id, _PARTS_MAX)).fetchall()
    except _FAILED:
        return []
    for message, part, at in reversed(rows):
        role, one = _object(message).get("role"), _object(part)
        text = one.get("text")
        match one.get("type"):
            case "text" if role in ("user", "assistant") and isinstance(text, str) and text.strip():
                if not one.get("synthetic") and not one.get("ignored"):
                    entries.append(said(str(role), text, ms(at)))
            case "tool":
                entries.append(_tool(one, ms(at)))
    return newest(entries)


def _tool(part: Json, at: int) -> Entry:
    found = part.get("state")
    state: Json = found if isinstance(found, dict) else {}
    name, call_id = str(part.get("tool") or ""), str(part.get("callID") or "")
    call = tool(name, call_id, state.get("input"), at)
    is_error = state.get("status") == "error"
    result = state.get("error" if is_error else "output")
    ended(call, result if isinstance(result, str) else "", is_error=is_error)
    return call


@contextlib.contextmanager
def _opened(folder: Path, within_s: float) -> Iterator[sqlite3.Connection]:
    """Raises one of `_FAILED`."""
    path = folder / "opencode.db"
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError("not a file")
    address = f"file:{quote(str(path))}?mode=ro"
    if not any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal")):
        address += "&immutable=1"  # nobody writes: else SQLite would leave files of its own here
    database = sqlite3.connect(address, uri=True, timeout=1.0, isolation_level=None)
    try:
        ends_at = time.monotonic() + within_s
        database.set_progress_handler(lambda: time.monotonic() > ends_at, _STEPS)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE_BYTES_MAX)
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        database.execute("PRAGMA query_only = ON")
        database.execute("PRAGMA trusted_schema = OFF")
        yield database
    finally:
        database.close()


def _object(text: Any) -> Json:
    try:
        read = msgspec.json.decode(text)
    except (msgspec.MsgspecError, TypeError, UnicodeError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
