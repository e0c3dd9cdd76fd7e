"""Our daemon, as a process, on a control plane with the habits of the deployed one."""

import json
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.program import Program, plain_environment
from tests.unit.execution.mcp import odd_server
from tests.unit.execution.ws.scripted_control import Connection, scripted_control

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


class Deployed:
    """The server's side of the daemon's line, and the daemon's model."""

    def __init__(self, line: Connection, model: ModelServer) -> None:
        self.line = line
        self.model = model
        self._said: list[Json] = []

    async def ask(self, text: str) -> Json:
        """Says it, at the end of the history, and returns the event that ends the turn."""
        self._said.append({"role": "user", "content": text})
        data = {"message": text, "history": self._said, "metadata": {}}
        seen = len(self.line.received)
        await self.line.send({"type": "user_message", "session_id": "s-1", "data": data})
        await self.line.until(lambda: bool(self._ends(seen)), "the end of a turn")
        (end,) = self._ends(seen)
        self._said.append({"role": "assistant", "content": end["content"]})
        return end

    def _ends(self, since: int) -> list[Json]:
        frames = [one for one in self.line.received[since:] if one["type"] == "sse_event"]
        events = [json.loads(one["data"]) for one in frames]
        return [one for one in events if one["type"].startswith("execution_")]


@pytest_asyncio.fixture(loop_scope="module")
async def deployed(tmp_path: Path) -> AsyncIterator[Deployed]:
    async with scripted_control() as control, ModelServer() as model:
        control.init = {
            "user_id": "u-1",
            "org_id": "o-1",
            "api_keys": {"openai": "key-1"},
            "llm_config": {
                "default_model": "gpt-first",
                "providers": {"openai": {"base_url": model.openai_url}},
            },
        }
        control.answers = {"memory_search": {"results": []}, "mcp_call": {"result": "found"}}
        env = plain_environment() | {
            "VM_USER_ID": "u-1",
            "VM_TOKEN": "token-1",
            "VM_TICKET": "",
            "CONTROL_PLANE_WS": control.url,
            "TRUNKLINE_NODE_HOME": str(tmp_path / "home"),
        }
        # Where a fenced session may read it.
        workspace = tmp_path / "home" / "workspace"
        workspace.mkdir(parents=True, mode=0o700)
        shutil.copy(odd_server.__file__, workspace / "odd_server.py")
        daemon = Program(tmp_path / "home")
        await daemon.run(sys.executable, "-m", "trunkline.execution.main", env=env)
        try:
            yield Deployed(await control.connected(1), model)
        finally:
            await daemon.stop()


SERVERS = [
    {
        "id": "srv-1",
        "name": "hub",
        "endpoint": "https://hub.example.com/mcp",
        "transport": "http",
        "available_tools": [{"name": "find", "description": "d", "parameters": {"type": "object"}}],
        "auth_config": None,
    },
    {
        "id": "srv-2",
        "name": "here",
        "endpoint": shlex.join([sys.executable, "odd_server.py"]),
        "transport": "stdio",
        "available_tools": [],
    },
]


@pytest.mark.proves(
    "notes-1-own-daemon-drops-the-repeated-message",
    "notes-1-server-config-update",
    "notes-1-server-mcp-entries",
    "notes-1-server-unsupported-method",
)
async def test_turns_with_history_tools_and_other_keys(deployed: Deployed) -> None:
    line, model = deployed.line, deployed.model
    start = {"session_id": "s-1", "agent_id": "a-1", "agent_config": {}, "mcp_servers": SERVERS}
    await line.send({"type": "start_session", "data": start})
    find = ToolUse(name="mcp__hub__find", arguments={"q": "tea"})
    echo = ToolUse(name="mcp__here__echo", arguments={"text": "heard"})
    model.script(Turn(tool_calls=[find]), Turn(tool_calls=[echo]), Turn(text="First."))
    assert (await deployed.ask("One?"))["type"] == "execution_complete"
    called = [one for one in line.of_type("request") if one["method"] == "mcp_call"]
    assert [one["params"]["server"] for one in called] == ["srv-1"]
    assert "heard" in model.requests[-1].tool_results[-1]
    assert model.requests[-1].model == "gpt-first"
    data = {
        "session_id": "s-1",
        "agent_config": {"model": "gpt-second", "temperature": 0.5},
        "api_keys": {"openai": "key-2"},
        "llm_config": {"default_model": "gpt-second"},
    }
    await line.send({"type": "config_update", "session_id": "s-1", "data": data})
    model.script(Turn(text="Second."))
    await deployed.ask("Two?")
    newest = model.requests[-1]
    assert (newest.model, newest.body["temperature"]) == ("gpt-second", 0.5)
    assert newest.headers["authorization"] == "Bearer key-2"
    said = [text for role, text in newest.said if role == "user"]
    assert [text for text in said if text] == ["One?", "Two?"]
