"""MCP tools of a session: servers come up beside it, and a late one is not lost."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.support.eventually import eventually
from tests.unit.execution.tools.support import Call, Control
from trunkline.execution.home import Home
from trunkline.execution.mcp.tools import McpCatalog
from trunkline.execution.session import ipc
from trunkline.execution.skills.registry import SkillRegistry
from trunkline.execution.tools.toolbox import Toolbox, open_toolbox

ENV = {"PATH": "/usr/bin:/bin"}
TIME_SERVER = str(Path(sys.executable).parent / "mcp-server-time")
TIME = {"name": "time", "type": "local", "command": TIME_SERVER, "args": ["--local-timezone=UTC"]}
LIST = {"tools": [{"name": "find", "inputSchema": {"type": "object"}}]}


async def toolbox(
    home: Home, control: Control, problems: list[str], *servers: dict[str, Any]
) -> Toolbox:
    start = ipc.Start(session_id="s", home=str(home.root), mcp_servers=list(servers))
    skills = SkillRegistry([], home, control, ENV)
    return await open_toolbox(start, home, control, skills=skills, problems=problems, env=ENV)


def names(box: Toolbox) -> list[str]:
    return [spec.name for spec in box.specs() if spec.name.startswith("mcp__")]


async def test_local_and_remote_tools_are_offered_and_work(home: Home) -> None:
    text = {"content": [{"type": "text", "text": "found"}]}
    control = Control(mcp_tools=LIST, mcp_call={"result": text})
    box = await toolbox(home, control, [], TIME, {"name": "wiki", "type": "remote"})

    async def look() -> list[str]:
        await box.settle()
        return names(box)

    found = await eventually(look, lambda found: len(found) == 3)
    assert sorted(found) == [
        "mcp__time__convert_time",
        "mcp__time__get_current_time",
        "mcp__wiki__find",
    ]
    tool = box.get("mcp__time__get_current_time")
    assert tool is not None
    assert box.check(tool, {}) is not None
    assert box.check(tool, {"timezone": "UTC"}) is None
    assert "UTC" in (await Call(home).run(tool, timezone="UTC")).content
    await box.close()


async def test_tools_of_a_late_server_are_behind_those_that_the_model_knows() -> None:
    release = asyncio.Event()

    class Source:
        is_remote = trust_hints = False

        def __init__(self, name: str, wait: bool = False) -> None:
            self.name = name
            self._wait = wait

        async def tools(self) -> list[dict[str, Any]]:
            if self._wait:
                await release.wait()
            return [{"name": "find"}]

        async def call(self, tool: str, arguments: dict[str, Any]) -> Any: ...

        async def close(self) -> None: ...

    def found() -> list[str]:
        return [tool.name for tool in catalog.tools()]

    async def look() -> list[str]:
        return found()

    catalog = McpCatalog([Source("late", wait=True), Source("a"), Source("b")], [])
    await eventually(look, lambda names: len(names) == 2)
    release.set()
    await eventually(look, lambda names: len(names) == 3)
    assert found()[-1] == "mcp__late__find"
    await catalog.close()


async def test_a_session_does_not_wait_for_its_servers(home: Home) -> None:
    release = asyncio.Event()

    class Slow(Control):
        async def request(self, method: str, **params: Any) -> Any:
            await release.wait()
            return LIST

    box = await toolbox(home, Slow(), [], {"name": "wiki", "type": "remote"})
    assert names(box) == []
    settling = asyncio.create_task(box.settle())
    release.set()
    await settling
    assert names(box) == ["mcp__wiki__find"]
    await box.close()


async def test_a_server_that_could_not_be_asked_is_told_once_and_asked_again(home: Home) -> None:
    control = Control(mcp_tools=LIST)
    control.online = False
    problems: list[str] = []
    box = await toolbox(home, control, problems, {"name": "wiki", "type": "remote"})
    await box.settle()
    await box.settle()
    assert names(box) == []
    assert len(problems) == 1
    assert "cannot be reached" in problems[0]
    control.online = True

    async def look() -> list[str]:
        await box.settle()
        return names(box)

    assert await eventually(look) == ["mcp__wiki__find"]
    await box.close()


async def test_a_server_that_fails_does_not_take_others_along(home: Home) -> None:
    problems: list[str] = []
    broken = {"name": "broken", "type": "local", "command": "no-such-program"}
    control = Control(mcp_tools=LIST)
    box = await toolbox(home, control, problems, broken, {"name": "wiki", "type": "remote"})
    await box.settle()
    assert names(box) == ["mcp__wiki__find"]
    assert "'broken' cannot be used" in problems[0]
    await box.close()


async def test_two_servers_of_one_name_are_one(home: Home) -> None:
    problems: list[str] = []
    wiki = {"name": "wiki", "type": "remote"}
    box = await toolbox(home, Control(mcp_tools=LIST), problems, wiki, wiki)
    await box.settle()
    assert names(box) == ["mcp__wiki__find"]
    assert "another of this name" in problems[0]
    await box.close()


async def test_closing_ends_servers_that_are_still_starting(home: Home) -> None:
    odd = str(Path(__file__).parent / "odd_server.py")
    slow = {"name": "slow", "type": "local", "command": sys.executable, "args": [odd, "silent"]}
    box = await toolbox(home, Control(), [], slow)
    await asyncio.sleep(0)
    await box.close()
    assert names(box) == []
