"""A device that is away for long takes no memory, and finds everything when it returns."""

import gc
from typing import Any

import pytest
import pytest_asyncio

from tests.support.agp import ScriptedDevice, device_of, events_of, register
from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser
from tests.support.eventually import eventually
from trunkline import limits
from trunkline.control.edges.agp.device import AgpDevice

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOUR_S = 3600


class _Place:
    """A control plane that waits for its devices for two hours."""

    def __init__(self, control: LocalControl, clock: FakeClock, user: TestUser) -> None:
        self._control = control
        self._clock = clock
        self.user = user
        self._others = _devices()

    async def left(self, device: ScriptedDevice) -> None:
        """The device is away, and known to be."""
        await device.drop()
        await eventually(
            lambda: self.user.ok("GET", "/machines"),
            lambda page: not page["items"][0]["online"],
        )

    def passes(self, seconds: float) -> None:
        self._clock.advance(seconds)
        self._control.sweep()

    @property
    def devices(self) -> int:
        """How many are in memory."""
        return _devices() - self._others


def _devices() -> int:
    gc.collect()
    return sum(isinstance(one, AgpDevice) for one in gc.get_objects())


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return {"machine_away_s": 2 * HOUR_S}


@pytest_asyncio.fixture(loop_scope="module")
async def place(own_control: LocalControl, clock: FakeClock) -> _Place:
    return _Place(own_control, clock, await own_control.user())


async def test_a_device_that_is_long_gone_and_has_nothing_to_do_is_let_go(place: _Place) -> None:
    assert limits.AGP_FORGOTTEN_S == HOUR_S
    user = place.user
    made = await register(user, agent_apps=["first"])
    session_id = await user.session(agent_config={"agent_app": "special"})
    async with device_of(user, made) as device:
        await user.say(session_id, "go")
        prompt = await device.prompt("go")
        answer_id = await device.respond(prompt, "done")
        await device.round_trip()
        place.passes(HOUR_S + 1)  # it is here
        assert place.devices == 1
        await place.left(device)
        place.passes(HOUR_S - 1)
        assert place.devices == 1
        place.passes(2)
        assert place.devices == 0
    async with device_of(user, made) as back:
        again = {"session_id": session_id, "prompt_id": prompt["payload"]["prompt_id"]}
        await back.send(
            "session.promptResponse", {**again, "stop_reason": "error"}, msg_id=answer_id
        )
        await back.send("session.promptResponse", {**again, "stop_reason": "error"})
        await user.say(session_id, "more")
        following = await back.prompt("more")
        assert following["payload"]["agent_app"] == "special"
        await back.respond(following, "more done")
        events = await eventually(
            lambda: events_of(user, session_id),
            lambda found: found[-1].get("content") == "more done",
        )
        ends = [one for one in events if one["type"].startswith("execution_")]
        assert [one.get("content") for one in ends] == ["done", "more done"]


async def test_one_with_a_turn_at_work_is_not_and_a_repeat_is_known(place: _Place) -> None:
    user = place.user
    made = await register(user)
    session_id = await user.session()
    async with device_of(user, made) as device:
        await user.say(session_id, "go")
        prompt = await device.prompt("go")
        content = {"type": "text", "text": "once"}
        msg_id = await device.update(prompt, "message_chunk", content=content)
        await device.round_trip()
        await place.left(device)
    place.passes(HOUR_S + 1)
    assert place.devices == 1
    async with device_of(user, made) as back:
        payload = {
            "session_id": session_id,
            "prompt_id": prompt["payload"]["prompt_id"],
            "update_type": "message_chunk",
            "content": content,
        }
        await back.send("session.update", payload, msg_id=msg_id)
        await back.respond(prompt)
        async with user.reader(session_id) as reader:
            assert (await reader.until_type("execution_complete"))["content"] == "once"


async def test_what_it_may_still_be_at_it_is_told_to_end_all_the_same(place: _Place) -> None:
    user = place.user
    made = await register(user)
    session_id = await user.session()
    async with device_of(user, made) as device:
        await user.say(session_id, "go")
        prompt = await device.prompt("go")
        await place.left(device)
    await user.ok("POST", f"/sessions/{session_id}/cancel", {})
    place.passes(0)
    place.passes(HOUR_S + 1)
    assert place.devices == 0
    async with device_of(user, made) as back:
        await back.cancel_of(prompt)
