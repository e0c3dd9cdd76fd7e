"""What a session offers the real Claude Code: MCP servers, long-term memory, skills, sub-agents."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.unit.execution.mcp import odd_server
from tests.unit.execution.runtimes.claude_code.conftest import Talk, bash, real_program

pytestmark = pytest.mark.programs


@pytest.fixture
def talk(talk: Talk) -> Talk:
    talk.program = real_program()
    return talk


async def test_long_term_memory_is_searched_without_asking(talk: Talk, model: ModelServer) -> None:
    talk.answers["memory_search"] = lambda _: {"results": [{"content": "likes milk"}]}
    search = ToolUse(name="mcp__trunkline__memory_search", arguments={"query": "milk"})
    model.script(Turn(tool_calls=[search]), Turn(text="Milk"))
    await talk.host(agent_config={"confirm": "dangerous"})
    assert (await talk.ask("what do I like?"))["content"] == "Milk"
    assert "likes milk" in talk.of_type("tool_call_complete")[0]["result"]


async def test_a_remote_server_is_reached_through_the_control_plane(
    talk: Talk, model: ModelServer
) -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    tool = {"name": "open_issue", "description": "opens one", "inputSchema": schema}
    talk.answers["mcp_tools"] = lambda _: {"tools": [tool]}
    made = {"content": [{"type": "text", "text": "issue 7"}]}
    talk.answers["mcp_call"] = lambda params: {"result": made}
    call = ToolUse(name="mcp__tracker__open_issue", arguments={"title": "broken"})
    model.script(Turn(tool_calls=[call]), Turn(text="Opened"))
    await talk.host(mcp_servers=[{"name": "tracker", "type": "remote"}])
    assert (await talk.ask("report it"))["content"] == "Opened"
    assert talk.of_type("tool_call_complete")[0]["result"] == "issue 7"
    [sent] = [one.params for one in talk.requests if one.method == "mcp_call"]
    assert (sent["tool"], sent["arguments"]) == ("open_issue", {"title": "broken"})


async def test_a_local_server_is_started_here_and_its_variables_stay_here(
    talk: Talk, model: ModelServer
) -> None:
    server = {
        "name": "odd",
        "command": sys.executable,
        "args": [odd_server.__file__],
        "env": {"ONLY_ITS_OWN": "secret-of-the-server"},
    }
    echo = ToolUse(name="mcp__odd__echo", arguments={"text": "said by the server"})
    model.script(Turn(tool_calls=[echo]), bash("env"), Turn(text="Seen"))
    await talk.host(mcp_servers=[server])
    await talk.ask("look")
    echoed, environment = talk.of_type("tool_call_complete")
    assert echoed["result"] == "said by the server"
    assert "secret-of-the-server" not in environment["result"]


async def test_a_skill_comes_from_the_shared_cache_fetched_when_missing(
    talk: Talk, model: ModelServer
) -> None:
    guide = "---\nname: greet\ndescription: How to greet\n---\nSay ahoy.\n"
    files = [{"path": "SKILL.md", "content": guide}]
    package = {"package": {"version": "1.0.0", "files": files}}
    talk.answers["get_skill_package"] = lambda _: package
    use = ToolUse(name="Skill", arguments={"skill": "trunkline:greet"})
    model.script(Turn(tool_calls=[use]), Turn(text="Ahoy"))
    skill = {"id": "greet", "name": "greet", "description": "How to greet", "version": "1.0.0"}
    await talk.host(skill_index=[skill])
    assert (await talk.ask("greet me"))["content"] == "Ahoy"
    assert "Say ahoy." in json.dumps(model.requests[-1].messages)
    assert talk.of_type("skill_call_start")[0]["skill_name"] == "trunkline:greet"
    assert (talk.home.skills / "greet" / "SKILL.md").read_text() == guide


async def test_a_sub_agent_is_named_and_the_turn_ends_when_all_are_done(
    talk: Talk, model: ModelServer
) -> None:
    task = {"description": "look", "prompt": "find the cat", "subagent_type": "general-purpose"}
    model.when(
        lambda request: "find the cat" in request.prompt and "delegate" not in request.prompt,
        Turn(text="On the roof"),
    )
    model.when(
        lambda request: "task-notification" in json.dumps(request.messages[-1]),
        Turn(text="It is on the roof"),
    )
    model.script(Turn(tool_calls=[ToolUse(name="Agent", arguments=task)]), Turn(text="Looking"))
    await talk.host()
    end = await talk.ask("delegate")
    assert end["content"] == "It is on the roof"
    said = [one for one in talk.of_type("text_chunk") if one.get("agent")]
    assert "".join(one["content"] for one in said) == "On the roof"
    assert {one["agent"] for one in said} == {"general-purpose"}
    assert talk.of_type("usage")[-1]["calls"] == 4


async def test_its_list_of_things_to_do_is_a_plan(talk: Talk, model: ModelServer) -> None:
    bake = ToolUse(name="TaskCreate", arguments={"subject": "Bake", "description": "a cake"})
    begin = ToolUse(name="TaskUpdate", arguments={"taskId": "1", "status": "in_progress"})
    model.script(Turn(tool_calls=[bake]), Turn(tool_calls=[begin]), Turn(text="Baking"))
    await talk.host()
    await talk.ask("bake")
    assert [one["plan"]["tasks"] for one in talk.of_type("plan")] == [
        [{"title": "Bake", "status": "pending"}],
        [{"title": "Bake", "status": "in_progress"}],
    ]


async def test_a_file_that_it_makes_is_told(talk: Talk, model: ModelServer) -> None:
    path = talk.workspace / "a.txt"
    write = ToolUse(name="Write", arguments={"file_path": str(path), "content": "hi\n"})
    model.script(Turn(tool_calls=[write]), Turn(text="Written"))
    await talk.host()
    await talk.ask("write")
    [made] = talk.of_type("file_created")
    assert (made["path"], made["size"]) == (str(path), 3)


async def test_the_users_own_login_is_used_and_left_as_it_is(
    talk: Talk, model: ModelServer
) -> None:
    own = Path(talk.env["HOME"]) / ".claude"
    own.mkdir()
    login = {
        "accessToken": "token-of-the-user",
        "refreshToken": "never-used",
        "expiresAt": 4_102_444_800_000,
        "scopes": ["user:inference"],
    }
    saved = json.dumps({"claudeAiOauth": login})
    (own / ".credentials.json").write_text(saved)
    model.script(Turn(text="Welcome"))
    await talk.host(api_keys={})
    assert (await talk.ask("Hi"))["content"] == "Welcome"
    assert model.requests[0].headers["authorization"] == "Bearer token-of-the-user"
    assert (own / ".credentials.json").read_text() == saved
    held = [path for path in talk.home.root.rglob("*") if path.is_file()]
    assert not [path for path in held if b"token-of-the-user" in path.read_bytes()]


async def test_what_is_the_users_own_is_used_and_left_alone(
    talk: Talk, model: ModelServer, tmp_path: Path
) -> None:
    own = Path(talk.env["HOME"]) / ".claude"
    (own / "commands").mkdir(parents=True)
    (own / "commands" / "wave.md").write_text("Wave at me.")
    settings = json.dumps({"env": {"WAVES": "7"}, "model": "claude-opus-4-5"})
    (own / "settings.json").write_text(settings)
    model.script(bash("echo $WAVES"), Turn(text="Seven"))
    await talk.host(agent_config={"model": ""})
    await talk.ask("/wave")
    assert "Wave at me." in json.dumps(model.requests[0].messages)
    assert model.requests[0].model == "claude-opus-4-5"
    assert talk.of_type("tool_call_complete")[0]["result"] == "7"
    assert (own / "settings.json").read_text() == settings
    assert not [path for path in talk.home.root.rglob("*") if path.name == "settings.json"]
