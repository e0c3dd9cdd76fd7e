"""A session's process, for tests: loads a skill when told to, and notes if it had to fetch it."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from trunkline.execution.home import Home
from trunkline.execution.skills.registry import SkillRegistry


class NotingControl:
    def __init__(self, notes: Path) -> None:
        self._notes = notes

    async def request(self, method: str, **params: Any) -> Any:
        with self._notes.open("a") as notes:
            notes.write(f"{method}\n")
        await asyncio.sleep(0.05)  # long enough for the others to ask meanwhile
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
    folder = await registry.load("pdf")
    print(len(list(folder.iterdir())), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
