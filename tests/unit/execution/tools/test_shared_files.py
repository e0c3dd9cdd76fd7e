"""Two sessions, one file: no reader sees half a write, and no edit is lost."""

import asyncio
import sys

import pytest

from tests.unit.execution.tools.support import Call

TIMES = 25


@pytest.mark.proves("004-6-files-are-shared")
async def test_edits_of_several_processes_are_all_there_and_never_torn(call: Call) -> None:
    shared = call.file("shared.txt")
    shared.write_text("END\n")
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.unit.execution.tools.file_writer"),
            *(str(call.home.root), name, str(TIMES)),
        )
        for name in "abc"
    ]
    ends = asyncio.gather(*(process.wait() for process in processes))
    looks = 0
    while not ends.done():
        assert shared.read_text().endswith("END\n")
        looks += 1
        await asyncio.sleep(0)
    assert (await ends, looks > 0) == ([0, 0, 0], True)
    lines = shared.read_text().splitlines()
    wanted = {f"{name} {number} {name * 5000}" for name in "abc" for number in range(TIMES)}
    assert (set(lines[:-1]), len(lines)) == (wanted, 3 * TIMES + 1)
