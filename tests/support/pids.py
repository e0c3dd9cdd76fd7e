"""Processes as the kernel sees them, for tests about who lives and who does not."""

from pathlib import Path

from tests.support.eventually import eventually


def is_alive(pid: int) -> bool:
    """False also for one that is dead and only waits to be reaped."""
    try:
        text = Path("/proc", str(pid), "stat").read_text(errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


async def until_gone(*pids: int) -> None:
    async def living() -> list[int]:
        return [pid for pid in pids if is_alive(pid)]

    await eventually(living, lambda found: not found)


async def pids_in(file: Path, count: int) -> list[int]:
    """The numbers that programs have written into a file, once there are so many."""

    async def look() -> list[int]:
        return [int(word) for word in file.read_text().split()] if file.exists() else []

    return await eventually(look, lambda found: len(found) >= count)


def parents() -> dict[int, int]:
    """Of every process."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        try:
            text = (entry / "stat").read_text(errors="replace")
            found[int(entry.name)] = int(text.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    return found


def below(pid: int) -> set[int]:
    """Every process below that one."""
    everybody = parents()
    found = {pid}
    while more := {one for one, parent in everybody.items() if parent in found} - found:
        found |= more
    return found - {pid}


def environment(pid: int) -> str:
    return Path("/proc", str(pid), "environ").read_text(errors="replace")


def command_line(pid: int) -> str:
    return Path("/proc", str(pid), "cmdline").read_text(errors="replace")
