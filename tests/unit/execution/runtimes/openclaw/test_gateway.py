"""The one gateway of a machine: started on first use, replaced after a death, told what changed,
given keys that no disk and no command ever sees."""

import json
import os
import signal
import stat
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.support import pids
from tests.support.eventually import until
from tests.support.recording_line import RecordingLine
from tests.unit.execution.runtimes.openclaw.conftest import (
    KEYS,
    Machine,
    environment_of,
    gateway_of,
)
from trunkline.execution.home import Home
from trunkline.execution.runtimes.openclaw.config import agent_id
from trunkline.execution.runtimes.openclaw.gateway import NOT_INSTALLED

pytestmark = pytest.mark.slow


def _is_another(old: int | None, pid: int | None) -> bool:
    return pid not in (None, old)


def files_with(folder: Path, secret: str) -> list[Path]:
    files = [one for one in folder.rglob("*") if one.is_file()]
    return [one for one in files if secret.encode() in one.read_bytes()]


@pytest.mark.proves("004-4.5-runs-openclaw")
async def test_the_first_message_starts_it_and_its_readers_learn_of_it(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start()
    assert machine.openclaw.gateway.pid is None
    assert (await machine.say("say Hello."))["content"] == "Hello."
    told = [event["content"] for event in line.events("s-1", "thinking")]
    assert "Starting" in told[0]
    assert told[-1] == "OpenClaw's gateway is ready."
    first = gateway_of(machine)
    await machine.start("s-2")
    await machine.say("say Hello.", "t-1", "s-2")
    assert gateway_of(machine) == first
    assert line.events("s-2", "thinking") == []


async def test_its_folder_is_private_and_holds_no_key(machine: Machine, home: Home) -> None:
    await machine.start()
    found = await machine.settings()
    assert found["key"] == KEYS["openai"]
    folder = home.internal / "openclaw"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    [file] = folder.glob("config-*/openclaw.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert files_with(home.root, KEYS["openai"]) == []
    assert KEYS["openai"] not in environment_of(gateway_of(machine)).values()
    told = json.loads(file.read_text())
    keys_file = Path(told["secrets"]["providers"]["keys"]["path"])
    assert stat.S_IMODE(keys_file.parent.stat().st_mode) == 0o700
    assert not keys_file.exists()


async def test_changed_keys_hold_from_the_next_turn_on(machine: Machine) -> None:
    await machine.start()
    assert (await machine.settings("t-1"))["key"] == KEYS["openai"]
    gateway = gateway_of(machine)
    machine.rekey({"openai": "sk-another-one"})
    assert (await machine.settings("t-2"))["key"] == "sk-another-one"
    assert gateway_of(machine) == gateway


async def test_its_death_ends_the_running_turns_with_the_reason_and_all_that_it_started(
    machine: Machine, line: RecordingLine, home: Home
) -> None:
    await machine.start("s-1")
    await machine.start("s-2")
    line.say("s-2", "hold")
    await line.until("s-2", "text_chunk")
    end = await machine.say("die", session_id="s-1")
    other = await line.end_of("s-2")
    for one in (end, other):
        assert one["code"] == "RUNTIME_CRASHED"
        assert "SIGKILL" in one["error"]
    [left] = await pids.pids_in(home.workspace / "left.pid", 1)
    await pids.until_gone(left)
    assert (await machine.say("say Back.", "t-2", "s-1"))["content"] == "Back."
    assert (await machine.say("say Back.", "t-2", "s-2"))["content"] == "Back."


async def test_it_is_started_again_with_pauses_that_grow(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start()
    await machine.say("say Up.", "t-0")
    for number in range(3):
        guard = machine.openclaw.gateway.pid
        os.kill(gateway_of(machine), signal.SIGKILL)
        await until(lambda: machine.openclaw.gateway.pid, partial(_is_another, guard))
        assert (await machine.say("say Up.", f"t-{number + 1}"))["content"] == "Up."
    assert machine.naps == [1.0, 2.0, 5.0]


async def test_a_new_run_finds_nothing_of_what_the_last_one_was_told(
    machine: Machine, home: Home
) -> None:
    """The real one takes the settings of its last run for better ones, port and token included."""
    await machine.start()
    await machine.say("say Up.")
    [before] = (home.internal / "openclaw").glob("config-*/*")
    guard = machine.openclaw.gateway.pid
    os.kill(gateway_of(machine), signal.SIGKILL)
    await until(lambda: machine.openclaw.gateway.pid, partial(_is_another, guard))
    await machine.say("say Up.", "t-2")
    [after] = (home.internal / "openclaw").glob("config-*/*")
    assert before != after


async def test_a_machine_without_openclaw_says_how_to_install_it(machine: Machine) -> None:
    machine.program = ()
    await machine.start()
    end = await machine.say("say Hello.")
    assert (end["code"], end["error"]) == ("RUNTIME_UNAVAILABLE", NOT_INSTALLED)
    assert "trunkline doctor --install openclaw" in NOT_INSTALLED


async def test_one_that_cannot_start_is_told_with_its_last_words(machine: Machine) -> None:
    machine.program = (sys.executable, "-c", "import sys; sys.exit('the state is from the future')")
    await machine.start()
    end = await machine.say("say Hello.")
    assert end["code"] == "RUNTIME_CRASHED"
    assert "exit code 1" in end["error"]
    assert "the state is from the future" in end["error"]


async def test_a_model_without_a_key_is_said_before_anything_is_started(machine: Machine) -> None:
    await machine.start(agent_config={"model": "claude-sonnet"})
    end = await machine.say("say Hello.")
    assert end["code"] == "MODEL_KEY_MISSING"
    assert machine.openclaw.gateway.pid is None


async def test_it_ends_with_the_daemon_and_with_all_that_it_started(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start()
    line.say("s-1", "hold")
    await line.until("s-1", "text_chunk")
    gateway, guard = gateway_of(machine), machine.openclaw.gateway.pid
    assert guard is not None
    await machine.close()
    await pids.until_gone(gateway, guard)


async def test_what_it_kept_of_sessions_that_are_gone_is_removed_at_its_start(
    machine: Machine, home: Home
) -> None:
    agents = home.internal / "openclaw" / "state" / "agents"
    for name in (agent_id("gone"), agent_id("s-1"), "main"):
        (agents / name).mkdir(parents=True)
    await machine.start()
    await machine.say("say Hello.")
    assert sorted(one.name for one in agents.iterdir()) == sorted([agent_id("s-1"), "main"])


async def test_sessions_come_and_go_while_it_runs(machine: Machine) -> None:
    for session_id in ("s-1", "s-2", "s-3"):
        await machine.start(session_id)
        assert (await machine.say("say Hello.", "t-1", session_id))["content"] == "Hello."
        await machine.manager.stop_session({"session_id": session_id, "reason": "user_closed"})
