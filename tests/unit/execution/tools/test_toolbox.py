"""Everything a session can do, put together."""

from typing import Any

import pytest

from tests.support.eventually import until
from tests.unit.execution.tools.support import Call, Control
from trunkline.execution.home import Home
from trunkline.execution.session import ipc
from trunkline.execution.skills.registry import SkillRegistry
from trunkline.execution.tools.base import Tool, ToolResult, object_schema
from trunkline.execution.tools.toolbox import Toolbox, open_toolbox

BUILT_IN = {
    *("bash", "code_execution", "read_file", "write_file", "edit_file", "list_files"),
    *("search_files", "web_search", "web_fetch", "memory_search", "memory_write"),
    *("bash_output", "bash_stop", "apply_patch", "glob", "todo_write"),
}
ENV = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-env-12345678"}


class Extra(Tool):
    name = "delegate"
    description = "from elsewhere"
    parameters = object_schema({})

    async def run(self, arguments: Any, run: Any) -> ToolResult:
        return ToolResult(content="done")


async def toolbox(home: Home, problems: list[str], **start: Any) -> Toolbox:
    control = Control()
    index = start.get("skill_index", [])
    given = ipc.Start(session_id="s", home=str(home.root), **start)
    skills = SkillRegistry(index, home, control, ENV)
    return await open_toolbox(given, home, control, skills=skills, problems=problems, env=ENV)


async def test_the_built_in_tools_are_there(home: Home) -> None:
    problems: list[str] = []
    box = await toolbox(home, problems)
    assert {spec.name for spec in box.specs()} == BUILT_IN
    assert problems == []
    await box.close()


async def test_skills_bring_the_tool_that_reads_them(home: Home) -> None:
    box = await toolbox(home, [], skill_index=[{"id": "pdf", "name": "pdf", "description": "d"}])
    assert {spec.name for spec in box.specs()} == BUILT_IN | {"read_skill_file"}
    await box.close()


async def test_the_secret_of_a_skill_is_for_its_scripts_and_not_for_mcp_servers(
    home: Home, call: Call
) -> None:
    env = {**ENV, "NOTION_TOKEN": "n-12345678"}
    index = [{"id": "n", "name": "n", "requires": {"env_vars": ["NOTION_TOKEN"]}}]
    command = 'printf "%s|%s" "$NOTION_TOKEN" "$OWN_TOKEN" > new; mv new seen'
    server = {"name": "x", "command": "sh", "args": ["-c", command], "env": {"OWN_TOKEN": "own"}}
    control = Control()
    box = await open_toolbox(
        ipc.Start(session_id="s", home=str(home.root), mcp_servers=[server]),
        home,
        control,
        skills=SkillRegistry(index, home, control, env),
        problems=[],
        env=env,
    )
    bash = box.get("bash")
    assert bash is not None
    assert "n-12345678" in (await call.run(bash, command="echo $NOTION_TOKEN")).content
    await until(lambda: call.file("seen").exists())
    assert call.file("seen").read_text() == "|own"
    await box.close()


async def test_tools_from_elsewhere_are_taken_in(home: Home) -> None:
    extra = Extra()
    control = Control()
    box = await open_toolbox(
        ipc.Start(session_id="s", home=str(home.root)),
        home,
        control,
        skills=SkillRegistry([], home, control, ENV),
        extra=[extra],
        problems=[],
        env=ENV,
    )
    assert box.get("delegate") is extra
    await box.close()


async def test_a_call_is_checked_by_the_tools_schema(home: Home) -> None:
    box = await toolbox(home, [])
    bash = box.get("bash")
    assert bash is not None
    assert box.get("missing") is None
    assert box.check(bash, {"command": "ls"}) is None
    assert "'command' is a required property" in (box.check(bash, {}) or "")
    assert "not valid JSON" in (box.check(bash, {"_malformed": "{"}) or "")
    for timeout in (0, -1, 86_401, "10", float("nan")):
        problem = box.check(bash, {"command": "ls", "timeout_seconds": timeout})
        assert problem is not None, timeout
    await box.close()


async def test_every_description_and_schema_is_what_models_take(home: Home) -> None:
    box = await toolbox(home, [], skill_index=[{"id": "pdf", "name": "pdf", "description": "d"}])
    for spec in box.specs():
        assert spec.description.endswith(".")
        assert spec.parameters["type"] == "object"
        assert spec.parameters["additionalProperties"] is False
        assert set(spec.parameters["required"]) <= set(spec.parameters["properties"])
    await box.close()


@pytest.mark.proves("004-9-keys-in-memory-only")
async def test_keys_reach_no_program(home: Home) -> None:
    box = await toolbox(home, [], api_keys={"openai": "sk-init-12345678"})
    bash = box.get("bash")
    assert bash is not None
    result = await Call(home).run(bash, command="env; cat /proc/$PPID/environ | tr '\\0' '\\n'")
    assert "sk-env-12345678" not in result.content
    assert "sk-init-12345678" not in result.content
    await box.close()


@pytest.mark.parametrize(
    "server",
    [
        {},
        {"name": ""},
        {"name": "x", "type": "local"},
        {"name": "x", "type": "carrier pigeon"},
        {"name": "x", "type": "local", "command": "c", "args": "not a list"},
        {"name": "x", "type": "local", "command": "c", "env": {"A=B": "c"}},
        {"name": "x", "type": "local", "command": "c", "timeout_s": -1},
        {"name": "x", "type": "local", "command": "a\0b"},
    ],
    ids=repr,
)
async def test_an_mcp_server_that_cannot_be_used_is_a_problem_and_no_more(
    home: Home, server: dict[str, Any]
) -> None:
    problems: list[str] = []
    box = await toolbox(home, problems, mcp_servers=[server])
    assert len(problems) == 1
    assert {spec.name for spec in box.specs()} == BUILT_IN
    await box.close()
