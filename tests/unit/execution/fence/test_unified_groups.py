"""Version 2 of control groups, on folders that behave as the kernel's do: for systems that test it
have version 1, or give this user none."""

import errno
import os
from pathlib import Path, PosixPath
from typing import Any

import pytest

from trunkline.execution.fence.groups import Groups, Place

FORKS = "12"
"""The first time that this process is moved, it has just made another."""
CHILD = "14"


class Group(PosixPath):
    """A folder below a mounted cgroup2, and the files in it."""

    def mkdir(self, *arguments: Any, **options: Any) -> None:
        is_there = self.exists()
        super().mkdir(*arguments, **options)
        if is_there:
            return
        given = (self.parent / "cgroup.subtree_control").read_text().split()
        self.fill(" ".join(given))
        for name in given:
            Path(self / f"{name}.max").write_text("max\n")

    def fill(self, controllers: str) -> None:
        for name in ("cgroup.procs", "cgroup.subtree_control"):
            Path(self / name).write_text("")
        Path(self / "cgroup.controllers").write_text(controllers)
        Path(self / "cgroup.type").write_text("domain\n")

    def rmdir(self) -> None:
        if (self / "cgroup.procs").read_text():
            raise OSError(errno.EBUSY, "in use")
        for file in self.iterdir():
            file.unlink()
        super().rmdir()

    def write_text(self, data: str, *_arguments: Any, **_options: Any) -> int:
        if not self.exists():
            raise PermissionError(errno.EACCES, "nobody makes files here")
        if self.name == "cgroup.procs":
            self._move(data)
        elif self.name == "cgroup.subtree_control":
            self._give(data.removeprefix("+"))
        else:
            return super().write_text(data)
        return len(data)

    def _move(self, pid: str) -> None:
        for other in (
            self.parent.parent / "cgroup.procs",
            *self.parent.parent.glob("*/cgroup.procs"),
        ):
            pids = other.read_text().split()
            if pid in pids:
                pids.remove(pid)
                pids += [CHILD] if pid == FORKS and CHILD not in pids else []
                Path(other).write_text("\n".join(pids))
                break
        else:
            raise ProcessLookupError(errno.ESRCH, "no such process")
        Path(self).write_text("\n".join([*self.read_text().split(), pid]))

    def _give(self, controller: str) -> None:
        if (self.parent / "cgroup.procs").read_text():
            raise OSError(errno.EBUSY, "it has processes of its own")
        if controller not in (self.parent / "cgroup.controllers").read_text().split():
            raise FileNotFoundError(errno.ENOENT, "no such controller")
        Path(self).write_text(" ".join([*self.read_text().split(), controller]))


def group(place: Path, controllers: str, *pids: str) -> Group:
    made = Group(place)
    made.fill(controllers)
    Path(made / "cgroup.procs").write_text("\n".join(pids))
    return made


def test_what_is_in_our_group_moves_aside_also_what_forks_meanwhile(tmp_path: Path) -> None:
    folder = group(tmp_path, "cpu memory pids", "11", FORKS, "13")
    made = Groups.below(Place(folder, is_unified=True))
    assert made is not None
    assert (folder / "cgroup.procs").read_text() == ""
    moved = (folder / "trunkline-rest" / "cgroup.procs").read_text().split()
    assert sorted(moved) == ["11", FORKS, "13", CHILD]
    assert (folder / "cgroup.subtree_control").read_text() == "pids memory"
    assert [one.name for one in folder.iterdir() if one.is_dir()] == ["trunkline-rest"]


def test_a_session_is_bounded_in_processes_and_memory(tmp_path: Path) -> None:
    made = Groups.below(Place(group(tmp_path, "memory pids", "11"), is_unified=True))
    assert made is not None
    assert made.has_memory
    own = Path(made.of("s-1", tasks_max=10, memory_bytes=2_000_000))
    assert (own / "pids.max").read_text() == "10"
    assert (own / "memory.max").read_text() == "2000000"


def test_without_memory_to_count_processes_are_bounded_alone(tmp_path: Path) -> None:
    made = Groups.below(Place(group(tmp_path, "pids", "11"), is_unified=True))
    assert made is not None
    assert not made.has_memory
    own = Path(made.of("s-1", tasks_max=10, memory_bytes=2_000_000))
    assert sorted(one.name for one in own.glob("*.max")) == ["pids.max"]


def test_the_next_daemon_finds_it_arranged_and_moves_nothing(tmp_path: Path) -> None:
    folder = group(tmp_path, "pids", "11")
    assert Groups.below(Place(folder, is_unified=True)) is not None
    Path(folder / "cgroup.procs").write_text("")
    before = (folder / "trunkline-rest" / "cgroup.procs").read_text()
    assert Groups.below(Place(folder, is_unified=True)) is not None
    assert (folder / "trunkline-rest" / "cgroup.procs").read_text() == before
    assert (folder / "cgroup.subtree_control").read_text() == "pids"


@pytest.mark.parametrize("controllers", ["", "memory"])
def test_where_processes_cannot_be_counted_there_are_no_groups(
    tmp_path: Path, controllers: str
) -> None:
    folder = group(tmp_path, controllers, str(os.getpid()))
    assert Groups.below(Place(folder, is_unified=True)) is None
