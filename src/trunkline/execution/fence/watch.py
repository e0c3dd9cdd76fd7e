"""What the kernel does not bound for a session: looked at now and then, while commands run."""

import os
from pathlib import Path

import psutil

from trunkline import limits
from trunkline.execution.fence import groups
from trunkline.execution.fence.profile import Profile

DISK_FREE_BYTES_MIN = 256 * limits.MIB  # on the disk that a session writes to
TASKS_FREE_MIN = 32  # of those that the kernel lets it have: its own process needs some too


class Watch:
    """Of one session, in its own process."""

    def __init__(self, allowed: Profile) -> None:
        self._allowed = allowed
        places = [*allowed.write[:1], allowed.temp]
        self._disks = [place for place in places if place and Path(place).is_dir()]

    def problem(self) -> str | None:
        """Why what runs must end: it uses more than a session may, or fills the disk."""
        count, used = _below()
        if count > self._allowed.processes:
            return f"more than {self._allowed.processes} processes at once"
        if self._has_all_tasks():
            return f"{self._allowed.tasks} processes and threads, which is all that there may be"
        if self._allowed.memory_bytes and used > self._allowed.memory_bytes:
            return f"more than {self._allowed.memory_bytes // limits.MIB} MiB of memory"
        if any(_free_bytes(disk) < DISK_FREE_BYTES_MIN for disk in self._disks):
            return f"less than {DISK_FREE_BYTES_MIN // limits.MIB} MiB left on the disk"
        return None

    def _has_all_tasks(self) -> bool:
        if not self._allowed.group:
            return False
        try:
            return groups.tasks(self._allowed.group) > self._allowed.tasks - TASKS_FREE_MIN
        except (OSError, ValueError):
            return False  # it is not there any more


def _below() -> tuple[int, int]:
    """How many processes this one has below it, and the memory that is theirs alone."""
    count = used = 0
    for process in psutil.Process().children(recursive=True):
        try:
            memory = process.memory_info()
        except psutil.Error:
            continue
        count += 1
        used += max(0, memory.rss - getattr(memory, "shared", 0))
    return count, used


def _free_bytes(place: str) -> int:
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize
