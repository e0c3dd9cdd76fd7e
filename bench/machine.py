"""Facts about the machine that a reader of the results needs, and none that identify it."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION_S_MAX = 10.0


def facts() -> list[str]:
    """One line each."""
    load = os.getloadavg()[0]
    lines = [
        f"{len(os.sched_getaffinity(0))} cores ({_processor()}), {_memory_gib()} GiB",
        f"Linux {platform.release().split('-')[0]}, Python {platform.python_version()}, "
        f"the log on {_filesystem(Path(tempfile.gettempdir()))}",
        f"load average at the start: {load:.2f} (0 is quiet; more means noise)",
    ]
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx:
        told = subprocess.run(
            [nginx, "-v"], capture_output=True, text=True, timeout=VERSION_S_MAX, check=False
        )
        lines.append(told.stderr.strip().removeprefix("nginx version: ").replace("/", " "))
    return lines


def _processor() -> str:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found[1].strip() if found else platform.machine()


def _memory_gib() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def _filesystem(folder: Path) -> str:
    """The kind of file system a folder is on: a commit to memory alone would prove little."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    above = [str(folder.resolve()), *map(str, folder.resolve().parents)]
    holding = [(len(point), kind) for point, kind in mounts if point in above]
    return max(holding)[1] if holding else "an unknown file system"
