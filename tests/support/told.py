"""What a scripted VM was told, awaited by its meaning."""

from typing import Any

from tests.support.control import TestUser
from tests.support.vm import ScriptedVm

Json = dict[str, Any]


async def started(vm: ScriptedVm, session_id: str) -> Json:
    """The data of that session's `start_session`."""
    message = await vm.expect("start_session", lambda one: one["data"]["session_id"] == session_id)
    data: Json = message["data"]
    return data


async def said(vm: ScriptedVm, text: str) -> Json:
    return await vm.expect("user_message", lambda one: one["data"]["message"] == text)


async def quiet(user: TestUser, vm: ScriptedVm, session_id: str) -> None:
    """Everything that was on its way to the machine has arrived: a later command has."""
    mark = f"mark {len(vm.received)}"
    await user.ok("PATCH", f"/sessions/{session_id}/config", {"agent_config": {"mark": mark}})
    await vm.expect("config_update", lambda one: one["data"].get("mark") == mark)
