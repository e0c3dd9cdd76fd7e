"""What a daemon needs to start a session again by itself, on disk (`start.json`).

For sessions whose turn waits for a person when the daemon is restarted. No API keys: those come
with the next `init`.
"""

from pathlib import Path

import msgspec
import structlog

from trunkline.execution.files import write_atomic
from trunkline.execution.session import ipc

_log = structlog.get_logger(__name__)

_NAME = "start.json"


class SavedStart(msgspec.Struct, kw_only=True):
    runtime_type: str
    config: ipc.Start


def save(folder: Path, start: SavedStart) -> None:
    keyless = msgspec.structs.replace(start.config, api_keys={}, turn_id=None)
    kept = SavedStart(runtime_type=start.runtime_type, config=keyless)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(folder / _NAME, msgspec.json.encode(kept))
    except OSError as error:
        # A full disk makes a restart forget; it must not end what runs.
        _log.error("a session's start cannot be written", problem=str(error))


def load(folder: Path) -> SavedStart | None:
    try:
        return msgspec.json.decode((folder / _NAME).read_bytes(), type=SavedStart)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        _log.warning("a session's start cannot be read", folder=str(folder), problem=str(error))
        return None
