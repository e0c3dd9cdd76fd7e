"""What a hosted runtime has to remember of a session: a small object in the session's folder.

Written by the session's process; the daemon reads it for snapshots, and restores it before a start.
"""

from pathlib import Path

import msgspec

from trunkline.execution.files import load_json, save_json
from trunkline.execution.json_object import Json

_FILE = "runtime.json"
_WHAT = "a session's runtime state"


class _Saved(msgspec.Struct, kw_only=True):
    runtime_type: str = ""
    state: Json = {}


class SavedState:
    """The newest state of one session. That of another runtime is none."""

    def __init__(self, folder: Path, runtime_type: str) -> None:
        self._path = folder / _FILE
        self._runtime_type = runtime_type
        saved = _load(folder)
        self._state = saved.state if saved.runtime_type == runtime_type else {}

    def get(self) -> Json:
        return dict(self._state)

    def put(self, state: Json) -> None:
        """Whole or not at all, and on disk when this returns."""
        if state != self._state:
            self._state = dict(state)
            save_json(self._path, _Saved(runtime_type=self._runtime_type, state=self._state), _WHAT)


def take_snapshot(folder: Path) -> Json:
    """As `snapshot_sync` takes it; empty where there is nothing to go on from."""
    saved = _load(folder)
    if not saved.state:
        return {}
    return {
        "runtime_type": saved.runtime_type,
        "session_id": folder.name,
        "runtime_state": saved.state,
    }


def restore_snapshot(folder: Path, snapshot: Json) -> None:
    runtime_type, state = snapshot.get("runtime_type"), snapshot.get("runtime_state")
    if isinstance(runtime_type, str) and isinstance(state, dict):
        folder.mkdir(parents=True, exist_ok=True)
        save_json(folder / _FILE, _Saved(runtime_type=runtime_type, state=state), _WHAT)


def _load(folder: Path) -> _Saved:
    return load_json(folder / _FILE, _Saved, _WHAT) or _Saved()
