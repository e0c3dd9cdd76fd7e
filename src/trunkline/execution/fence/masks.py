"""What a process sees of the files: folders that are not there for it, and what stays of them.

In mounts of its own, as bubblewrap makes them: empty folders lie over what is hidden, and on those,
what the process needs of it. Nothing has to be installed, and no root; some systems and most
containers do not allow it, so it is tried first (`probe.py`).
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from trunkline.execution.fence import namespaces
from trunkline.execution.fence.profile import (
    PRIVATE,
    SHARED_MEMORY,
    SHARED_MEMORY_BYTES_MAX,
    TEMPORARY,
    Profile,
)

# ssh refuses what is included there and belongs to nobody that it knows, as root's files do inside.
_SSH_SNIPPETS = "/etc/ssh/ssh_config.d"
_DISPLAY = "/tmp/.X11-unix"  # noqa: S108 - sockets that the user's own MCP servers may need
_TERMINALS = "/dev/pts"

Kind = Literal["covered", "written", "read", "closed"]


class Step(NamedTuple):
    """`covered`: something else lies there. `written`, `read`: it is shown. `closed`: it is not
    written, although it is in something that is."""

    path: str
    kind: Kind
    cover: str = ""
    """In which of the covered it lies, if nothing that is shown is in between."""


def steps(
    covered: Iterable[str],
    *,
    written: Iterable[str] = (),
    read: Iterable[str] = (),
    closed: Iterable[str] = (),
) -> Iterator[Step]:
    """What has to be mounted, folders before what is in them: all that would not be as it is to be
    without. What is in none of them is read."""
    kinds: dict[str, Kind] = {}
    kinds.update(dict.fromkeys(closed, "closed"))
    kinds.update(dict.fromkeys(read, "read"))
    kinds.update(dict.fromkeys(written, "written"))
    kinds.update(dict.fromkeys(covered, "covered"))
    around: list[tuple[str, Kind]] = [("", "read")]
    for path in sorted(kinds, key=lambda one: one.split("/")):
        while not path.startswith(f"{around[-1][0]}/"):
            around.pop()
        kind = kinds[path]
        folder, is_in = around[-1]
        is_needed = {
            "covered": is_in != "covered",
            "written": is_in != "written",
            "read": is_in == "covered",
            "closed": is_in == "written",
        }
        if is_needed[kind]:
            around.append((path, kind))
            yield Step(path, kind, folder if is_in == "covered" else "")


def mask(hidden: Sequence[str], kept: Sequence[str]) -> None:
    """Of a program of another maker, which may write wherever that decided: of this process, which
    has one thread, and of all that it starts. `kept`: what stays of what is hidden. Full paths.
    Raises OSError; then the process may see anything between all and nothing of it."""
    cwd = _cwd()
    namespaces.enter(user=True)
    needed = list(steps(_there(hidden), read=_there(kept)))
    _lay(needed, _cloned(needed, "read"))
    _finish(needed, cwd, has_user=True)


def own(allowed: Profile) -> None:
    """Of a session: nothing is written but its own places, nothing seen of what is hidden; `/tmp`
    and shared memory are its own. As `mask`. Raises OSError."""
    mounts = allowed.mounts
    assert mounts is not None
    cwd = _cwd()
    has_user = os.geteuid() != 0
    namespaces.enter(user=has_user, ipc=True)
    written = [*mounts.folders, *allowed.write, *allowed.own, allowed.temp, _TERMINALS]
    covered = [*_there(mounts.hidden), *mounts.private]
    read = [*mounts.kept, *allowed.read, allowed.received, *allowed.granted, *allowed.sockets]
    below = tuple(f"{one}/" for one in covered)
    needed = list(
        steps(
            covered,
            written=_there(written),
            read=_there(one for one in (*read, _DISPLAY) if one.startswith(below)),
            closed=_there(mounts.closed),
        )
    )
    clones = _cloned(needed, "written")
    temporary = namespaces.clone(allowed.temp) if TEMPORARY in mounts.private else -1
    namespaces.make_read_only("/", below=True)
    clones |= _cloned(needed, "read", "closed")
    _lay(needed, clones, temporary)
    _finish(needed, cwd, has_user=has_user)


def _there(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path and os.path.lexists(path)]


def _cloned(needed: Iterable[Step], *kinds: Kind) -> dict[str, int]:
    """Handles; none for a path with a link in it."""
    made = {}
    for step in needed:
        if step.kind in kinds:
            with suppress(FileNotFoundError):
                made[step.path] = namespaces.clone(step.path)
    return made


def _lay(needed: Sequence[Step], clones: Mapping[str, int], temporary: int = -1) -> None:
    links = {one.path: _link(one.path) for one in needed if one.cover}
    for step in needed:
        if step.kind == "covered":
            _cover(step.path, temporary)
        elif step.path in clones:
            clone = clones[step.path]
            if step.cover:
                is_folder = stat.S_ISDIR(os.fstat(clone).st_mode)
                _make_place(step, is_folder=is_folder)
            target = namespaces.opened(step.path)
            namespaces.attach(clone, target)
            os.close(target)
            os.close(clone)
        elif leads_to := links.get(step.path):
            _make_place(step, leads_to=leads_to)


def _cover(path: str, temporary: int) -> None:
    if path == TEMPORARY:
        target = namespaces.opened(path)
        namespaces.attach(temporary, target)
        os.close(target)
        os.close(temporary)
    elif path == SHARED_MEMORY:
        namespaces.folder_in_memory(path, f"mode=1777,size={SHARED_MEMORY_BYTES_MAX}")
    elif Path(path).is_dir():
        namespaces.folder_in_memory(path, "mode=0700,size=1m")
    else:
        namespaces.empty_file(path)


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return ""  # something else


def _make_place(step: Step, *, is_folder: bool = False, leads_to: str = "") -> None:
    """In what lies over a folder, where something is to be shown. A session may have put other
    things there: no link is followed."""
    *folders, name = step.path.removeprefix(f"{step.cover}/").split("/")
    folder = namespaces.opened(step.cover)
    for part in [*folders, name] if is_folder else folders:
        inner = _folder(folder, part)
        os.close(folder)
        folder = inner
    if not is_folder and (leads_to or not _is_file(folder, name)):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        if leads_to:
            os.symlink(leads_to, name, dir_fd=folder)
        else:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder))
    os.close(folder)


def _is_file(folder: int, name: str) -> bool:
    """The session's own file of that name is a place like any other: it is covered, and is there
    again afterwards."""
    with suppress(FileNotFoundError):
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return False


def _folder(folder: int, name: str) -> int:
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        os.unlink(name, dir_fd=folder)
    os.mkdir(name, 0o700, dir_fd=folder)
    return os.open(name, flags, dir_fd=folder)


def _finish(needed: Iterable[Step], cwd: str, *, has_user: bool) -> None:
    for step in needed:
        if step.kind == "covered" and step.path not in PRIVATE:
            namespaces.make_read_only(step.path)
    if has_user and Path(_SSH_SNIPPETS).is_dir():
        namespaces.folder_in_memory(_SSH_SNIPPETS, "mode=0755,size=4k", is_read_only=True)
    namespaces.leave_as_is()
    try:
        os.chdir(cwd)  # as it is now: what the process was in before may be covered
    except OSError:
        os.chdir("/")


def _cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return "/"
