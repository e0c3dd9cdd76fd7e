"""A gateway that hangs or is ill is found: its turns end with the reason, and it is replaced."""

import os
import signal
from collections.abc import AsyncIterator, Callable

import pytest

from tests.support import pids
from tests.support.recording_line import RecordingLine
from tests.support.scripted_openclaw import ILL
from tests.unit.execution.runtimes.openclaw.conftest import Machine, gateway_of
from trunkline.execution.home import Home
from trunkline.execution.process.sockets import SocketFolder

pytestmark = pytest.mark.slow

CHECK_S = 0.5


@pytest.fixture
async def watched(home: Home, line: RecordingLine, sockets: SocketFolder) -> AsyncIterator[Machine]:
    made = Machine(home, line, sockets, check_s=CHECK_S)
    yield made
    await made.close()


def freezes(machine: Machine) -> None:
    os.kill(gateway_of(machine), signal.SIGSTOP)


def falls_ill(machine: Machine) -> None:
    (machine.home.internal / "openclaw" / ILL).touch()


def recovers(machine: Machine) -> None:
    (machine.home.internal / "openclaw" / ILL).unlink(missing_ok=True)


@pytest.mark.parametrize("what", [freezes, falls_ill])
async def test_one_that_hangs_or_answers_badly_is_replaced_after_a_pause(
    watched: Machine, line: RecordingLine, what: Callable[[Machine], None]
) -> None:
    await watched.start()
    line.say("s-1", "hold")
    await line.until("s-1", "text_chunk")
    gateway = gateway_of(watched)
    what(watched)
    end = await line.end_of("s-1", "t-1")
    recovers(watched)
    assert (end["type"], end["code"]) == ("execution_error", "RUNTIME_CRASHED")
    assert "did not answer 6 checks in a row" in end["error"]
    await pids.until_gone(gateway)
    assert (await watched.say("say Back.", "t-2"))["content"] == "Back."
    assert watched.naps[0] == 1.0
