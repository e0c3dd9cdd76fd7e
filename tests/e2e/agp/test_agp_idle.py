"""Five minutes without a word end a line; pings of both kinds are words (003 §2)."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.agp import ScriptedDevice, device_of, register
from tests.support.clock import Clock
from tests.support.control import LocalControl, TestUser, running
from tests.support.peer import Json
from tests.support.raw_ws import PING, RawWs
from trunkline import limits
from trunkline.control.tuning import Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def now() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    return Tuning(stall_s=0.01)


async def _passes(control: LocalControl, now: Clock, seconds: float) -> None:
    await now.pass_time(seconds)
    control.sweep()


def _is_here(control: LocalControl, made: Json) -> bool:
    return control.core.machines.is_online(made["machine_id"])


@pytest.mark.proves("003-2-idle-five-minutes")
async def test_a_line_without_a_word_for_five_minutes_is_closed(
    control: LocalControl, now: Clock, user: TestUser
) -> None:
    assert limits.AGP_IDLE_S == 5 * 60
    made = await register(user)
    async with device_of(user, made) as device:
        await device.round_trip()
        await _passes(control, now, 290)
        assert _is_here(control, made)
        await _passes(control, now, 11)
        assert not _is_here(control, made)
        assert await device.closed() == 4008


async def _ping(device: ScriptedDevice, user: TestUser) -> None:
    await device.round_trip()


async def _prompt(device: ScriptedDevice, user: TestUser) -> None:
    session_id = await user.session()
    await user.say(session_id, "hello")
    await device.prompt("hello")


@pytest.mark.parametrize("word", [_ping, _prompt])
@pytest.mark.proves("notes-4-pings")
async def test_a_text_ping_and_a_message_to_the_device_count(
    control: LocalControl,
    now: Clock,
    user: TestUser,
    word: Callable[[ScriptedDevice, TestUser], Awaitable[None]],
) -> None:
    made = await register(user)
    async with device_of(user, made) as device:
        await device.round_trip()
        await now.pass_time(290)
        await word(device, user)
        await _passes(control, now, 290)
        assert _is_here(control, made)


async def test_a_websocket_ping_counts_and_is_answered(
    control: LocalControl, now: Clock, user: TestUser
) -> None:
    made = await register(user)
    async with RawWs(device_of(user, made).url) as raw:
        for _ in range(3):
            mark = str(now()).encode()
            await raw.frame(PING, mark)
            await raw.pong(mark)
            await _passes(control, now, 290)
            assert _is_here(control, made)


async def test_while_the_disk_stalls_the_silence_is_ours(
    control: LocalControl, now: Clock, user: TestUser
) -> None:
    made = await register(user)
    async with device_of(user, made) as device:
        await user.say(await user.session(), "work")
        prompt = await device.prompt("work")
        control.disk.stop()
        await device.text(prompt, "to the disk")
        await control.stalled()
        await _passes(control, now, 301)
        control.disk.heal()
        await control.stalled(False)
        control.sweep()
        assert _is_here(control, made)
        await device.round_trip()


async def test_a_shutdown_says_goodbye_with_1001(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        device = await device_of(user, await register(user)).connect()
        await device.round_trip()
    assert await device.closed() == 1001
    await device.leave()
