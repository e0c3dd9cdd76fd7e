"""Control groups: the kernel's own bound of what a session has together, with all that it starts.

The daemon makes one for each session, below its own group, where that was given to it: a service
or scope of systemd's with `Delegate`, a container's own, version 1's `pids` for root. A session's
process enters its group before it is confined, and cannot write there any more afterwards.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import structlog

_log = structlog.get_logger(__name__)

EMPTY_S = 60.0  # that a group is left alone before its session's process must have come
_OURS = "trunkline-"
_REST = "trunkline-rest"
"""Version 2 bounds what is in groups of a group that has no processes itself: they move here."""
_MOVES_MAX = 20  # rounds, while some fork
_PROC = Path("/proc/self")
_DELEGATED = ("user.delegate", "trusted.delegate")


class Place(NamedTuple):
    """A group below which others can be made."""

    folder: Path
    is_unified: bool
    """Version 2, where the parent says what is counted."""


def find() -> Place | None:
    """Changes nothing: whether `Groups.below_ours` can be hoped for here."""
    try:
        places = list(_own())
    except (OSError, ValueError):
        return None
    return next((one for one in places if _is_given(one)), None)


def enter(folder: str) -> None:
    """This process, and all that it starts from now on. Raises OSError."""
    (Path(folder) / "cgroup.procs").write_text("0")


def tasks(folder: str) -> int:
    """Processes and threads that are in it. Raises OSError, ValueError."""
    return int((Path(folder) / "pids.current").read_text())


class Groups:
    """Of one daemon's sessions."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.has_memory = False
        """Whether memory is bounded there too."""
        self._now = now
        self._made: dict[str, tuple[Path, float]] = {}
        """By session: its group, and when that was asked for last."""
        self._number = 0

    @classmethod
    def below_ours(cls, now: Callable[[], float] = time.monotonic) -> "Groups | None":
        """None where there is no such place, or where trying it failed."""
        place = find()
        return None if place is None else cls.below(place, now)

    @classmethod
    def below(cls, place: Place, now: Callable[[], float] = time.monotonic) -> "Groups | None":
        """As `below_ours`, for a place that was found."""
        groups = cls(place.folder, now)
        try:
            if place.is_unified:
                _arrange(place.folder)
            _remove_left(place.folder)
            groups._try()
        except OSError as error:
            _log.info("no control groups", problem=str(error))
            return None
        return groups

    def of(self, session_id: str, *, tasks_max: int, memory_bytes: int) -> str:
        """The folder of its group; empty where it cannot be had, and is then watched alone."""
        folder, _ = self._made.get(session_id) or (self._next(), 0.0)
        self._made[session_id] = folder, self._now()
        try:
            self._make(folder, tasks_max, memory_bytes)
        except OSError as error:
            _log.warning("no control group for a session", session=session_id, problem=str(error))
            return ""
        return str(folder)

    def sweep(self, *, is_over: bool = False) -> None:
        """Removes those whose session has no process any more. `is_over`: nobody comes either."""
        for session_id, (folder, asked_at) in list(self._made.items()):
            if is_over or self._now() - asked_at >= EMPTY_S:
                with suppress(OSError):  # in use
                    folder.rmdir()
                if not folder.exists():
                    del self._made[session_id]

    def _try(self) -> None:
        """Raises OSError."""
        folder = self._next()
        folder.mkdir()
        try:
            self.has_memory = (folder / "memory.max").exists()
            (folder / "pids.max").write_text("1")
        finally:
            folder.rmdir()

    def _make(self, folder: Path, tasks_max: int, memory_bytes: int) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "pids.max").write_text(str(tasks_max))
        if self.has_memory and memory_bytes:
            (folder / "memory.max").write_text(str(memory_bytes))

    def _next(self) -> Path:
        self._number += 1
        return self.folder / f"{_OURS}{os.getpid()}-{self._number}"


def _own() -> Iterator[Place]:
    """The groups that this process is in and that count processes, as far as they are mounted."""
    groups = [line.split(":", 2) for line in (_PROC / "cgroup").read_text().splitlines()]
    mounts = [_mount(line) for line in (_PROC / "mountinfo").read_text().splitlines()]
    for _, controllers, own in groups:
        is_unified = not controllers
        if not is_unified and "pids" not in controllers.split(","):
            continue
        for kind, options, root, point in mounts:
            is_its = kind == "cgroup2" if is_unified else kind == "cgroup" and "pids" in options
            if is_its and f"{own}/".startswith(f"{root.rstrip('/')}/"):
                folder = Path(point, own[len(root.rstrip("/")) :].lstrip("/"))
                yield Place(folder.parent if folder.name == _REST else folder, is_unified)
                break


def _mount(line: str) -> tuple[str, list[str], str, str]:
    """Its kind, its options, what of it is mounted, and where."""
    place, _, what = line.partition(" - ")
    _, _, _, root, point, *_ = place.split()
    kind, _, options = what.split(maxsplit=2)
    return kind, options.split(","), root, point


def _is_given(place: Place) -> bool:
    """Whether we may make groups there, and nobody else is disturbed by that."""
    folder = place.folder
    if not (os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)):
        return False
    if not place.is_unified:
        return True
    try:
        if "pids" not in _words(folder / "cgroup.controllers"):
            return False
        if not os.access(folder / "cgroup.subtree_control", os.W_OK):
            return False
        return not _must_be_emptied(folder) or _is_ours_alone(folder)
    except OSError:
        return False


def _must_be_emptied(folder: Path) -> bool:
    is_root_of_all = not (folder / "cgroup.type").exists()
    return not is_root_of_all and "pids" not in _words(folder / "cgroup.subtree_control")


def _is_ours_alone(folder: Path) -> bool:
    """The processes in it may be moved: somebody said so, it is a container's own, or they are
    this one and its children."""
    for name in _DELEGATED:
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    if (_PROC / "cgroup").read_text().rstrip().endswith("0::/"):
        return True
    own = {os.getpid(), *(one.pid for one in psutil.Process().children(recursive=True))}
    return {int(one) for one in _words(folder / "cgroup.procs")} <= own


def _arrange(folder: Path) -> None:
    """So that groups in it are counted. Raises OSError."""
    if _must_be_emptied(folder):
        rest = folder / _REST
        rest.mkdir(exist_ok=True)
        for _ in range(_MOVES_MAX):
            pids = _words(folder / "cgroup.procs")
            for pid in pids:
                with suppress(ProcessLookupError):
                    (rest / "cgroup.procs").write_text(pid)
            if not pids:
                break
    control = folder / "cgroup.subtree_control"
    if "pids" not in _words(control):
        control.write_text("+pids")
    if "memory" in _words(folder / "cgroup.controllers"):
        with suppress(OSError):
            control.write_text("+memory")


def _remove_left(folder: Path) -> None:
    """Of daemons that were killed. One with a process in it stays."""
    for group in folder.glob(f"{_OURS}*-*"):
        pid = group.name.removeprefix(_OURS).partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            with suppress(OSError):
                group.rmdir()


def _words(path: Path) -> list[str]:
    return path.read_text().split()
