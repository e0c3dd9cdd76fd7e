"""Turns that ended here while their device may be at them: it is told to end them, until it has."""

from pathlib import Path

import pytest

from tests.support.agp import ScriptedDevice, device_of, events_of, register
from tests.support.control import TestUser, running
from tests.support.eventually import eventually
from trunkline.control.tuning import Tuning

QUICK = Tuning(sweep_s=0.02, cancel_grace_s=0.1)


async def _gone(user: TestUser) -> None:
    """The control plane knows that the user's one device is away."""
    await eventually(
        lambda: user.ok("GET", "/machines"), lambda page: not page["items"][0]["online"]
    )


async def _ended(user: TestUser, session_id: str, count: int = 1) -> None:
    await eventually(
        lambda: events_of(user, session_id),
        lambda found: sum(one["type"].startswith("execution_") for one in found) == count,
    )


async def _told(device: ScriptedDevice) -> list[str]:
    """The prompts that a device was told to end on its return, which comes before all else."""
    await device.round_trip()
    return [one["payload"]["prompt_id"] for one in device.of("session.cancel")]


@pytest.mark.parametrize("how", ["cancelled", "closed", "not back in time"])
async def test_a_restart_does_not_keep_a_device_from_being_told_that_its_turn_has_ended(
    tmp_path: Path, how: str
) -> None:
    away_s = 0.1 if how == "not back in time" else 300
    async with running(tmp_path / "data", tuning=QUICK, machine_away_s=away_s) as control:
        user = await control.user()
        made = await register(user, agent_apps=["first"])
        session_id = await user.session(agent_config={"agent_app": "special"})
        async with device_of(user, made) as device:
            turn_id = await user.say(session_id, "work")
            prompt = await device.prompt("work")
            await device.text(prompt, "heard")
            await device.round_trip()
            await device.drop()
        await _gone(user)
        if how == "cancelled":
            await user.ok("POST", f"/sessions/{session_id}/cancel", {})
        elif how == "closed":
            await user.ok("DELETE", f"/sessions/{session_id}")
        await _ended(user, session_id)
    async with running(tmp_path / "data", tuning=QUICK) as control:
        user = TestUser(control, user.id, user.token)
        async with device_of(user, made) as back:
            cancel = await back.cancel_of(prompt)
            assert cancel["payload"] == {
                "session_id": session_id,
                "prompt_id": turn_id,
                "agent_app": "special",
            }
            await back.respond(prompt, stop_reason="cancelled")
            assert await _told(back) == [turn_id]
            assert back.said() == []
        await _ended(user, session_id)
    async with running(tmp_path / "data", tuning=QUICK) as control:  # it has said that it is done
        user = TestUser(control, user.id, user.token)
        async with device_of(user, made) as back:
            assert await _told(back) == []
