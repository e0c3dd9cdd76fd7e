"""Which files a session made or changed, as its events told; one line each, in its folder."""

from pathlib import Path

import msgspec

from trunkline import limits
from trunkline.execution.files import append, read_head

CHANGES_BYTES_MAX = 1 * limits.MIB  # noted of one session; later ones are in its events only
CHANGED_FILES_MAX = 2_000

_FILE = "files.jsonl"
_KINDS = {"file_created": "created", "file_changed": "modified"}


class _Event(msgspec.Struct):
    type: str = ""
    path: str = ""
    change: str = ""


class Change(msgspec.Struct):
    path: str
    change: str


_read_event = msgspec.json.Decoder(_Event)
_read_line = msgspec.json.Decoder(Change)


def note(folder: Path, event: str) -> None:
    """Keeps up with an event that goes to the readers."""
    if '"file_c' not in event:  # nearly all of them
        return
    try:
        seen = _read_event.decode(event)
    except msgspec.MsgspecError:
        return
    if seen.type not in _KINDS or not 0 < len(seen.path) <= limits.FILE_PATH_CHARS_MAX:
        return
    change = seen.change if seen.change in ("created", "deleted") else _KINDS[seen.type]
    line = msgspec.json.encode(Change(seen.path, change)) + b"\n"
    try:
        append(folder / _FILE, line, CHANGES_BYTES_MAX)
    except OSError:
        return  # a full disk: the event itself says it too


def changed(folder: Path) -> dict[str, str]:
    """By path, what became of it since the session began; the newest ones."""
    raw, _ = read_head(folder / _FILE, CHANGES_BYTES_MAX)
    found: dict[str, str] = {}
    for line in raw.splitlines():
        try:
            one = _read_line.decode(line)
        except msgspec.MsgspecError:
            continue
        before = found.pop(one.path, None)
        if before == "created" and one.change == "deleted":
            continue
        found[one.path] = "created" if before == "created" else one.change
    return dict(list(found.items())[-CHANGED_FILES_MAX:])
