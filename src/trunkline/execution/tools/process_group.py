"""Processes that start together and end together: a leader in its own session, and its children.

For everything a session starts on its machine: commands, code, local MCP servers.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

_ROUNDS_MAX = 5


def kill_group(leader: int) -> None:
    """Ends the leader's whole session, at once. A program that made a session of its own escapes.

    The group is killed in one step. A shell with job control puts its background jobs in groups of
    their own, which share the session: those are looked for, again while any is found, because
    one may have forked in between.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for _ in range(_ROUNDS_MAX):
        members = session_members(leader)
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not members:
            return


def session_members(leader: int) -> list[int]:
    """The processes of a session, without those that are dead and only wait to be reaped."""
    names = (path.name for path in Path("/proc").iterdir())
    return [
        int(name)
        for name in names
        if name.isdigit() and _session_of(int(name)) == leader and not _is_dead(name)
    ]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _is_dead(name: str) -> bool:
    try:
        text = Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    # The state follows the program's name, which stands in parentheses and may hold any character.
    return text.rpartition(")")[2].split()[0] in ("Z", "X")
