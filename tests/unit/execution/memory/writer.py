"""A process that writes a session's memory: `python -m … FOLDER NAME COUNT`."""

import asyncio
import sys
from pathlib import Path

from trunkline.execution.memory.local_memory import LocalShortTermMemory


async def write(folder: Path, name: str, count: int) -> None:
    memory = LocalShortTermMemory(folder)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        await memory.save_message(name, f"{number}\n" + name * 2_000)
        await memory.save_context(f"{name} {number}", number)
        await memory.write_scratchpad(name * 2_000)


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
