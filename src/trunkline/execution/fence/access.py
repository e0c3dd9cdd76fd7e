"""More than the fence allows, for one command: what is asked for, and whether it can be given."""

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.fence import profile
from trunkline.execution.fence.profile import Profile
from trunkline.execution.fence.seccomp import Network

PATHS_MAX = 20

_Path = Annotated[str, Meta(min_length=1, max_length=limits.FILE_PATH_CHARS_MAX)]
_Paths = Annotated[list[_Path], Meta(max_length=PATHS_MAX)]


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Full paths, of what is there. `sockets`: those of other programs that it connects to.
    `network`: whether all of it can be reached."""

    read: _Paths = []
    write: _Paths = []
    sockets: _Paths = []
    network: bool = False

    @property
    def told(self) -> str:
        parts = [f"read {path}" for path in self.read] + [f"write {path}" for path in self.write]
        parts += [f"connect to the socket {path}" for path in self.sockets]
        return "; ".join([*parts, *(["reach the whole network"] if self.network else [])])


def widened(
    allowed: Profile,
    access: Access,
    *,
    hidden: Callable[[Path], Sequence[Path]],
    machine_network: Network,
    keeps_sockets: bool,
) -> Profile:
    """For one command. `hidden`: what none may see of that path, whoever says yes.
    `keeps_sockets`: whether this system can open one and no other. Raises RequestFailed."""
    if access.network and machine_network != "open":
        _refuse(f"the network of this machine is {machine_network!r} for every session")
    read = [place for path in access.read for place in _places(path, hidden)]
    write = [place for path in access.write for place in _places(path, hidden)]
    if access.sockets and not keeps_sockets:
        _refuse("this system cannot let a command connect to one socket and to no other")
    sockets = [_socket(path, hidden) for path in access.sockets]
    mounts = allowed.mounts
    if mounts is not None:
        kept_apart = set(profile.private([*read, *write])) & set(mounts.private)
        mounts = msgspec.structs.replace(mounts, private=sorted(kept_apart))
    return msgspec.structs.replace(
        allowed,
        mode="require",
        mounts=mounts,
        own=[],
        granted=read,
        write=[*allowed.write, *write],
        sockets=sockets,
        network="open" if access.network else allowed.network,
    )


def _places(path: str, hidden: Callable[[Path], Sequence[Path]]) -> list[str]:
    """A path with a link in it is not what a person read; one that is not there cannot be named to
    the kernel."""
    if "\0" in path or not path.startswith("/"):
        _refuse(f"{path[:200]!r} is no full path")
    if not os.path.lexists(path):
        _refuse(f"{path[:200]} is not there; name the folder that it is to be in")
    plain = path.rstrip("/") or "/"
    if not profile.is_real(plain):
        _refuse(f"{path[:200]} leads to {os.path.realpath(path)[:200]}; name that instead")
    places = [str(place) for place in profile.without(Path(plain), hidden(Path(plain)))]
    if not places:
        _refuse(f"{path[:200]} is closed to every session, and nobody can open it")
    return places


def _socket(path: str, hidden: Callable[[Path], Sequence[Path]]) -> str:
    place = _places(path, hidden)[0]
    if not stat.S_ISSOCK(os.lstat(place).st_mode):
        _refuse(f"{path[:200]} is no socket")
    return place


def _refuse(why: str) -> None:
    raise RequestFailed("ACCESS_REFUSED", why)
