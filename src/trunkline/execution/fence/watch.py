"""What the kernel does not bound for a session: looked at now and then, while commands run."""

import os
from pathlib import Path

import psutil

from trunkline import limits
from trunkline.execution.fence.profile import Profile

DISK_FREE_BYTES_MIN = 256 * limits.MIB  # on the disk that a session writes to


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
        if self._allowed.memory_bytes and used > self._allowed.memory_bytes:
            return f"more than {self._allowed.memory_bytes // limits.MIB} MiB of memory"
        if any(_free_bytes(disk) < DISK_FREE_BYTES_MIN for disk in self._disks):
            return f"less than {DISK_FREE_BYTES_MIN // limits.MIB} MiB left on the disk"
        return None


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
