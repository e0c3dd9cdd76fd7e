"""One settings object: each value from a flag, `TRUNKLINE_*` or `trunkline.toml`, in that order.

A value that is out of range or of the wrong type is refused at the start, with its name, and so is
a name that is no setting. A file can name programs that are run and the admin's token: it is read
from `--config` or the user's own configuration folder, never from the folder that somebody happens
to be in, and only if nobody else can write it.
"""

import ipaddress
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from trunkline import limits, model_windows, names, prices
from trunkline.control.checked_json import explained
from trunkline.control.errors import InvalidRequest
from trunkline.places import data_folder, user_folder
from trunkline.private_files import only_ours

_YES = ("true", "1", "yes", "on")  # the values that switch `SEND_LLM_MESSAGE` on

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator may choose; docs/reference/settings.md explains each."""

    host: str = "127.0.0.1"
    port: int = 8080
    data: str = ""
    admin_token: str | None = None
    database_url: str | None = None
    bus_url: str | None = None
    keys: str = ""
    """The folder, or the file, with the system's keys; by default `keys/` in the data folder."""
    rate_limit_per_minute: int = limits.MESSAGES_PER_MINUTE_MAX
    public_url: str | None = None
    """The address that people and machines use, when a proxy stands in front."""
    allowed_origins: str = ""
    """More origins (comma-separated) whose pages may call this server."""
    mcp_allowed_hosts: str = ""
    """Private hosts or networks (comma-separated) that remote MCP servers may be on."""
    push_allowed_hosts: str = ""
    """Private hosts or networks (comma-separated) that push services of browsers may be on."""
    push_contact: str = ""
    """Whom a push service may write to: `mailto:…` or `https://…`; by default `public_url`."""
    connections_max: int = 10_000
    """Open connections in all; fewer where the system allows fewer open files."""
    connections_per_address_max: int = 1_000
    """Of one address, this host and named proxies apart."""
    connections_per_user_max: int = 2_000
    """Of one user, with pages, readers and programs; lines of machines apart."""
    trusted_proxies: str = ""
    """Addresses or networks (comma-separated) whose `X-Forwarded-For` counts."""
    metrics_allowed: str = ""
    """Addresses or networks (comma-separated) that read `/metrics` without a token."""
    log_sync: str = "normal"
    """`normal` survives a killed process, `full` also a power cut."""
    low_disk_bytes: int = limits.GIB
    """Free on the data folder's disk; below, operators are warned. 0: never."""
    json_logs: bool = False
    log_level: str = "info"
    machine_away_s: float = limits.MACHINE_AWAY_S
    vm_connect_timeout_s: float = limits.VM_CONNECT_TIMEOUT_S
    open_agp: bool = False
    """Let devices in by `guid` and `user_id` alone, as the AGP document describes."""
    open_myagent: bool = False
    """MyAgent clients without a token act as the first user; on loopback, without `public_url`."""
    send_llm_message: bool = False
    """Send `agent.llm_message` to MyAgent clients. Also set by `SEND_LLM_MESSAGE`."""
    default_model: str | None = None
    """The model of sessions that name none; by default one of a provider with a key."""
    prices: str | None = None
    """A JSON file with what models cost, over the table that comes with us."""
    model_windows: str | None = None
    """A JSON file with how much models read at once, over the table that comes with us."""
    model_titles: bool = True
    """Ask a session's own model for a title, once, after its first turn."""
    fallback_model: str | None = None
    """The model that is asked when another one cannot answer."""
    embeddings_url: str | None = None
    """A server of embeddings as OpenAI's (`…/v1`), for the search of memories by meaning; without
    it the built-in model does it."""
    embeddings_model: str | None = None
    """The model that is asked for there."""
    embeddings_key: str | None = None
    """The key of that server."""
    local_machine: bool = False
    """Keep an execution plane for the first user as a child process; `trunkline up` does."""
    open_browser: bool = True
    """`trunkline up` opens the page in a browser, where somebody sits before one."""
    vm_command: str | None = None
    """The program that provider `local` starts; by default this project's own daemon."""
    node_roots: str = ""
    """Folders (separated as in PATH) below which sessions of the first user's own local machine may
    work, besides its workspace."""
    node_workspace: str = ""
    """The folder there of sessions that name none, in place of the machine's own workspace."""

    quota_sessions: int = 10_000
    """That one user may have open. These are defaults: administrators give organisations and users
    quotas of their own."""
    quota_stored_bytes: int = 64 * limits.GIB
    """Of one user's sessions, closed ones too: their logs and saved states."""
    quota_agents: int = 500
    """Of one user."""
    quota_memories: int = 100_000
    """Of one user, and so many that an organisation shares."""
    quota_snapshot_bytes: int = 4 * limits.GIB
    """Of one user's sessions: the states from which they go on elsewhere."""
    quota_skill_bytes: int = 1 * limits.GIB
    """Of one organisation."""

    machines: str = ""
    """The folder with the homes of local machines; by default beside the data folder."""
    fence: Literal["require", "auto", "off"] = "auto"
    """Whether sessions on local machines are confined."""

    @property
    def data_dir(self) -> Path:
        return data_folder(self.data)

    @property
    def keys_place(self) -> Path:
        return Path(self.keys).expanduser() if self.keys else self.data_dir / "keys"

    @property
    def machines_dir(self) -> Path:
        if self.machines:
            return Path(self.machines).expanduser()
        data = self.data_dir.absolute()
        return data.with_name(f"{data.name}-machines")

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def load(
    flags: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """The settings of this start. `flags` holds only what was given on the command line."""
    given = os.environ if env is None else env
    if problem := names.unknown_variable(given):
        raise _refused(problem)
    values: dict[str, Any] = _from_file(file or config_file(given), is_needed=file is not None)
    for name in names.CONTROL:
        if (text := given.get(names.PREFIX + name.upper())) is not None:
            values[name] = text
    asked = given.get("SEND_LLM_MESSAGE")
    if asked is not None and "send_llm_message" not in values:
        values["send_llm_message"] = asked.strip().lower() in _YES
    values.update({key: value for key, value in (flags or {}).items() if value is not None})
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise _refused(f"settings: {explained(error, Settings)}") from error
    if settings.public_url is not None:
        plain = settings.public_url.strip().rstrip("/")
        settings = msgspec.structs.replace(settings, public_url=plain)
    _check(settings)
    return settings


def hosts_and_networks(setting: str, text: str) -> tuple[set[str], list[Network]]:
    """What a setting of hosts names: hosts in lower case, and networks."""
    hosts: set[str] = set()
    networks: list[Network] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        try:
            networks.append(ipaddress.ip_network(entry, strict=False))
        except ValueError as error:
            if "/" in entry:
                raise _refused(
                    f"settings: {setting}: {entry!r} is neither a host nor a network"
                ) from error
            hosts.add(entry.lower().rstrip("."))
    return hosts, networks


def networks_of(setting: str, text: str) -> list[Network]:
    """What a setting of addresses and networks names."""
    try:
        entries = filter(None, (part.strip() for part in text.split(",")))
        return [ipaddress.ip_network(entry, strict=False) for entry in entries]
    except ValueError as error:
        raise _refused(f"settings: {setting}: {error}") from error


def config_file(env: Mapping[str, str]) -> Path:
    """Where settings are read from when no file is named."""
    return user_folder(env, "XDG_CONFIG_HOME", "~/.config") / "trunkline.toml"


def _from_file(path: Path, *, is_needed: bool) -> dict[str, Any]:
    try:
        if not is_needed and not path.exists():
            return {}
        if reason := only_ours(path):
            raise _refused(
                f"{path} is not read: {reason}. Settings name programs that are run and the"
                " admin's token, so nobody else may be able to change them"
            )
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _refused(f"{path}: {error}") from error
    if problem := names.unknown_of("setting", found, names.CONTROL):
        raise _refused(f"{path}: {problem}")
    return found


def _refused(problem: str) -> InvalidRequest:
    return InvalidRequest(problem, code="INVALID_SETTINGS")


def _check(settings: Settings) -> None:
    missing = ", ".join(_missing(settings.node_roots))
    is_lost = settings.node_workspace and _missing(settings.node_workspace)
    problems = {
        "port must be between 0 and 65535": 0 <= settings.port <= 65535,
        "rate_limit_per_minute must not be negative": settings.rate_limit_per_minute >= 0,
        "low_disk_bytes must not be negative": settings.low_disk_bytes >= 0,
        "log_sync must be normal or full": settings.log_sync in ("normal", "full"),
        "log_level must be debug, info, warning or error": settings.log_level
        in ("debug", "info", "warning", "error"),
        "admin_token must have at least 16 characters": settings.admin_token is None
        or len(settings.admin_token) >= 16,
        "bus_url: this version has only the in-process bus; unset it": settings.bus_url is None,
        "open_myagent needs a server that listens on loopback only": (
            settings.is_loopback or not settings.open_myagent
        ),
        f"node_roots: there is no folder {missing[:200]}": not missing,
        f"node_workspace: there is no folder {settings.node_workspace[:200]}": not is_lost,
        "connections_max must be positive": settings.connections_max > 0,
        "connections_per_address_max must be positive": settings.connections_per_address_max > 0,
        "connections_per_user_max must be positive": settings.connections_per_user_max > 0,
        # A proxy on this host makes strangers look local.
        "open_myagent and public_url exclude each other: a proxy would let everyone in": (
            settings.public_url is None or not settings.open_myagent
        ),
        "embeddings_url must be like https://name.example/v1": (
            settings.embeddings_url is None or _is_base_url(settings.embeddings_url)
        ),
        "embeddings_url and embeddings_model need each other": (
            bool(settings.embeddings_url) == bool(settings.embeddings_model)
        ),
        "embeddings_key must be printable ASCII, without blanks": (
            settings.embeddings_key is None or _is_key(settings.embeddings_key)
        ),
        "push_contact must be like mailto:me@name.example or https://name.example": (
            not settings.push_contact or _is_contact(settings.push_contact)
        ),
        "machine_away_s must not be negative": settings.machine_away_s >= 0,
        "vm_connect_timeout_s must be positive": settings.vm_connect_timeout_s > 0,
        "public_url must be like https://name.example or http://name.example:8080/path": (
            settings.public_url is None or _is_base_url(settings.public_url)
        ),
    }
    for name in (one for one in settings.__struct_fields__ if one.startswith("quota_")):
        is_fine = 0 <= getattr(settings, name) <= limits.JSON_INT_MAX
        problems[f"{name} must be between 0 and {limits.JSON_INT_MAX}"] = is_fine
    for name, read in (("prices", prices.read), ("model_windows", model_windows.read)):
        if path := getattr(settings, name):
            try:
                read(Path(path).expanduser())
            except ValueError as error:
                raise _refused(f"settings: {name}: {error}") from error
    hosts_and_networks("mcp_allowed_hosts", settings.mcp_allowed_hosts)
    hosts_and_networks("push_allowed_hosts", settings.push_allowed_hosts)
    networks_of("trusted_proxies", settings.trusted_proxies)
    networks_of("metrics_allowed", settings.metrics_allowed)
    for problem, fine in problems.items():
        if not fine:
            raise _refused(f"settings: {problem}")


def _missing(node_roots: str) -> list[str]:
    named = filter(None, node_roots.split(os.pathsep))
    return [one for one in named if not Path(one).expanduser().is_dir()]


def _is_key(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def _is_contact(text: str) -> bool:
    is_mail = text.startswith("mailto:") and "@" in text[8:] and " " not in text
    return text.isprintable() and (is_mail or (text.startswith("https:") and _is_base_url(text)))


def _is_base_url(text: str) -> bool:
    """An address to which paths can be added, and nothing else."""
    if not text.isprintable() or any(character in text for character in " ?#@\\"):
        return False
    try:
        parts = urlsplit(text)
        is_reachable = parts.port != 0
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and is_reachable
