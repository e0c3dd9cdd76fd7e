"""A machine that has lost a session's files: the log of the control plane brings them back."""

import asyncio
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.model_server import ToolUse, Turn
from tests.support.node_system import running_system
from trunkline.execution.home import Home

BOUND_S = 120


async def test_a_power_cut_that_tears_every_file_costs_no_answer_and_no_result(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(BOUND_S), running_system(tmp_path) as (world, _, _):
        (world.node.workspace / "treasure.txt").write_text("under the old oak")
        read = ToolUse(name="read_file", arguments={"path": "treasure.txt"})
        world.model.script(Turn(text="I look.", tool_calls=[read]), Turn(text="I know it now."))
        async with await world.session() as talk:
            assert (await talk.ask("Read it."))["content"] == "I know it now."
            await world.node.kill()
            session = Home(tmp_path / "home").session(talk.id)
            for path in (session / "checkpoints").iterdir():
                os.truncate(path, path.stat().st_size // 3)
            shutil.rmtree(session / "memory")
            # Nor does a snapshot help.
            with closing(sqlite3.connect(tmp_path / "data" / "trunkline.db", timeout=30)) as db, db:
                db.execute("DELETE FROM snapshots")
            await world.node.start()

            world.model.script(Turn(text="Under the oak."))
            assert (await talk.ask("Where is it?"))["content"] == "Under the oak."
            said = str(world.model.requests[-1].body["messages"])
            assert said.count("Read it.") == 1
            assert said.count("I know it now.") == 1
            assert "under the old oak" in said
            assert "Where is it?" in (session / "memory" / "conversation.md").read_text()
