"""The fence of one machine, as its daemon has it: what is in force, and each session's profile."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
import structlog

from trunkline.execution.attachments import FOLDER as ATTACHMENTS
from trunkline.execution.errors import StartFailed
from trunkline.execution.fence import hosts as hosts_of
from trunkline.execution.fence import profile, words
from trunkline.execution.fence.access import Access, widened
from trunkline.execution.fence.groups import Groups
from trunkline.execution.fence.probe import Found
from trunkline.execution.fence.profile import TASKS_MAX, Mode, Mounts, Profile
from trunkline.execution.fence.proxy import Proxy
from trunkline.execution.fence.seccomp import Network
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.session import ipc

_log = structlog.get_logger(__name__)


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
        groups: Groups | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        """`hidden`: what no session sees, wherever it works. `roots`: below which sessions may
        work. `network`, `hosts`: of sessions that say nothing of it. `groups`: where the kernel
        counts what each has."""
        self._home = home
        self._mode = mode
        self._found = msgspec.structs.replace(
            found,
            counts=groups is not None,
            counts_memory=groups is not None and groups.has_memory,
        )
        self.groups = groups
        self._own = [home.workspace.resolve(), home.worktrees.resolve()]
        self._git_roots = [*self._own, *(root.resolve() for root in roots)]
        self._user = Path(env.get("HOME") or Path.home())
        self._hidden = [one.resolve() for one in (home.internal, *hidden)]
        self._unseen = [*self._hidden, *profile.secrets(self._user)]
        self._network: Network = network
        self._hosts = list(hosts)
        self._read = profile.system(self._user, env, self._hidden)
        # A session may do anything in a folder of its own, but not with all that the home holds.
        is_open = home.root.resolve().is_relative_to(profile.TEMPORARY)
        self._private = profile.private([profile.TEMPORARY] if is_open else [])
        program = [*(one for one in sys.path if one.startswith("/")), sys.prefix, sys.base_prefix]
        self._kept = [*program, *map(os.path.realpath, program)]
        self._secrets = [str(one) for one in profile.secrets(self._user)]
        self._memory = profile.memory_bytes()
        self.proxy = Proxy()
        """The way out of sessions with a list of hosts, once it is open."""

    @property
    def in_force(self) -> bool:
        return words.in_force(self._found, self._mode)

    def told(self) -> Json:
        """For the machine's record and for people."""
        told = words.told_of_machine(self._found, self._mode, self._network, self._private)
        return {"in_force": self.in_force, "words": told}

    def _words(self, network: Network) -> str:
        return words.told(self._found, self._mode, network)

    def profile(self, start: ipc.Start, access: Access | None = None) -> Profile | None:
        """None where there is no fence. `access`: what a person lets one command do besides.
        Raises StartFailed where a fence is required; RequestFailed for what nobody can allow."""
        if not self.in_force and self._mode == "require":
            raise StartFailed(self._words("open"), code="FENCE_REQUIRED")
        network, hosts = self._access({**start.agent_config, **start.session_config})
        is_ours = start.runtime_type == ipc.DEFAULT_RUNTIME
        if not (network == "open" or (is_ours and self._can_keep(network))):
            why = f"the network {network!r} can only be kept inside of a fence, and there is none"
            raise StartFailed(f"{why} around this session", code="FENCE_REQUIRED")
        if not self.in_force:
            return None
        allowed = Profile(
            mode=self._mode,
            kind="program",
            landlock_abi=self._found.landlock_abi,
            network=network,
            hosts=hosts,
            memory_bytes=self._memory,
            # OpenClaw has one gateway for all: nothing of one session lives in a group of its own.
            group="" if start.runtime_type == "openclaw" else self._group(start.session_id),
        )
        if not is_ours:
            return self._of_program(allowed, start)
        internal = self._home.internal.resolve()
        folder = internal / self._home.sessions.name / self._home.session(start.session_id).name
        cache = internal / self._home.cache.name
        work = self._home.workspace_of(start.workspace).resolve()
        git = profile.git_folders(work, self._git_roots)
        repository = filter(profile.is_real, [*git.write, *start.writable])
        made = msgspec.structs.replace(
            allowed,
            kind="session",
            read=[*self._read, str(self._home.skills), str(self._home.programs), *git.read],
            write=[*self._workspace(work), *repository, str(cache)],
            own=[str(folder), str(internal / self._home.locks.name)],
            temp=str(folder / "tmp"),
            received=str(folder / ATTACHMENTS),
            cache=str(cache),
            proxy=self.proxy.address(start.session_id, hosts) if network == "list" else "",
            proxy_port=self.proxy.port,
        )
        mounts = self._mounts(made, start, work) if self._found.mounts else None
        private = mounts.private if mounts is not None else ()
        told = words.told(self._found_of(allowed), self._mode, network, private)
        made = msgspec.structs.replace(made, mounts=mounts, told=told)
        if access is None:
            return made
        return widened(
            made,
            access,
            hidden=self._hidden_beside,
            machine_network=self._network,
            keeps_sockets=self._found.calls and self._found.connects,
        )

    def _mounts(self, made: Profile, start: ipc.Start, work: Path) -> Mounts:
        """Each a path without links, but for those that this machine's owner has put there."""
        home, folder = self._home, str(work)
        own = [str(one) for one in (home.workspace, home.skills, home.programs)]
        closed = [one for one in self._secrets if one.startswith(f"{folder}/")]
        named = home.workspace_of(start.workspace).parent
        is_plain = not closed and profile.is_real(str(named))
        used = [*made.read, *made.write]
        if not is_plain and work.is_relative_to(profile.TEMPORARY):
            used.append(profile.TEMPORARY)
        return Mounts(
            hidden=[str(one) for one in self._hidden],
            kept=[*own, *map(os.path.realpath, own), *self._kept],
            folders=[folder] if folder != "/" else [],  # which nothing can be laid over
            closed=closed,
            private=[one for one in profile.private(used) if one in self._private],
        )

    def _group(self, session_id: str) -> str:
        if self.groups is None:
            return ""
        return self.groups.of(session_id, tasks_max=TASKS_MAX, memory_bytes=self._memory)

    def _hidden_beside(self, named: Path) -> list[Path]:
        """Of what is the user's own, a person may open what they name themselves, not with the
        folder above it; the rest stays hidden."""
        return [one for one in self._unseen if one in self._hidden or not named.is_relative_to(one)]

    def _of_program(self, allowed: Profile, start: ipc.Start) -> Profile:
        """What its maker decided stays as it is; what is other sessions', or the control plane's,
        it does not see, where the system can do that."""
        home, internal = self._home, self._home.internal.resolve()
        unseen = [*self._hidden, *([self.groups.folder] if self.groups is not None else [])]
        hidden = [str(one) for one in unseen] if self._found.masks else []
        own = [home.sessions / home.session(start.session_id).name, home.programs, home.skills]
        kept = [internal / one.relative_to(home.internal) for one in (*own, home.cache)]
        for one in kept:  # only what is there can be kept
            one.mkdir(mode=0o700, parents=True, exist_ok=True)
        work = home.workspace_of(start.workspace).resolve()
        kept += [work, *map(Path, start.writable), Path(sys.prefix), Path(sys.base_prefix)]
        return msgspec.structs.replace(
            allowed,
            hidden=hidden,
            kept=[str(one) for one in kept],
            told=words.told_of_program(self._found_of(allowed), self._mode),
        )

    def _found_of(self, allowed: Profile) -> Found:
        """A session without a group of its own is not said to be bounded by one."""
        if allowed.group:
            return self._found
        return msgspec.structs.replace(self._found, counts=False, counts_memory=False)

    def of_gateway(self) -> Profile | None:
        """Of OpenClaw's gateway, which is one for all sessions."""
        if not self.in_force:
            return None
        internal = self._home.internal.resolve()
        hidden = [str(one) for one in self._hidden if one != internal]
        return Profile(
            mode=self._mode,
            kind="program",
            landlock_abi=self._found.landlock_abi,
            hidden=hidden if self._found.masks else [],
            kept=[str(self._home.root.resolve()), sys.prefix, sys.base_prefix],
        )

    def _can_keep(self, network: Network) -> bool:
        found = self._found
        return self.in_force and found.calls and (network != "list" or found.connects)

    def _workspace(self, work: Path) -> list[str]:
        hidden = self._unseen
        if any(work.is_relative_to(place) for place in self._own):
            # The machine's own may be below what is hidden from all others.
            above = set(work.parents)
            hidden = [one for one in hidden if one not in above]
        places = [str(place) for place in profile.without(work, hidden)]
        if not places:
            why = f"no session may work in {str(work)[:200]!r}: it holds what none may see"
            raise StartFailed(why, code="WORKSPACE_REFUSED")
        return places

    def _access(self, config: Mapping[str, Any]) -> tuple[Network, list[str]]:
        """The stricter of what the machine and the session say; nonsense is off."""
        wanted = config.get("network") or self._network
        if wanted not in get_args(Network):
            raise StartFailed("network must be open, off or list", code="INVALID_SETTINGS")
        network: Network = wanted
        hosts = config.get("network_hosts")
        if self._network == "off" or network == "off":
            return "off", []
        named = hosts_of.checked(hosts) if hosts is not None else self._hosts
        if self._network == "list":
            allowed = named if network == "list" and hosts is not None else self._hosts
            return "list", [one for one in allowed if hosts_of.is_below(one, self._hosts)]
        return network, named if network == "list" else []
