"""What the daemon is told at its start (004 §5): from the environment, or from flags.

A value that is missing or makes no sense is refused at the start, with its name.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.session import fork_server
from trunkline.execution.session.process import Patience

_DOCUMENTS_HOME = Path("/") / "home" / "user"  # 004 §6

# Field → the names of its variable, the first that is set wins (both spellings are in use).
_NAMES: dict[str, tuple[str, ...]] = {
    "user_id": ("USER_ID", "VM_USER_ID"),
    "token": ("VM_TOKEN",),
    "ticket": ("VM_TICKET",),
    "control_plane_url": ("CONTROL_PLANE_WS",),
    "home": ("TRUNKLINE_NODE_HOME",),
    "sessions_max": ("TRUNKLINE_NODE_SESSIONS_MAX",),
    "pass_env": ("TRUNKLINE_NODE_PASS_ENV",),
    "json_logs": ("TRUNKLINE_JSON_LOGS",),
    "log_level": ("TRUNKLINE_LOG_LEVEL",),
}
# Keys of the machine's own user; those of `init` win.
_KEYS = {"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic"}
_KEYS |= {"TAVILY_API_KEY": "tavily", "BRAVE_API_KEY": "brave"}


class SettingsError(Exception):
    """A setting is missing or makes no sense; the text names it."""

    code = "INVALID_SETTINGS"


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`token`, `ticket` and `api_keys` are secrets: they are neither logged nor handed on."""

    user_id: Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)]
    token: Annotated[str, Meta(min_length=1, max_length=limits.VM_TOKEN_CHARS_MAX)]
    control_plane_url: Annotated[str, Meta(max_length=limits.URL_CHARS_MAX)]
    ticket: Annotated[str, Meta(max_length=limits.VM_TOKEN_CHARS_MAX)] | None = None
    """Good once, for the first line; a daemon that returns has none."""
    home: Path = _DOCUMENTS_HOME
    sessions_max: Annotated[int, Meta(ge=1, le=limits.NODE_SESSIONS_MAX_MAX)] = (
        limits.NODE_SESSIONS_MAX
    )
    pass_env: str = ""
    """Names of secret variables (comma-separated) that sessions get all the same: for skills."""
    json_logs: bool = False
    log_level: str = "info"
    api_keys: dict[str, str] = {}
    patience: Patience = Patience()
    target: str = fork_server.DEFAULT_TARGET
    """The program of a session's process, `module:function`."""

    def __repr__(self) -> str:
        return f"NodeSettings(user_id={self.user_id!r}, home={str(self.home)!r})"

    @property
    def passed_names(self) -> list[str]:
        return [name for part in self.pass_env.split(",") if (name := part.strip())]

    @classmethod
    def from_env(
        cls, env: Mapping[str, str] = os.environ, flags: Mapping[str, Any] | None = None
    ) -> "NodeSettings":
        """`flags` holds what was given on the command line, by field. Raises SettingsError."""
        values: dict[str, Any] = {}
        for field, names in _NAMES.items():
            given = (flags or {}).get(field)
            found = next((env[name] for name in names if env.get(name)), None)
            if given is not None or found is not None:
                values[field] = given if given is not None else found
        for field in ("user_id", "token", "control_plane_url"):
            if field not in values:
                raise SettingsError(f"{_NAMES[field][0]} is not set")
        values["api_keys"] = {name: env[key] for key, name in _KEYS.items() if env.get(key)}
        values["home"] = str(values.get("home", _DOCUMENTS_HOME))
        return _checked(values)


def _checked(values: dict[str, Any]) -> NodeSettings:
    try:
        settings = msgspec.convert(values, NodeSettings, strict=False, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise SettingsError(f"settings: {error}") from None  # the cause may show a secret
    home = settings.home.expanduser()
    if not home.is_absolute():
        home = Path.cwd() / home
    _check_url(settings.control_plane_url)
    if settings.log_level not in ("debug", "info", "warning", "error"):
        raise SettingsError("log_level must be debug, info, warning or error")
    return msgspec.structs.replace(settings, home=home)


def _path(kind: type[Any], value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_reachable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_reachable = False
    if not is_reachable or parts.scheme not in ("ws", "wss"):
        raise SettingsError("CONTROL_PLANE_WS must be like wss://name.example/ws/vm")
    if parts.username is not None or parts.query or parts.fragment:
        raise SettingsError("CONTROL_PLANE_WS must not carry a user, a query or a fragment")
