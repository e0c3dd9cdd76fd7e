"""How a session can be gone on with where it runs, by hand: from what its runtime last saved."""

from typing import Any

import msgspec

from trunkline import limits
from trunkline.wire import resuming

_RUNTIMES = ("claude-code", "acp")


class Resume(msgspec.Struct, kw_only=True):
    """`id`: the program's own. `command` goes on with it in a terminal, in `folder`."""

    runtime: str
    program: str
    id: str
    folder: str
    command: str


def is_resumable(runtime_type: str) -> bool:
    return runtime_type in _RUNTIMES


def resume_of(runtime_type: str, snapshot: dict[str, Any] | None) -> Resume | None:
    """None where nothing was said yet, or the program has no such command."""
    state = (snapshot or {}).get("runtime_state")
    if not isinstance(state, dict) or not is_resumable(runtime_type):
        return None
    program = runtime_type if runtime_type != "acp" else _text(state.get("program"))
    name, folder = _text(state.get("session_id")), _text(state.get("workspace"))
    url = _text(state.get("provider_url"))
    command = resuming.command(program, name, url) if name else ""
    if not command:
        return None
    return Resume(runtime=runtime_type, program=program, id=name, folder=folder, command=command)


def _text(value: Any) -> str:
    return value[: limits.FILE_PATH_CHARS_MAX] if isinstance(value, str) else ""
