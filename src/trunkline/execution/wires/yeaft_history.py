"""Sessions of this machine as lists for a Yeaft server: from their folders, newest first."""

from pathlib import Path
from typing import Any

from trunkline import limits
from trunkline.execution.files import read_head
from trunkline.execution.home import Home
from trunkline.execution.memory import conversation

Json = dict[str, Any]

_CONVERSATION = "memory/conversation.md"
_HEAD_BYTES = 8 * 1024


def sessions(home: Home) -> list[Json]:
    """Those that can be resumed. Reads files: not for the event loop."""
    found = [(_changed_ms(path), path) for path in _folders(home)]
    found.sort(key=lambda one: one[0], reverse=True)
    return [
        {"sessionId": path.name, "title": _title(path), "lastModified": changed_ms}
        for changed_ms, path in found[: limits.WIRE_HISTORY_SESSIONS_MAX]
    ]


def folders(home: Home) -> list[Json]:
    """Work folders that have sessions: this machine has one."""
    found = _folders(home)
    if not found:
        return []
    newest = max(map(_changed_ms, found))
    return [{"path": str(home.workspace), "sessionCount": len(found), "lastModified": newest}]


def _folders(home: Home) -> list[Path]:
    return [path for path in home.sessions.iterdir() if home.is_session(path)]


def _changed_ms(path: Path) -> int:
    for name in (_CONVERSATION, ""):
        try:
            return int((path / name).stat().st_mtime * 1000)
        except OSError:
            continue
    return 0


def _title(path: Path) -> str:
    """The first thing that was said."""
    try:
        head, _ = read_head(path / _CONVERSATION, _HEAD_BYTES)
    except OSError:
        return ""
    said = conversation.parse(head.decode("utf-8", "replace"))
    first = next((one.content for one in said if one.role == "user"), "")
    return " ".join(first.split())[: limits.NAME_CHARS_MAX]
