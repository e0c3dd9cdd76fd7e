"""Sessions that wait for the one gateway: one that goes, or wants what cannot be, harms nobody."""

import sys
from pathlib import Path

import pytest

from tests.support.programs import put_program
from tests.support.recording_line import RecordingLine
from tests.support.scripted_openclaw import BUSY, OWNED
from tests.support.scripted_openclaw import __name__ as SCRIPTED
from tests.unit.execution.runtimes.openclaw.conftest import Machine
from trunkline.execution.home import Home

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


async def test_what_it_refuses_because_it_is_busy_it_is_asked_again(
    machine: Machine, line: RecordingLine, home: Home
) -> None:
    """Two sessions that start at once made its threads wait for each other, and one turn failed."""
    folder = home.internal / "openclaw"
    folder.mkdir(mode=0o700, parents=True)
    (folder / BUSY).touch()
    await machine.start("s-1", agent_config={"confirm": "always"})
    await machine.start("s-2")
    line.say("s-1", "run date")
    asked = await line.until("s-1", "approval_request")
    assert (await machine.say("say Beside.", "t-1", "s-2"))["content"] == "Beside."
    machine.rekey({"openai": "sk-another"})
    assert (await machine.settings("t-2", "s-2"))["key"] == "sk-another"
    line.tell("s-1", "approval_response", request_id=asked["request_id"], confirmed=True)
    assert (await line.end_of("s-1"))["content"] == "ran"


async def test_a_turn_that_it_dies_before_is_told_to_the_next_run_of_it(machine: Machine) -> None:
    await machine.start("s-1")
    assert (await machine.say("say Up.", "t-1", "s-1"))["content"] == "Up."
    await machine.start("s-2", agent_config={"model": "openai/deadly"})
    assert (await machine.say("say Still up.", "t-1", "s-2"))["content"] == "Still up."


async def test_a_start_while_its_last_run_still_has_the_state_is_tried_again(
    machine: Machine, tmp_path: Path
) -> None:
    first = f"if [ ! -e {tmp_path}/tried ]; then touch {tmp_path}/tried; echo {OWNED}; exit 78; fi"
    then = f'exec {sys.executable} -m {SCRIPTED} "$@"'
    machine.program = (str(put_program(tmp_path, "openclaw", f"{first}; {then}")),)
    await machine.start()
    assert (await machine.say("say Up."))["content"] == "Up."
    assert machine.naps == [1.0]
