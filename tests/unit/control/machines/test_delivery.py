"""What waits for a machine is delivered in order, and only where it makes sense."""

import pytest

from trunkline.control.machines.commands import Command, Say, Start
from trunkline.control.machines.delivery import Delivery
from trunkline.control.machines.machine import Machine
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks


class RecordingLine:
    """A line that keeps what it is told to deliver."""

    capabilities = frozenset({"seq"})

    def __init__(self) -> None:
        self.told: list[Command] = []

    def deliver(self, command: Command) -> None:
        self.told.append(command)

    def withdraw(self, turn_id: str) -> bool:
        return False

    def acknowledge(self, acked: dict[str, int]) -> None: ...
    def pause(self, paused: bool) -> None: ...
    def close(self, code: int, reason: str) -> None: ...


START = Start("s", "semigraph", {}, [], [], [], {})
HELLO = Say("s", "turn-1", "hello", [], {})


@pytest.fixture
def tasks() -> Tasks:
    return Tasks()


@pytest.fixture
def delivery(sqlite_store: Store, tasks: Tasks) -> Delivery:
    made = Delivery(sqlite_store, tasks)

    async def starter(session_id: str) -> Start:
        assert session_id == "s"
        return START

    made.starter = starter
    return made


@pytest.fixture
def line() -> RecordingLine:
    return RecordingLine()


@pytest.fixture
def machine(line: RecordingLine) -> Machine:
    made = Machine("m", "u", "o", "vm")
    made.line, made.running = line, set()
    return made


async def test_a_session_that_runs_already_is_not_started_again(
    delivery: Delivery, tasks: Tasks, machine: Machine, line: RecordingLine
) -> None:
    """A message and a kept turn both want their session to run."""
    delivery.send(machine, HELLO, START)
    await tasks.settle(15)
    assert line.told == [START, HELLO]
    await delivery.ensure_started(machine, "s")
    await tasks.settle(15)
    assert line.told == [START, HELLO]


async def test_a_session_that_should_run_and_does_not_is_started(
    delivery: Delivery, tasks: Tasks, machine: Machine, line: RecordingLine
) -> None:
    await delivery.ensure_started(machine, "s")
    await tasks.settle(15)
    assert line.told == [START]


async def test_a_message_whose_turn_has_ended_meanwhile_is_not_delivered(
    delivery: Delivery, tasks: Tasks, machine: Machine, line: RecordingLine
) -> None:
    machine.is_held = True
    delivery.send(machine, START, HELLO)
    machine.ends.close("s", "turn-1")
    delivery.resumed(machine, line)
    await tasks.settle(15)
    assert line.told == [START]
    assert not machine.outbox
