"""Pictures and files of a session: from a message or a tool to the model, and after a move."""

import base64
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.pictures import attached, bomb, picture
from tests.unit.execution.orchestrator.daemon import Daemon

DOT = picture()
BASE64 = base64.b64encode(DOT).decode()
SERVER = Path(__file__).parents[1] / "mcp" / "odd_server.py"


@pytest.mark.parametrize("name", ["gpt-4o", "claude-sonnet-5-5"])
async def test_what_is_attached_reaches_the_model_and_stays_in_the_conversation(
    daemon: Daemon, model: ModelServer, name: str
) -> None:
    notes = attached(b"the notes", "notes.txt", "text/plain")
    kept = daemon.home.session("s1") / "attachments" / "notes.txt"
    reads = ToolUse(name="read_file", arguments={"path": str(kept)})
    model.script(Turn(tool_calls=[reads]), Turn(text="I read it."), Turn(text="Red."))
    await daemon.start(agent_config={"model": name})
    await daemon.ask("Look at both.", metadata={"attachments": [attached(DOT), notes]})
    assert model.requests[0].images == [BASE64]
    assert f"- {kept} (text/plain, 9 bytes)" in model.requests[0].prompt
    [read] = daemon.of_type("tool_call_complete")
    assert "the notes" in read["result"]
    await daemon.ask("Which colour?")
    assert model.requests[-1].images == [BASE64]


@pytest.mark.parametrize("name", ["gpt-4o", "claude-sonnet-5-5"])
async def test_a_picture_of_an_mcp_server_is_shown_and_gone_after_a_move(
    daemon: Daemon, model: ModelServer, name: str
) -> None:
    call = ToolUse(name="mcp__odd__picture", arguments={"text": BASE64})
    model.script(Turn(tool_calls=[call]), Turn(text="Red."), Turn(text="It was red."))
    server = {"name": "odd", "command": sys.executable, "args": [str(SERVER)]}
    await daemon.start(agent_config={"model": name}, mcp_servers=[server])
    await daemon.ask("Take a picture.")
    assert model.requests[1].images == [BASE64]
    await daemon.stop()
    shutil.rmtree(daemon.home.session("s1") / "pictures")
    await daemon.start(agent_config={"model": name})
    await daemon.ask("What was it?")
    assert model.requests[2].images == []
    assert "it is not on this machine any more" in str(model.requests[2].messages)


async def test_a_picture_that_cannot_be_shown_is_told_of_and_the_turn_goes_on(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="I see nothing."))
    await daemon.start()
    end = await daemon.ask("Look.", metadata={"attachments": [attached(bomb())]})
    assert end["content"] == "I see nothing."
    assert "[picture dot.png: not shown, it has 60000 x 60000 pixels" in model.requests[0].prompt
