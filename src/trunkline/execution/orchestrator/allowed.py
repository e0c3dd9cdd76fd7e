"""Tools that a person has allowed for the rest of a session: they are not asked about again.

Kept in the session's folder, so that it outlives the session's process; on another machine, and
when people change which tools ask first, it begins anew.
"""

from collections.abc import Iterable
from pathlib import Path

from trunkline.execution import files

_FILE = "allowed.json"
_NAMES_MAX = 500


class Allowed:
    """By the name of a tool, for every agent of the session. `folder` of None: nothing is saved."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = None if folder is None else folder / _FILE
        kept = None
        if self._path is not None:
            kept = files.load_json(self._path, list[str], "what a person has allowed")
        self._names = set((kept or [])[:_NAMES_MAX])

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, names: Iterable[str]) -> None:
        new = self._names.union(names)
        if new != self._names and len(new) <= _NAMES_MAX:
            self._names = new
            self._save()

    def clear(self) -> None:
        if self._names:
            self._names.clear()
            self._save()

    def _save(self) -> None:
        if self._path is not None:
            files.save_json(self._path, sorted(self._names), "what a person has allowed")
