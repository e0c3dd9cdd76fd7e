"""One machine: whom it serves, and where it keeps what (document 004 §1, §6, §8)."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.control import TestUser, running
from tests.support.scripted_node import ScriptedNode
from tests.unit.execution.checkpoint.savers import done, opened, place, put
from tests.unit.execution.tools.support import Control
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.home import Home
from trunkline.execution.memory.local_memory import LocalShortTermMemory
from trunkline.execution.skills.registry import SkillRegistry, read_in

pytestmark = pytest.mark.slow

BOUND_S = 60


@pytest.mark.proves("004-6-workspace-stays")
def test_a_home_that_is_used_again_keeps_what_is_in_it(tmp_path: Path) -> None:
    Home(tmp_path).make()
    mine = tmp_path / "workspace" / "projects" / "my-app"
    mine.mkdir(parents=True)
    (mine / "main.py").write_text("print(1)")
    Home(tmp_path).make()
    assert (mine / "main.py").read_text() == "print(1)"


@pytest.mark.proves("004-6-sessions-are-apart", "004-3.2-own-to-a-session")
async def test_two_sessions_of_one_home_do_not_see_each_others_memory(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    one, other = (home.session(name) for name in ("s-1", "s-2"))
    await LocalShortTermMemory(one).save_message("user", "between us")
    await LocalShortTermMemory(one).save_context("key", "value")
    put(LocalCheckpointer(one), "a", {"n": 1}, thread="s-1")
    assert await LocalShortTermMemory(other).get_conversation() == ""
    assert await LocalShortTermMemory(other).get_context() == {}
    assert done(LocalCheckpointer(other).aget_tuple(place(thread="s-2"))) is None
    assert opened(LocalCheckpointer(one), place(thread="s-1")).checkpoint["id"] == "a"
    assert (one / "memory" / "conversation.md").is_file()
    assert (one / "checkpoints" / "a.json").is_file()


@pytest.mark.proves("004-8-lazy")
async def test_a_skill_is_offered_without_being_fetched(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    package = {"files": [{"path": "SKILL.md", "content": "Do it."}]}
    control = Control(get_skill_package={"package": package})
    index = [{"id": "pdf", "name": "pdf", "description": "Reads PDF."}]
    skills = SkillRegistry(index, home, control, {})
    assert "Reads PDF." in skills.prompt()
    assert control.asked == []
    assert read_in(await skills.load("pdf"), "SKILL.md") == "Do it."
    assert [method for method, _ in control.asked] == ["get_skill_package"]


async def asked(user: TestUser, session_id: str, message: str) -> Any:
    """The content of the answer."""
    async with user.reader(session_id) as reader:
        turn_id = await user.say(session_id, message)

        def ends() -> list[Any]:
            events = [one.json for one in reader.events if one.id is not None]
            return [
                one
                for one in events
                if one["type"] == "execution_complete" and one.get("turn_id") == turn_id
            ]

        await reader.until(lambda _: bool(ends()), "the end of the turn")
        return ends()[0]["content"]


@pytest.mark.proves("004-1-one-user-per-machine")
async def test_machines_of_two_users_share_neither_sessions_nor_keys_nor_files(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(BOUND_S), AsyncExitStack() as stack:
        control = await stack.enter_async_context(running(tmp_path / "data"))
        for name in ("ada", "bob"):
            user = await control.user()
            await user.ok(
                "PUT", f"/users/{user.id}/credentials/anthropic", {"api_key": f"key-of-{name}"}
            )
            node = await ScriptedNode(user, tmp_path / name).start()
            stack.push_async_callback(node.stop)
            session_id = await user.session(machine_id=node.machine_id)
            about = json.loads(await asked(user, session_id, "who"))
            assert about["keys"]["anthropic"] == f"key-of-{name}"
            assert await asked(user, session_id, f"remember {name}") == "remembered"
        for name, other in (("ada", "bob"), ("bob", "ada")):
            sessions = tmp_path / name / ".semibot" / "sessions"
            notes = [path.read_text() for path in sessions.rglob("scratchpad.md")]
            assert notes == [name], other
