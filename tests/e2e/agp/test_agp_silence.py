"""A device that is here and has lost its turn: the turn ends, and others get theirs."""

import pytest

from tests.support.agp import ScriptedDevice, device_of, new_device, register
from tests.support.clock import Clock
from tests.support.control import LocalControl, TestUser
from trunkline import limits
from trunkline.control.tuning import Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")

STEP_S = 200.0  # after which a line without a word is not idle yet


@pytest.fixture(scope="module")
def now() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    return Tuning(stall_s=0.01)


class _Watch:
    """The clock, which goes on when a test says so. Devices that are here ping meanwhile."""

    def __init__(self, control: LocalControl, now: Clock) -> None:
        self._control = control
        self._now = now

    async def passes(self, seconds: float, *devices: ScriptedDevice) -> None:
        while seconds > 0:
            await self._now.pass_time(min(seconds, STEP_S))
            seconds -= STEP_S
            for device in devices:
                await device.round_trip()
        self._control.sweep()


@pytest.fixture
def watch(control: LocalControl, now: Clock) -> _Watch:
    return _Watch(control, now)


async def _at_work(user: TestUser, device: ScriptedDevice) -> tuple[str, str]:
    session_id = await user.session()
    turn_id = await user.say(session_id, "work")
    await device.text(await device.prompt("work"), "half")
    await device.round_trip()
    return session_id, turn_id


async def test_a_turn_of_which_a_connected_device_says_nothing_more_ends_and_the_next_follows(
    user: TestUser, watch: _Watch
) -> None:
    assert limits.AGP_TURN_SILENCE_S == 10 * 60
    async with await new_device(user) as device:
        session_id, turn_id = await _at_work(user, device)
        await user.say(session_id, "next")
        await watch.passes(0)
        await watch.passes(601, device)
        async with user.reader(session_id) as reader:
            end = await reader.until_type("execution_error")
            assert (end["turn_id"], end["code"]) == (turn_id, "DEVICE_SILENT")
            lost = await device.prompt("work")
            await device.cancel_of(lost)
            following = await device.prompt("next")
            await device.respond(lost, "late")  # not shown any more
            await device.respond(following, "new")
            assert (await reader.until_type("execution_complete"))["content"] == "new"


async def test_while_the_disk_stalls_no_turn_is_taken_for_lost(
    control: LocalControl, user: TestUser, watch: _Watch
) -> None:
    async with await new_device(user) as device:
        session_id, _ = await _at_work(user, device)
        prompt = await device.prompt("work")
        control.disk.stop()
        await device.text(prompt, "to the disk")
        await control.stalled()  # devices are not read now
        await watch.passes(1)
        await watch.passes(601)
        control.disk.heal()
        await control.stalled(False)
        await watch.passes(0)
        await watch.passes(599, device)
        await device.respond(prompt, "done")
        async with user.reader(session_id) as reader:
            await reader.until(lambda one: any("execution_" in event.data for event in one.events))
            assert "DEVICE_SILENT" not in reader.events[-1].data


async def test_a_device_that_cannot_be_looked_after_does_not_keep_the_others_waiting(
    control: LocalControl, user: TestUser, watch: _Watch
) -> None:
    made = await register(user)
    async with device_of(user, made) as broken, await new_device(user) as other:
        lost = await user.session(machine_id=made["machine_id"])
        await user.say(lost, "work")
        await broken.prompt("work")
        session_id, turn_id = await _at_work(user, other)
        machine = control.core.machines.find(made["machine_id"])
        assert machine is not None
        logs, machine.logs = machine.logs, {}  # as a fault of ours might
        await watch.passes(0)
        await watch.passes(601, broken, other)
        async with user.reader(session_id) as reader:
            end = await reader.until_type("execution_error")
            assert (end["turn_id"], end["code"]) == (turn_id, "DEVICE_SILENT")
        machine.logs = logs
