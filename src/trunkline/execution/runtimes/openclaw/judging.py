"""Whether a tool of OpenClaw may run: by the session's rules and its mode, as for every runtime.

Its bridge asks before each call; what is to be asked a person, it asks itself.
"""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.json_object import Json
from trunkline.execution.orchestrator.settings import read_settings
from trunkline.execution.permits import Permits, call_of
from trunkline.permissions.judging import Danger, judge
from trunkline.permissions.modes import care_of

_READS = frozenset(
    (
        *("read", "view_image", "image", "pdf", "memory_search", "memory_get"),
        *("web_search", "x_search", "web_fetch", "session_status", "ask_user"),
        # What works on is guarded by itself, call by call.
        *("sessions_spawn", "sessions_yield", "subagents", "agents_wait", "wait"),
        *("update_plan", "progress_card", "get_goal", "create_goal", "update_goal"),
    )
)
"""Of OpenClaw's own tools, those that change nothing; one that is not known may."""
_PATHS = ("path", "file_path", "filePath", "file")
_REWRITTEN = ("~", "@", "file:")
_SAME_COMMAND = frozenset(("command", "timeout", "yieldMs", "background", "pty"))
_LOOKS = frozenset(("list", "poll", "log"))  # what `process` may do besides


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """`changes`: whether it can change something, where the bridge knows it."""

    tool_name: Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)]
    tool_input: Json
    workspace: Annotated[str, Meta(min_length=1, max_length=limits.FILE_PATH_CHARS_MAX)]
    paths: list[str] = []
    changes: bool | None = None
    config: Json = {}
    rules: list[Json] = []


async def judged(params: dict[str, Any], _tell: object) -> Json:
    """`local.openclaw_judge`: run, ask or refuse. Raises RequestFailed."""
    try:
        asked = msgspec.convert(params, Asked)
    except msgspec.ValidationError as error:
        raise RequestFailed("INVALID_PARAMS", str(error)) from error
    settings, _ = read_settings(asked.config, {})
    changes = asked.changes
    if changes is None:
        changes = not _only_reads(asked.tool_name, asked.tool_input)
    found = judge(
        call_of(asked.tool_name, _understood(asked), Path(asked.workspace), _paths(asked)),
        Danger(changes=changes),
        Permits(asked.rules).rules,
        care_of(settings.mode, settings.confirm, fenced=False),  # its gateway runs outside of one
    )
    told: Json = {"outcome": found.outcome, "why": found.why}
    return told if found.rule is None else {**told, "rule": found.rule}


def _understood(asked: Asked) -> Json:
    """Without a command that runs elsewhere or with other variables than people think who read
    it: no rule allows that."""
    given = asked.tool_input
    return given if given.keys() <= _SAME_COMMAND else {**given, "command": None}


def _paths(asked: Asked) -> list[str] | None:
    """None where the arguments say it. OpenClaw makes other files of some ways to write one, and
    such a one is told as unknown."""
    named = asked.paths or [
        one for name in _PATHS if isinstance(one := asked.tool_input.get(name), str)
    ]
    return ["" if one.startswith(_REWRITTEN) else one for one in named] or None


def _only_reads(tool: str, given: Json) -> bool:
    return tool in _READS or (tool == "process" and given.get("action") in _LOOKS)
