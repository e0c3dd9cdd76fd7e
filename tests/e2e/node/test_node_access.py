"""More than the fence allows, on a whole system: refused, asked for, allowed once, and run."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.support.control import ControlProcess
from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.node import World
from trunkline.execution.fence import groups, probe


@pytest.mark.skipif(not probe.look().files, reason="no fence here")
async def test_a_command_that_needs_more_is_told_so_and_may_be_asked_for(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes").write_text("what the work needs")
    read = f"cat {outside}/notes"
    more = ToolUse(
        name="bash_with_access",
        arguments={"command": read, "why": "the notes are there", "read": [str(outside)]},
    )
    steps = [
        Turn(tool_calls=[ToolUse(name="bash", arguments={"command": read})]),
        *(Turn(tool_calls=[more]) for _ in range(3)),
    ]
    async with (
        ControlProcess(tmp_path / "data") as control,
        ModelServer() as model,
        World(control, model, tmp_path / "home") as world,
    ):
        model.script(*steps, Turn(text="Done."))
        async with await world.session(agent={"permission_mode": "free"}) as talk:
            turn_id = await talk.say("Read the notes.")
            refused = await talk.until("tool_call_complete", 1)
            assert "ask a person for it with bash_with_access" in refused["result"]
            asked = await talk.until("approval_request", 1)
            assert f"The fence does not allow it to read {outside}." in asked["message"]
            assert asked["tool_input"] == more.arguments
            assert asked["fence"].startswith("files: kernel")
            assert ("processes: bounded" in asked["fence"]) is (groups.find() is not None)
            await talk.answer(asked["request_id"], True, scope="always")
            done = await talk.until("tool_call_complete", 2)
            assert done["result"] == "what the work needs"
            again = await talk.until("approval_request", 2)  # always was once
            await talk.answer(again["request_id"], False, reason="enough")
            denied = await talk.until("tool_call_complete", 3)
            assert (denied["denied"], "enough" in denied["result"]) == (True, True)
            third = await talk.until("approval_request", 3)
            await talk.answer(third["request_id"], True)
            assert (await talk.until("tool_call_complete", 4))["result"] == "what the work needs"
            await talk.end_of(turn_id)
        model.script(Turn(tool_calls=[more]), Turn(text="Done."))
        async with await world.session() as talk:  # as a program makes it: it asks nobody
            turn_id = await talk.say("Read the notes.")
            unasked = await talk.until("tool_call_complete")
            assert "this session asks nobody" in unasked["result"]
            await talk.end_of(turn_id)
        assert (await world.user.ok("GET", "/rules"))["items"] == []


@pytest.mark.skipif(not probe.look().connects, reason="no connection can be judged here")
async def test_a_socket_of_another_program_may_be_asked_for(tmp_path: Path) -> None:
    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"what the agent says")
        writer.close()

    place = str(tmp_path / "agent.sock")
    connect = (
        f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{place}');"
        " print(s.recv(100).decode())"
    )
    command = f'{sys.executable} -c "{connect}"'
    more = ToolUse(
        name="bash_with_access",
        arguments={"command": command, "why": "it signs", "sockets": [place]},
    )
    async with (
        await asyncio.start_unix_server(serve, place),
        ControlProcess(tmp_path / "data") as control,
        ModelServer() as model,
        World(control, model, tmp_path / "home") as world,
    ):
        model.script(
            Turn(tool_calls=[ToolUse(name="bash", arguments={"command": command})]),
            Turn(tool_calls=[more]),
            Turn(text="Done."),
        )
        async with await world.session(agent={"permission_mode": "free"}) as talk:
            turn_id = await talk.say("Sign it.")
            refused = await talk.until("tool_call_complete", 1)
            assert "Unix sockets are out of reach" in refused["result"]
            asked = await talk.until("approval_request", 1)
            assert f"does not allow it to connect to the socket {place}." in asked["message"]
            assert asked["tool_input"] == more.arguments
            await talk.answer(asked["request_id"], True)
            done = await talk.until("tool_call_complete", 2)
            assert done["result"] == "what the agent says"
            await talk.end_of(turn_id)
