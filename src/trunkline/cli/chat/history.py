"""What was typed in earlier chats: a private file, the newest entries of it.

One JSON string a line. A file that cannot be read or written costs the history, never the chat.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from prompt_toolkit.history import History

ENTRIES_MAX = 1000
ENTRY_CHARS_MAX = 20_000
_FILE_BYTES_MAX = 4 * 1024 * 1024


def file_of(env: Mapping[str, str]) -> Path:
    """Where this user's programs keep what they remember."""
    state = env.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    return folder / "trunkline" / "chat-history"


class Typed(History):
    """What was typed, over all chats of this user."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """The newest first; a file that has grown too long is made short again."""
        entries = self._entries()
        if len(entries) > 2 * ENTRIES_MAX:
            entries = entries[-ENTRIES_MAX:]
            with contextlib.suppress(OSError):
                self._rewrite(entries)
        return entries[: -ENTRIES_MAX - 1 : -1]

    def store_string(self, string: str) -> None:
        if len(string) > ENTRY_CHARS_MAX:
            return
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(self._file, "ab", opener=_private) as file:
                file.write(_line(string))

    def _entries(self) -> list[str]:
        try:
            with self._file.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - _FILE_BYTES_MAX))
                lines = file.read(_FILE_BYTES_MAX).splitlines()
        except OSError:
            return []
        return [one for line in lines if (one := _entry(line))]

    def _rewrite(self, entries: list[str]) -> None:
        fresh = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        with open(fresh, "wb", opener=_private) as file:
            file.writelines(map(_line, entries))
        fresh.replace(self._file)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _line(entry: str) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def _entry(line: bytes) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return value if isinstance(value, str) and len(value) <= ENTRY_CHARS_MAX else ""
