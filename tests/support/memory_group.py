"""A memory cgroup (v2) for tests: processes in it are killed by the kernel when they need more.

Made only where the machine's owner gave us leave: below a group that belongs to this user, as
`systemd` gives one to everybody who logs in, or below the one that TRUNKLINE_TEST_CGROUP names.
A group that root merely finds itself in belongs to whatever started us, and is left alone.
"""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.eventually import eventually

_ROOT = Path("/sys/fs/cgroup")


class MemoryGroup:
    """At most that much memory, for whoever is put into it. Used as a context."""

    def __init__(self, parent: Path, bytes_max: int) -> None:
        self._folder = parent / f"trunkline-test-{secrets.token_hex(6)}"
        self._bytes_max = bytes_max

    async def __aenter__(self) -> "MemoryGroup":
        self._folder.mkdir()
        self._write("memory.max", self._bytes_max)
        if (self._folder / "memory.swap.max").exists():
            self._write("memory.swap.max", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        async def is_empty() -> bool:
            return not (self._folder / "cgroup.procs").read_text()

        await eventually(is_empty)
        self._folder.rmdir()

    def add(self, pid: int) -> None:
        """From now on what it needs more counts."""
        self._write("cgroup.procs", pid)

    @property
    def kills(self) -> int:
        """How many of its processes the kernel has killed."""
        events = (self._folder / "memory.events").read_text().split()
        return int(events[events.index("oom_kill") + 1])

    def _write(self, name: str, value: int) -> None:
        (self._folder / name).write_text(str(value))


def parent_group() -> Path:
    """Where groups may be made. Skips the test, with the reason, where there is no such place."""
    named = os.environ.get("TRUNKLINE_TEST_CGROUP")
    if named:
        return Path(named)
    found = next((group for group in _own_groups() if _is_given(group)), None)
    if found is None:
        pytest.skip("no memory cgroup was given to this user; name one in TRUNKLINE_TEST_CGROUP")
    return found


def _own_groups() -> Iterator[Path]:
    """The group of this process and those above it."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    for path in (line[3:] for line in lines if line.startswith("0::")):
        group = _ROOT / path.lstrip("/")
        yield from (group, *group.parents)


def _is_given(group: Path) -> bool:
    controllers = group / "cgroup.subtree_control"
    try:
        owner = group.stat().st_uid
        hands_down = controllers.read_text().split()
    except OSError:
        return False
    return owner == os.getuid() != 0 and "memory" in hands_down
