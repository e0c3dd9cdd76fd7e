"""A Yeaft server's pages see what this machine's user began in the terminal, and go on with it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support import foreign_files
from tests.support.foreign_servers import YeaftServer
from tests.unit.execution.ws.foreign.machine import Machine, connected, yeaft_machine
from trunkline.execution.home import Home


@pytest.fixture
async def server() -> AsyncIterator[YeaftServer]:
    async with YeaftServer() as made:
        yield made


@pytest.fixture
def work(tmp_path: Path) -> Path:
    home = Home(tmp_path)
    home.make()
    foreign_files.claude_code(tmp_path / "own", home.workspace)
    foreign_files.codex(tmp_path / "own", home.workspace)
    return home.workspace.resolve()


@pytest.fixture
async def machine(server: YeaftServer, tmp_path: Path, work: Path) -> AsyncIterator[Machine]:
    async with connected(yeaft_machine(server, tmp_path)) as made:
        await server.first("agent_sync_complete")
        yield made


async def test_they_are_in_the_lists(server: YeaftServer, machine: Machine, work: Path) -> None:
    await server.say("list_history_sessions", requestId=1)
    found = (await server.first("history_sessions_list"))["sessions"]
    assert {one["provider"] for one in found} == {"claude-code", "codex"}
    assert {one["workDir"] for one in found} == {str(work)}
    await server.say("list_history_sessions", provider="codex", workDir=str(work))
    found = (await server.first("history_sessions_list", count=2))["sessions"]
    assert [one["sessionId"] for one in found] == [foreign_files.CODEX_ID]
    await server.say("list_folders", provider="claude-code")
    [folder] = (await server.first("folders_list"))["folders"]
    assert (folder["path"], folder["sessionCount"]) == (str(work), 1)


async def test_one_is_gone_on_with_also_after_a_restart(
    server: YeaftServer, machine: Machine, work: Path, tmp_path: Path
) -> None:
    named = {"conversationId": "c-1", "sessionId": foreign_files.CODEX_ID}
    await server.say("resume_conversation", **named)
    ready = await server.first("session_ready")
    assert ready["workDir"] == str(work)
    [start] = machine.started_with
    assert (start["session_id"], start["runtime_type"]) == ("c-1", "acp")
    assert start["agent_config"]["acp"] == {"preset": "codex"}
    assert start["session_config"]["workspace"] == str(work)
    state = start["snapshot"]["runtime_state"]
    assert (state["session_id"], state["program"]) == (foreign_files.CODEX_ID, "codex")
    await server.say("list_history_sessions")
    found = (await server.first("history_sessions_list"))["sessions"]
    assert foreign_files.CODEX_ID not in {one["sessionId"] for one in found}
    await machine.client.close()
    async with connected(yeaft_machine(server, tmp_path)) as later:
        await later.until_online()
        await server.say("send_message", conversationId="c-1", text="Go on")
        await later.until_told("user_message")
        [start] = later.started_with
        assert start["runtime_type"] == "acp"


async def test_one_that_nobody_has_begins_anew(server: YeaftServer, machine: Machine) -> None:
    await server.say("resume_conversation", conversationId="c-2", sessionId="unknown")
    await server.first("session_ready")
    [start] = machine.started_with
    assert "runtime_type" not in start
