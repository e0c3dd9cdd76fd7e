"""A second session's process, for tests: edits one file of the workspace, many times."""

import asyncio
import sys
from pathlib import Path

from tests.unit.execution.tools.support import Call
from trunkline.execution.home import Home
from trunkline.execution.tools.text_files import Paths
from trunkline.execution.tools.writing import EditFile


async def main(root: str, name: str, times: int) -> None:
    home = Home(Path(root))
    edit = EditFile(Paths(home.workspace, home.skills), home)
    call = Call(home)
    for number in range(times):
        line = f"{name} {number} {name * 5000}\n"
        await call.run(edit, path="shared.txt", old_text="END\n", new_text=f"{line}END\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
