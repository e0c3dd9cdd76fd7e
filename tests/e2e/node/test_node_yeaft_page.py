"""Yeaft's page with a session of the real Claude Code behind it: what the program writes, as it
writes it."""

import os
import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.control import LocalControl
from tests.support.eventually import eventually
from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.node import World
from tests.support.peer import Json
from tests.support.yeaft_page import Page, page_of
from trunkline.execution.home import Home
from trunkline.execution.runtimes import programs

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.programs]

CACHE = Path(__file__).parents[3] / ".programs"
"""Where the test target installs programs, once per clone."""
MODEL = "claude-sonnet-4-5"
WRITE = ToolUse(name="Write", arguments={"file_path": "made.txt", "content": "hello"})


@pytest_asyncio.fixture(loop_scope="module")
async def world(control: LocalControl, tmp_path: Path) -> AsyncIterator[World]:
    found = programs.locate("claude-code", Home(CACHE), os.environ)
    if not found:
        pytest.skip("Claude Code is not installed here")
    own = tmp_path / "bin" / "claude"
    own.parent.mkdir()
    own.write_text(f'#!/bin/sh\nexec {shlex.join(found)} "$@"\n')
    own.chmod(0o755)
    env = {"PATH": f"{own.parent}:{os.environ['PATH']}"}
    async with ModelServer() as model, World(control, model, tmp_path / "home", env) as made:

        async def has_claude() -> bool:
            machine = await made.user.ok("GET", f"/machines/{made.node.machine_id}")
            return "claude-code" in machine["health"].get("runtimes", [])

        await eventually(has_claude)
        yield made


def outputs(page: Page, session: str) -> list[Json]:
    found = [one for one in page.of_type("claude_output") if one["conversationId"] == session]
    return [one["data"] for one in found]


@pytest.mark.proves("002-5.1-wrapped-as-it-is")
async def test_a_page_talks_to_claude_code_is_asked_and_reloads(world: World) -> None:
    world.model.script(
        Turn(text="I write it.", tool_calls=[WRITE]), Turn(text="It is there."), Turn(text="Again.")
    )
    folder = world.node.workspace
    async with page_of(world.user) as page:
        options = {"model": MODEL}
        session = await page.create(
            world.node.machine_id, provider="claude-code", workDir=str(folder), options=options
        )
        await world.user.ok("PATCH", f"/sessions/{session}/config", {"confirm": "dangerous"})
        await page.send("chat", prompt="Write it.", conversationId=session)
        question = await page.expect("ask_user_question")
        assert "made.txt" in question["prompt"], "nobody says yes unseen"
        answers = {question["questions"][0]["question"]: "yes"}
        await page.send("ask_user_answer", requestId=question["requestId"], answers=answers)
        await page.expect("turn_completed")
        shown = outputs(page, session)
        kinds = [one["type"] for one in shown]
        assert kinds.count("result") == 1
        assert shown[-1]["type"] == "result"
        assert shown[-1]["session_id"], "the program's own"
        assert "stream_event" in kinds
        assert page.text_of(session) == "I write it.It is there."
        assert (folder / "made.txt").read_text() == "hello"
        told = await page.expect("slash_commands_update")
        assert told["slashCommands"]
    async with page_of(world.user, open_conversation=session) as page:
        await page.until(lambda: session in page.rows, "its rows")
        said = [row["content"] for row in page.rows[session] if row["message_type"] == "assistant"]
        assert said == ["I write it.", "It is there."]
        assert (await page.chat("Again."))["type"] == "turn_completed"
        assert page.text_of(session) == "Again."
