"""A program for tests: adopts orphans as a session does, runs commands, says what is left of them.

`python -m tests.unit.execution.process.orphanage FOLDER`
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from tests.support.eventually import until
from tests.unit.execution.tools.support import is_running
from trunkline.execution.process import family
from trunkline.execution.process.programs import children, run_process


async def command(text: str, folder: Path) -> int:
    finished = await run_process(
        ["sh", "-c", text], cwd=folder, env=os.environ, timeout_s=30, take=lambda _text: None
    )
    return finished.exit_code


async def orphan(folder: Path, script: str) -> int:
    """A process that escaped its command, and came to us."""
    file = folder / "pid"
    file.unlink(missing_ok=True)
    await command(
        f"(setsid sh -c 'echo $$ > pid; {script}' &); until [ -s pid ]; do :; done", folder
    )
    return int(file.read_text())


async def main(folder: Path) -> None:
    family.adopt_orphans()
    # This one leaves the dead to the loop, which can be kept from looking; the usual one has a
    # thread that is always faster than a test.
    watcher = asyncio.PidfdChildWatcher()
    watcher.attach_loop(asyncio.get_running_loop())
    asyncio.set_child_watcher(watcher)

    dead = await orphan(folder, "exit 0")
    await until(lambda: not is_running(dead))
    living = await orphan(folder, "exec sleep 1000")
    ours = await children.start("sh", "-c", "exit 7")
    while is_running(ours.pid):
        pass  # not a turn for the loop: it must not hear of this end yet
    children.reap_orphans()
    left = family.children()
    result = {
        "dead_is_left": dead in left,
        "living_is_left": living in left and is_running(living),
        "exit_code": await ours.wait(),
        "next_exit_code": await command("exit 3", folder),
    }
    family.kill(living)
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
