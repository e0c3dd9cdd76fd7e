"""What the daemon is told at its start: from the environment, or from flags.

A value that is missing or makes no sense is refused at the start, with its name.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from trunkline import limits, names
from trunkline.execution.errors import SettingsError
from trunkline.execution.fence.hosts import HOSTS_MAX, is_host
from trunkline.execution.fence.profile import Mode
from trunkline.execution.fence.seccomp import Network
from trunkline.execution.joining import Joined
from trunkline.execution.process import fork_server
from trunkline.execution.session.process import Patience

NODE_SESSIONS_MAX_MAX = 1000
NODE_ROOTS_MAX = 100

DEFAULT_HOME = Path("/") / "home" / "user"
"""As the documents have it."""

# Field → the names of its variable, the first that is set wins (both spellings are in use).
NAMES: dict[str, tuple[str, ...]] = {
    "wire": ("TRUNKLINE_WIRE",),
    "user_id": ("USER_ID", "VM_USER_ID"),
    "token": ("VM_TOKEN",),
    "ticket": ("VM_TICKET",),
    "control_plane_url": ("CONTROL_PLANE_WS",),
    "home": ("TRUNKLINE_NODE_HOME",),
    "roots": ("TRUNKLINE_NODE_ROOTS",),
    "workspace": ("TRUNKLINE_NODE_WORKSPACE",),
    "sessions_max": ("TRUNKLINE_NODE_SESSIONS_MAX",),
    "pass_env": ("TRUNKLINE_NODE_PASS_ENV",),
    "fence": ("TRUNKLINE_FENCE",),
    "network": ("TRUNKLINE_NODE_NETWORK",),
    "network_hosts": ("TRUNKLINE_NODE_NETWORK_HOSTS",),
    "hidden": ("TRUNKLINE_NODE_HIDDEN",),
    "json_logs": ("TRUNKLINE_JSON_LOGS",),
    "log_level": ("TRUNKLINE_LOG_LEVEL",),
}
# On a foreign server these take the place of what a control plane wants.
FOREIGN_NAMES: dict[str, tuple[str, ...]] = {
    "user_id": ("TRUNKLINE_WIRE_USER_ID",),
    "token": ("TRUNKLINE_WIRE_TOKEN",),
    "control_plane_url": ("TRUNKLINE_WIRE_SERVER",),
    "machine_id": ("TRUNKLINE_WIRE_ID",),
    "name": ("TRUNKLINE_WIRE_NAME",),
    "agent_file": ("TRUNKLINE_WIRE_AGENT",),
    "model": ("TRUNKLINE_WIRE_MODEL",),
    "confirm": ("TRUNKLINE_WIRE_CONFIRM",),
}
_NEEDED = {
    "semibot": ("user_id", "token", "control_plane_url"),
    "agp": ("control_plane_url",),
    "yeaft": ("control_plane_url", "machine_id", "token"),
}
_FLAGS = {
    "control_plane_url": "--server",
    "machine_id": "--id",
    "token": "--token or --secret",
    "user_id": "--user-id",
    "ticket": "--ticket",
    "name": "--name",
    "agent_file": "--agent",
    "model": "--model",
    "confirm": "--confirm",
    "sessions_max": "--max-sessions",
    "roots": "--root",
    "fence": "--fence",
    "network": "--network",
    "network_hosts": "--network-host",
    "workspace": "--workspace",
}
_NOT_FOR = {
    "semibot": ("machine_id", "name", "agent_file", "model", "confirm"),
    "agp": ("ticket", "name"),
    "yeaft": ("ticket", "user_id"),
}
"""Flags that would do nothing: whoever gives one means something else."""
# Keys of the machine's own user; those of `init` win.
_KEYS = {"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic"}
_KEYS |= {"TAVILY_API_KEY": "tavily", "BRAVE_API_KEY": "brave"}


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`token`, `ticket` and `api_keys` are secrets: they are neither logged nor handed on."""

    user_id: Annotated[str, Meta(max_length=limits.ID_CHARS_MAX)] = ""
    token: Annotated[str, Meta(max_length=limits.VM_TOKEN_CHARS_MAX)] = ""
    control_plane_url: Annotated[str, Meta(max_length=limits.URL_CHARS_MAX)]
    """Of the control plane, or of a foreign server."""
    wire: Literal["semibot", "agp", "yeaft"] = "semibot"
    machine_id: Annotated[str, Meta(max_length=limits.GUID_CHARS_MAX)] = ""
    """What a foreign server knows this machine by: AGP's `guid`, a Yeaft agent's id."""
    name: Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)] = ""
    agent_file: Path | None = None
    """What a session on a foreign server is, where no control plane says it: TOML or JSON."""
    model: Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)] = ""
    confirm: Literal["never", "dangerous", "always", ""] = ""
    ticket: Annotated[str, Meta(max_length=limits.VM_TOKEN_CHARS_MAX)] | None = None
    """Good once, for the first line; a daemon that returns has none."""
    joined: Joined | None = None
    """What this machine got when it joined by a code, and renews its token with."""
    home: Path = DEFAULT_HOME
    roots: Annotated[list[Path], Meta(max_length=NODE_ROOTS_MAX)] = []
    """Folders below which sessions may work, besides the workspace: the user's own projects."""
    workspace: Path | None = None
    """The folder of sessions that name none, in place of the home's own `workspace`."""
    sessions_max: Annotated[int, Meta(ge=1, le=NODE_SESSIONS_MAX_MAX)] = limits.NODE_SESSIONS_MAX
    pass_env: str = ""
    """Names of secret variables (comma-separated) that sessions get all the same: for skills."""
    fence: Mode = "auto"
    """Whether sessions are confined: as far as this system can, or not at all, or else not run."""
    network: Network = "open"
    """Of the commands of sessions that say nothing of it."""
    network_hosts: Annotated[list[str], Meta(max_length=HOSTS_MAX)] = []
    """With the network `list`: what may be reached."""
    hidden: list[Path] = []
    """Folders that no session sees, wherever it works: the control plane's on the same host."""
    json_logs: bool = False
    log_level: str = "info"
    api_keys: dict[str, str] = {}
    patience: Patience = Patience()
    target: str = fork_server.DEFAULT_TARGET
    """The program of a session's process, `module:function`."""
    hosted: dict[str, str] = {}
    """Further runtimes whose program is driven from Python: by name, the `module:function` of a
    session's process."""

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
        if problem := names.unknown_variable(env):
            raise SettingsError(problem)
        wire = str((flags or {}).get("wire") or env.get("TRUNKLINE_WIRE") or "semibot")
        if wire not in _NEEDED:
            raise SettingsError(f"--wire must be one of {', '.join(_NEEDED)}")
        for field in _NOT_FOR[wire]:
            if (flags or {}).get(field) is not None:
                raise SettingsError(f"{_FLAGS[field]} means nothing with --wire {wire}")
        variables_of = NAMES if wire == "semibot" else NAMES | {"ticket": ()} | FOREIGN_NAMES
        values: dict[str, Any] = {}
        for field, variables in variables_of.items():
            given = (flags or {}).get(field)
            found = next((env[name] for name in variables if env.get(name)), None)
            if given is not None or found is not None:
                values[field] = given if given is not None else found
        for field in _NEEDED[wire]:
            if not values.get(field):
                flag = f" (or {_FLAGS[field]})" if variables_of is not NAMES else ""
                raise SettingsError(f"{variables_of[field][0]}{flag} is not set")
        is_named = values.get("machine_id") and values.get("user_id")
        if wire == "agp" and not (is_named or values.get("token")):
            raise SettingsError("AGP needs --guid and --user-id, or a token that names the device")
        values["api_keys"] = {name: env[key] for key, name in _KEYS.items() if env.get(key)}
        values["home"] = str(values.get("home", DEFAULT_HOME))
        if "roots" in values:
            values["roots"] = _folders(values["roots"])
        if "hidden" in values:
            values["hidden"] = _folders(values["hidden"])
        if isinstance(hosts := values.get("network_hosts"), str):
            values["network_hosts"] = [one for part in hosts.split(",") if (one := part.strip())]
        if "workspace" in values:
            values["workspace"] = str(values["workspace"])
        if "agent_file" in values:
            values["agent_file"] = str(values["agent_file"])
        return _checked(values)


def _checked(values: dict[str, Any]) -> NodeSettings:
    try:
        settings = msgspec.convert(values, NodeSettings, strict=False, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise SettingsError(_told(str(error))) from None  # the cause may show a secret
    home = settings.home.expanduser()
    if not home.is_absolute():
        home = Path.cwd() / home
    is_foreign = settings.wire != "semibot"
    _check_url(settings.control_plane_url, "the server" if is_foreign else "CONTROL_PLANE_WS")
    if settings.log_level not in ("debug", "info", "warning", "error"):
        raise SettingsError("log_level must be debug, info, warning or error")
    if bad := next((one for one in settings.network_hosts if not is_host(one)), None):
        raise SettingsError(f"network_hosts: {bad[:100]!r} is no name like example.org")
    roots = [_root(folder) for folder in settings.roots]
    usual = settings.workspace and _root(settings.workspace, "--workspace")
    return msgspec.structs.replace(settings, home=home, roots=roots, workspace=usual)


def _folders(given: Any) -> list[str]:
    """Of flags, one each; of the variable, as of PATH."""
    parts = given.split(os.pathsep) if isinstance(given, str) else map(str, given)
    return [part for part in parts if part]


def _root(folder: Path, flag: str = "--root") -> Path:
    """Where its links lead. One that is not there is a slip of whoever named it."""
    full = folder.expanduser()
    try:
        full = full.resolve(strict=True)
    except (OSError, RuntimeError):
        raise SettingsError(f"{flag} {folder}: there is no such folder") from None
    if not full.is_dir():
        raise SettingsError(f"{flag} {folder} is not a folder")
    return full


def _told(problem: str) -> str:
    """In the names that people gave it by."""
    what, _, where = problem.partition(" - at `$.")
    field = where.rstrip("`")
    return f"{_FLAGS.get(field) or field or 'settings'}: {what}"


def _path(kind: type[Any], value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError


def _check_url(url: str, name: str) -> None:
    try:
        parts = urlsplit(url)
        is_reachable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_reachable = False
    if not is_reachable or parts.scheme not in ("ws", "wss"):
        raise SettingsError(f"{name} must be like wss://name.example/ws/vm")
    if parts.username is not None or parts.query or parts.fragment:
        raise SettingsError(f"{name} must not carry a user, a query or a fragment")
