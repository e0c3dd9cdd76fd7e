"""The children of a session's process: programs that it started, and orphans that came to it.

A session adopts what its commands leave behind (`session/family.py`), and the event loop waits
only for what was started here: the dead among the others are reaped by hand.
"""

import asyncio
import os
from contextlib import suppress
from typing import Any

from trunkline.execution.session import family


class Children:
    """Knows the programs that were started through it; their exit status is the loop's."""

    def __init__(self) -> None:
        self._started: set[asyncio.subprocess.Process] = set()
        self._starting = 0

    async def start(self, *argv: str, **options: Any) -> asyncio.subprocess.Process:
        """As `asyncio.create_subprocess_exec`."""
        self._starting += 1
        try:
            process = await asyncio.create_subprocess_exec(*argv, **options)
            self._started.add(process)
        finally:
            self._starting -= 1
        return process

    def reap_orphans(self) -> None:
        """Lets the dead go that nobody waits for; the living, and what was started here, stay."""
        self._started = {one for one in self._started if one.returncode is None}
        if self._starting:
            return  # a child without a name here may be one that is being started
        for pid in family.children() - {one.pid for one in self._started}:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


children = Children()
"""Of this process."""
