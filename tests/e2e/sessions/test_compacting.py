"""A conversation is shortened on request: by machines that can, and refused in words by others."""

import asyncio

import pytest

from tests.support.asked_vm import AskedVm, Json
from tests.support.control import TestUser

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_machine_is_asked_to_do_it(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    session_id = await user.session(machine_id=vm.id)
    asking = asyncio.create_task(user.call("POST", f"/sessions/{session_id}/compact"))
    query = await vm.answer(result={})
    assert query["data"] == {"method": "session.compact", "params": {"session_id": session_id}}
    assert (await asking)[0] == 202
    await vm.vm.leave()


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        ({"code": "SESSION_NOT_RUNNING", "message": "say something"}, 409, "SESSION_NOT_RUNNING"),
        ({"code": "CANNOT_COMPACT", "message": "it is OpenClaw's"}, 409, "CANNOT_COMPACT"),
        ({"code": "SESSION_BUSY", "message": "too much"}, 409, "SESSION_BUSY"),
        ({"code": "METHOD_NOT_FOUND", "message": "?"}, 503, "MACHINE_CANNOT_SAY"),
    ],
)
async def test_a_machine_says_why_not(user: TestUser, error: Json, status: int, code: str) -> None:
    vm = await AskedVm.of(user)
    session_id = await user.session(machine_id=vm.id)
    asking = asyncio.create_task(user.call("POST", f"/sessions/{session_id}/compact"))
    await vm.answer(error=error)
    got, told = await asking
    assert (got, told["error"]["code"]) == (status, code)
    await vm.vm.leave()


async def test_a_documented_machine_is_not_asked(user: TestUser) -> None:
    vm = await user.vm("seq")
    machines = (await user.ok("GET", "/machines"))["items"]
    [online] = [one["id"] for one in machines if one["online"]]
    session_id = await user.session(machine_id=online)
    status, told = await user.call("POST", f"/sessions/{session_id}/compact")
    assert (status, told["error"]["code"]) == (503, "MACHINE_CANNOT_SAY")
    await user.ok("DELETE", f"/sessions/{session_id}")
    status, told = await user.call("POST", f"/sessions/{session_id}/compact")
    assert (status, told["error"]["code"]) == (409, "SESSION_CLOSED")
    await vm.leave()
