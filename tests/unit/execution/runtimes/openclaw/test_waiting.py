"""Sessions that wait for the one gateway: one that goes, or wants what cannot be, harms nobody."""

import sys
from pathlib import Path

import pytest

from tests.support.programs import put_program
from tests.support.recording_line import RecordingLine
from tests.support.scripted_openclaw import __name__ as SCRIPTED
from tests.unit.execution.runtimes.openclaw.conftest import Machine

pytestmark = pytest.mark.slow


def held_back(machine: Machine, folder: Path) -> Path:
    """The gateway starts when this file is there."""
    go = folder / "go"
    wait = f"while [ ! -e {go} ]; do sleep 0.05; done"
    program = put_program(folder, "openclaw", f'{wait}; exec {sys.executable} -m {SCRIPTED} "$@"')
    machine.program = (str(program),)
    return go


async def test_who_goes_while_the_gateway_starts_takes_it_from_nobody(
    machine: Machine, line: RecordingLine, tmp_path: Path
) -> None:
    go = held_back(machine, tmp_path)
    await machine.start("s-1")
    await machine.start("s-2")
    line.say("s-1", "say Hello.")
    await line.until("s-1", "thinking")
    line.say("s-2", "settings")
    await machine.manager.stop_session({"session_id": "s-1", "reason": "user_closed"})
    go.touch()
    end = await line.end_of("s-2")
    assert end["type"] == "execution_complete", end
    assert "sk-first-of-all" in end["content"]


async def test_settings_that_it_does_not_take_are_the_error_of_their_session_alone(
    machine: Machine,
) -> None:
    await machine.start("s-1")
    await machine.start("s-2", agent_config={"model": "gpt-x", "temperature": 0.5})
    assert (await machine.say("say Up.", "t-1", "s-1"))["content"] == "Up."
    await machine.start("s-3", agent_config={"model": "openai/nonsense"})
    refused = await machine.say("say Up.", "t-1", "s-3")
    assert refused["code"] == "RUNTIME_FAILED"
    assert "not valid" in refused["error"]
    assert (await machine.say("say Up.", "t-1", "s-2"))["content"] == "Up."
    assert (await machine.say("say Up.", "t-2", "s-1"))["content"] == "Up."


async def test_settings_that_keep_it_from_starting_are_the_error_of_their_session_alone(
    machine: Machine,
) -> None:
    await machine.start("s-1", agent_config={"model": "openai/nonsense"})
    await machine.start("s-2")
    assert (await machine.say("say Up.", "t-1", "s-1"))["code"] == "RUNTIME_CRASHED"
    assert (await machine.say("say Up.", "t-1", "s-2"))["content"] == "Up."
