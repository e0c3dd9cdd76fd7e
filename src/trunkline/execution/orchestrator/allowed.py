"""What a person has allowed for the rest of a session: it is not asked about again.

Kept in the session's folder, so that it outlives the session's process; on another machine, and
when people change which tools ask first, it begins anew.
"""

from pathlib import Path

from trunkline.execution import files

_FILE = "allowed.json"
_NAMES_MAX = 1_000


class Allowed:
    """Names of tools, or of single calls, for every agent of the session. Without a folder nothing
    is saved."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = None if folder is None else folder / _FILE
        kept = None
        if self._path is not None:
            kept = files.load_json(self._path, list[str], "what a person has allowed")
        self._names = set((kept or [])[:_NAMES_MAX])

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, name: str) -> None:
        if name not in self._names and len(self._names) < _NAMES_MAX:
            self._names.add(name)
            self._save()

    def clear(self) -> None:
        if self._names:
            self._names.clear()
            self._save()

    def _save(self) -> None:
        if self._path is not None:
            files.save_json(self._path, sorted(self._names), "what a person has allowed")
