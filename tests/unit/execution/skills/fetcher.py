"""A session's process, for tests: loads a skill when told to, and notes if it had to fetch it."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from tests.support.eventually import until
from trunkline.execution.home import Home
from trunkline.execution.skills.registry import SkillRegistry

PROCESSES = 4
"""That ask at once: the answer comes when all of them do."""


def asking(notes: Path) -> int:
    return len(list(notes.parent.glob(f"{notes.name}.*")))


class NotingControl:
    def __init__(self, notes: Path) -> None:
        self._notes = notes

    async def request(self, method: str, **params: Any) -> Any:
        with self._notes.open("a") as notes:
            notes.write(f"{method}\n")
        await until(lambda: asking(self._notes), lambda count: count == PROCESSES)
        files = [{"path": f"{n}.txt", "content": str(n)} for n in range(50)]
        return {
            "package": {"version": "1", "files": [{"path": "SKILL.md", "content": "x"}, *files]}
        }

    def fire_and_forget(self, method: str, **params: Any) -> None:
        raise AssertionError(method)


async def main(root: str) -> None:
    home = Home(Path(root))
    index = [{"id": "pdf", "name": "pdf", "version": "1"}]
    registry = SkillRegistry(index, home, NotingControl(home.root / "notes"), {})
    print("ready", flush=True)
    sys.stdin.readline()
    (home.root / f"notes.{os.getpid()}").touch()
    folder = await registry.load("pdf")
    print(len(list(folder.iterdir())), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
