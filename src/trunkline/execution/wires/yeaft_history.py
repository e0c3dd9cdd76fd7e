"""Sessions of this machine as lists for a Yeaft server: from their folders, newest first."""

from pathlib import Path
from typing import Any

from trunkline import limits
from trunkline.execution.files import read_head, read_tail
from trunkline.execution.home import Home
from trunkline.execution.memory import conversation

Json = dict[str, Any]

_CONVERSATION = "memory/conversation.md"
_HEAD_BYTES = 8 * 1024
_SHOWN = ("user", "assistant")


def sessions(home: Home) -> list[Json]:
    """Those that can be resumed. Reads files: not for the event loop."""
    found = [(_changed_ms(path), path) for path in _folders(home)]
    found.sort(key=lambda one: one[0], reverse=True)
    work_dir = str(home.workspace)
    return [
        {
            "sessionId": path.name,
            "title": _title(path),
            "workDir": work_dir,
            "lastModified": changed_ms,
        }
        for changed_ms, path in found[: limits.WIRE_HISTORY_SESSIONS_MAX]
    ]


def messages(home: Home, session_id: str) -> list[Json]:
    """What was said in a session, the newest part of it, in the shape of `data`."""
    try:
        tail, _ = read_tail(home.session(session_id) / _CONVERSATION, limits.WIRE_HISTORY_BYTES_MAX)
    except (OSError, ValueError):
        return []
    text = conversation.from_first_heading(tail.decode("utf-8", "replace"))
    return [
        {
            "type": one.role,
            "message": {"role": one.role, "content": [{"type": "text", "text": one.content}]},
            "timestamp": one.at,
        }
        for one in conversation.parse(text)
        if one.role in _SHOWN
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
