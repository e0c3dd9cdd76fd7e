"""The fence of one machine, as its daemon has it: what is in force, and each session's profile."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
import structlog

from trunkline.execution.errors import StartFailed
from trunkline.execution.fence import profile, words
from trunkline.execution.fence.probe import Found
from trunkline.execution.fence.profile import Mode, Profile
from trunkline.execution.fence.seccomp import Network
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.session import ipc

_log = structlog.get_logger(__name__)

HOSTS_MAX = 200
_HOST_CHARS_MAX = 253


class Fence:
    """Made once; asked before each start of a session's process."""

    def __init__(
        self,
        home: Home,
        mode: Mode,
        found: Found,
        *,
        hidden: Sequence[Path] = (),
        roots: Sequence[Path] = (),
        network: Network = "open",
        hosts: Sequence[str] = (),
        env: Mapping[str, str] = os.environ,
    ) -> None:
        """`hidden`: what no session sees, wherever it works. `roots`: below which sessions may
        work. `network`, `hosts`: of sessions that say nothing of it."""
        self._home = home
        self._mode = mode
        self._found = found
        self._roots = [root.resolve() for root in (home.workspace, *roots)]
        self._user = Path(env.get("HOME") or Path.home())
        self._hidden = [one.resolve() for one in (home.internal, *hidden)]
        self._network: Network = network
        self._hosts = list(hosts)
        self._read = profile.system(self._user, env, self._hidden)
        self._memory = profile.memory_bytes()
        self.proxy_port = 0
        """Of the daemon's proxy, once it listens."""

    @property
    def in_force(self) -> bool:
        return words.in_force(self._found, self._mode)

    def told(self) -> Json:
        """For the machine's record and for people."""
        return {"in_force": self.in_force, "words": self._words(self._network)}

    def _words(self, network: Network) -> str:
        return words.told(self._found, self._mode, network)

    def of(self, start: ipc.Start) -> Profile | None:
        """What a session may do on this machine, as its settings are now. Raises StartFailed."""
        return self.profile(
            start.session_id,
            start.workspace,
            {**start.agent_config, **start.session_config},
            is_program=start.runtime_type != ipc.DEFAULT_RUNTIME,
        )

    def profile(
        self, session_id: str, workspace: str, config: Mapping[str, Any], *, is_program: bool
    ) -> Profile | None:
        """None where there is no fence. Raises StartFailed where one is required."""
        if not self.in_force:
            if self._mode == "require":
                raise StartFailed(self._words("open"), code="FENCE_REQUIRED")
            return None
        network, hosts = self._access(config)
        allowed = Profile(
            mode=self._mode,
            kind="program",
            network=network,
            hosts=hosts,
            memory_bytes=self._memory,
            told=self._words(network),
        )
        if is_program:
            return allowed
        folder = self._home.session(session_id)
        work = self._home.workspace_of(workspace).resolve()
        return msgspec.structs.replace(
            allowed,
            kind="session",
            read=[*self._read, str(self._home.skills), str(self._home.programs)],
            write=[*self._workspace(work), str(self._home.cache)],
            own=[str(folder), str(self._home.locks)],
            temp=str(folder / "tmp"),
            cache=str(self._home.cache),
            proxy_port=self.proxy_port,
        )

    def _workspace(self, work: Path) -> list[str]:
        hidden = [*self._hidden, *profile.secrets(self._user)]
        if work.is_relative_to(self._roots[0]):
            # The machine's own may be below what is hidden from all others.
            hidden = [one for one in hidden if one not in self._roots[0].parents]
        places = list(profile.without(work, hidden))
        if not places:
            why = f"no session may work in {str(work)[:200]!r}: it holds what none may see"
            raise StartFailed(why, code="WORKSPACE_REFUSED")
        if git := profile.git_folder(work, self._roots):
            places += profile.without(git, hidden)
        return list(map(str, places))

    def _access(self, config: Mapping[str, Any]) -> tuple[Network, list[str]]:
        """The stricter of what the machine and the session say; nonsense is off."""
        wanted = config.get("network") or self._network
        if wanted not in get_args(Network):
            raise StartFailed("network must be open, off or list", code="INVALID_SETTINGS")
        network: Network = wanted
        hosts = config.get("network_hosts")
        if self._network == "off" or network == "off":
            return "off", []
        named = _checked_hosts(hosts) if hosts is not None else self._hosts
        if self._network == "list":
            allowed = named if network == "list" and hosts is not None else self._hosts
            return "list", [one for one in allowed if _is_below(one, self._hosts)]
        return network, named if network == "list" else []


def _checked_hosts(hosts: Any) -> list[str]:
    """Raises StartFailed."""
    is_good = isinstance(hosts, list) and len(hosts) <= HOSTS_MAX
    if not is_good or not all(isinstance(one, str) and is_host(one) for one in hosts):
        why = f"network_hosts must be at most {HOSTS_MAX} names like example.org or *.example.org"
        raise StartFailed(why, code="INVALID_SETTINGS")
    return [one.lower().rstrip(".") for one in hosts]


def is_host(text: str) -> bool:
    """A name or an address, or `*.` before a name."""
    plain = text.removeprefix("*.")
    is_plain = all(char.isalnum() or char in "-._:" for char in plain)
    return 0 < len(plain) <= _HOST_CHARS_MAX and is_plain and plain.isascii()


def _is_below(host: str, allowed: Sequence[str]) -> bool:
    return any(host == one or covers(one, host) for one in allowed)


def covers(pattern: str, host: str) -> bool:
    """Whether an entry of a list means that host."""
    pattern, host = pattern.lower(), host.lower().rstrip(".")
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and host != pattern[2:]
    return host == pattern
