"""What an agent's configuration says about turns, and how `config_update` changes it."""

from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.permissions.modes import Confirm, Mode

TOOL_CALLS_PER_TURN_MAX = 1_000
TURN_TIMEOUT_S_MAX = 24 * 3600.0
APPROVAL_TIMEOUT_S_MAX = 7 * 24 * 3600.0

OTHERS = ("workspace", "worktree", "acp", "group", "network", "network_hosts")
"""Read by others: the daemon, another runtime, the control plane."""
NamedMode = Mode | Literal["default", "acceptEdits"]
"""Ours, and what Claude Code calls two of them."""
Name = Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)]

CommandTimeout = Annotated[float, Meta(gt=0, le=limits.COMMAND_TIMEOUT_S_LIMIT)]


_Wait = Annotated[float, Meta(gt=0, le=limits.MODEL_WAIT_S_MAX)]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Read from `agent_config` and `session_config`; the names are theirs."""

    model: Name = ""
    """Empty: the router's default."""
    system_prompt: Annotated[str, Meta(max_length=limits.TEXT_CHARS_MAX)] = ""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=limits.MODEL_TOKENS_MAX)] | None = None
    thinking_tokens: Annotated[int, Meta(ge=0, le=limits.MODEL_TOKENS_MAX)] | None = None
    context_window: Annotated[int, Meta(ge=1_024, le=limits.MODEL_TOKENS_MAX)] | None = None
    """In tokens; None: as the model's server or our table says."""
    confirm: Confirm = "never"
    """Which tools ask first, where no mode is set."""
    permission_mode: NamedMode | None = None
    tools: Annotated[list[Name], Meta(max_length=limits.NAMES_MAX)] = []
    """Empty: all of them."""
    first_byte_timeout_seconds: _Wait = limits.MODEL_FIRST_BYTE_S
    silence_timeout_seconds: _Wait = limits.MODEL_SILENCE_S
    evolution: bool = False
    titles: bool = False
    """Whether the model is asked for a title of the session, once, after its first turn."""
    max_turns: Annotated[int, Meta(ge=1, le=limits.MODEL_CALLS_PER_TURN_MAX)] = (
        limits.MODEL_CALLS_PER_TURN
    )
    max_tool_calls: Annotated[int, Meta(ge=0, le=TOOL_CALLS_PER_TURN_MAX)] = (
        limits.TOOL_CALLS_PER_TURN
    )
    timeout_seconds: Annotated[float, Meta(gt=0, le=TURN_TIMEOUT_S_MAX)] = limits.TURN_TIMEOUT_S
    approval_timeout_seconds: Annotated[float, Meta(gt=0, le=APPROVAL_TIMEOUT_S_MAX)] = (
        limits.APPROVAL_TIMEOUT_S
    )

    command_timeout_seconds: CommandTimeout = limits.COMMAND_TIMEOUT_S
    """Of a command that does not say how long it may take."""
    command_timeout_seconds_max: CommandTimeout = limits.COMMAND_TIMEOUT_S_MAX

    @property
    def mode(self) -> Mode | None:
        match self.permission_mode:
            case "default":
                return None
            case "acceptEdits":
                return "accept_edits"
            case mode:
                return mode

    def changed(self, patch: Json) -> tuple["Settings", list[str]]:
        """With the good values of `patch`, and what is wrong with the others. Null is the
        default; names that are no settings are left to others. Who says which tools ask first
        means that, and no mode of before."""
        good: Json = {}
        if patch.get("confirm") is not None:
            patch = {"permission_mode": None, **patch}
        problems: list[str] = []
        for name, value in patch.items():
            if name not in _TYPES:
                continue
            try:
                good[name] = msgspec.convert(
                    _DEFAULTS[name] if value is None else value, _TYPES[name]
                )
            except msgspec.ValidationError as error:
                problems.append(f"{name}: {error}")
        return msgspec.structs.replace(self, **good), problems


def read_settings(agent_config: Json, session_config: Json) -> tuple[Settings, list[str]]:
    """Where both name a setting, the session's own wins."""
    settings, problems = Settings().changed(agent_config)
    settings, more = settings.changed(session_config)
    return settings, problems + more


def unknown_names(patch: Json) -> list[str]:
    """Names of a `config_update` that are no settings."""
    return sorted(set(map(str, patch)) - set(_TYPES))


_TYPES: dict[str, Any] = get_type_hints(Settings, include_extras=True)
NAMES = sorted({*_TYPES, *OTHERS})
"""What a session's configuration may hold, as the machine tells it."""
_DEFAULTS: Json = msgspec.structs.asdict(Settings())
