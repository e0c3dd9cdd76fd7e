"""A conversation's provider and folder on a foreign Yeaft server: what its session runs with here,
and what the server sees of a runtime's own words."""

import json
from pathlib import Path

import pytest

from tests.support.foreign_servers import YeaftServer
from tests.unit.execution.ws.foreign.machine import Json, connected, yeaft_machine
from trunkline.execution.home import Home
from trunkline.execution.session import ipc
from trunkline.execution.session.saved import save_start
from trunkline.execution.ws.foreign.yeaft_choices import Choices

ALL = {"runtimes": ["acp", "claude-code", "openclaw", "semigraph"]}
LINE = '{"message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]},"type":"assistant"}'
END = '{"type":"result","subtype":"success","total_cost_usd":0.10,"result":"Hi"}'


def choices(folder: Path, health: Json | None = None) -> Choices:
    home = Home(folder)
    home.make()
    return Choices(home, {"model": "m", "confirm": "dangerous"}, lambda: health or ALL)


@pytest.mark.parametrize(
    ("provider", "runtime", "more"),
    [
        ("claude-code", "claude-code", {}),
        ("copilot", "acp", {"acp": {"preset": "copilot"}}),
        ("opencode", "acp", {"acp": {"preset": "opencode"}}),
        ("semigraph", "semigraph", {}),
        ("openclaw", "openclaw", {}),
        ("of tomorrow", None, {}),
        (None, None, {}),
    ],
)
def test_a_provider_chooses_the_runtime(
    tmp_path: Path, provider: str | None, runtime: str | None, more: Json
) -> None:
    made = choices(tmp_path)
    made.choose("s", provider, "/srv/project")
    start = made.start_of("s")
    assert start.get("runtime_type") == runtime
    assert start["agent_config"] == {"model": "m", "confirm": "dangerous", **more}
    wanted = None if runtime is None else {"workspace": "/srv/project"}
    assert start.get("session_config") == wanted


def test_a_machine_offers_what_it_can_run(tmp_path: Path) -> None:
    found = choices(tmp_path / "all").providers()
    assert {"claude-code", "copilot", "opencode", "semigraph", "openclaw"} <= set(found)
    assert "acp" not in found
    poor = choices(tmp_path / "poor", {"runtimes": ["semigraph"]})
    assert poor.providers() == ["semigraph"]
    poor.choose("s", "copilot", None)
    assert "runtime_type" not in poor.start_of("s")
    details = {"acp": {"presets": ["opencode"]}}
    some = choices(tmp_path / "some", {"runtimes": ["acp"], "runtime_details": details})
    assert some.providers() == ["opencode"]


def test_a_session_goes_on_as_it_began(tmp_path: Path) -> None:
    folder = Home(tmp_path).session("s")
    folder.mkdir(parents=True)
    acp = {"preset": "copilot"}
    begun = ipc.Start(
        session_id="s",
        home=str(tmp_path),
        runtime_type="acp",
        agent_config={"acp": acp, "model": "of then"},
        workspace="/srv/project",
    )
    save_start(folder, begun)
    made = choices(tmp_path)
    start = made.start_of("s")
    assert (start["runtime_type"], start["agent_config"]["acp"]) == ("acp", acp)
    assert start["agent_config"]["model"] == "m", "settings are this machine's, of now"
    assert start["session_config"] == {"workspace": "/srv/project"}
    assert made.folder("s") == "/srv/project"
    assert made.folder("new") == str(tmp_path / "workspace")


async def test_a_server_is_told_the_providers_and_chooses_one(tmp_path: Path) -> None:
    async with YeaftServer() as server:
        machine = yeaft_machine(server, tmp_path)
        machine.health = ALL
        async with connected(machine):
            await server.first("agent_sync_complete")
            offered = {"provider:claude-code", "provider:copilot", "provider:semigraph"}
            assert offered <= set(server.capabilities)
            asked = {"conversationId": "c", "userId": "u", "provider": "copilot"}
            await server.say("create_conversation", **asked, workDir=str(tmp_path))
            assert (await server.first("conversation_created"))["provider"] == "copilot"
            (start,) = machine.started_with
            assert start["runtime_type"] == "acp"
            assert start["agent_config"]["acp"] == {"preset": "copilot"}
            assert start["session_config"] == {"workspace": str(tmp_path)}


async def test_a_folder_that_is_not_allowed_is_told_to_whoever_asked(tmp_path: Path) -> None:
    async with YeaftServer() as server:
        machine = yeaft_machine(server, tmp_path)
        async with connected(machine):
            await server.first("agent_sync_complete")
            machine.refusal_of_starts = {"error": "not allowed", "code": "WORKSPACE_REFUSED"}
            await server.say("create_conversation", conversationId="c", options={}, workDir="/etc")
            told = await server.first("error")
            assert (told["conversationId"], told["code"]) == ("c", "WORKSPACE_REFUSED")
            assert told["message"] == "not allowed"


async def test_a_programs_lines_pass_under_the_servers_name_of_the_conversation(
    tmp_path: Path,
) -> None:
    async with YeaftServer() as server:
        machine = yeaft_machine(server, tmp_path)
        async with connected(machine):
            await server.first("agent_sync_complete")
            await server.say("send_message", conversationId="their name", text="Go.")
            turn = (await machine.until_told("user_message"))["turn_id"]
            (session,) = machine.starts
            assert session != "their name"
            for data in (LINE, END):
                message = {"type": "claude_output", "conversationId": session}
                raw = {"protocol": "yeaft", "message": {**message, "data": json.loads(data)}}
                foreign = {"protocol": "yeaft", "name": "claude_output", "turn_id": turn}
                machine.event(session, "foreign", **foreign, raw=raw)
            commands = [{"name": "review", "description": "Look at changes"}]
            machine.event(session, "session_status", machine="online", commands=commands)
            machine.end(session, turn, "Hi")
            told = await server.first("slash_commands_update")
            assert (told["conversationId"], told["slashCommands"]) == ("their name", ["review"])
            await machine.has_delivered()
            outputs = [one for one in server.received if one["type"] == "claude_output"]
            assert [one["data"] for one in outputs] == [json.loads(LINE), json.loads(END)]
            assert {one["conversationId"] for one in outputs} == {"their name"}
