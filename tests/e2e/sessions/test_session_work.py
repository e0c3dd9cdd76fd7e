"""A session's files and worktree, as its machine tells of them: what it says is checked."""

import asyncio
import base64
from functools import partial
from typing import Any

import pytest

from tests.support.asked_vm import AskedVm
from tests.support.control import LocalControl, TestUser
from tests.support.eventually import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

DIFF: Json = {
    "files": [{"path": "a", "change": "created", "additions": 1, "deletions": 0}],
    "diff": "+a",
    "branch": "trunkline/s",
    "base": "0" * 40,
    "folder": "/srv/s",
    "repository": "/srv/site",
}
LARGE = "x" * 10_000
PART = base64.b64encode(b"y" * 10).decode()


async def asked(vm: AskedVm, method: str, path: str, **said: Any) -> tuple[int, Any]:
    asking = asyncio.create_task(vm.user.call(method, path))
    await vm.answer(**said)
    return await asking


async def is_known(vm: AskedVm, health: Json) -> bool:
    machine = await vm.user.ok("GET", f"/machines/{vm.id}")
    return bool(machine["health"] == health)


async def entries(control: LocalControl, event: str) -> list[Json]:
    found = (await control.ok("GET", "/audit?limit=200"))["items"]
    return [one for one in found if one["event"] == event]


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("files", {}),
        ("files", {"files": [{"path": "a", "change": "burnt"}]}),
        ("files", {"files": [{"path": LARGE, "change": "created"}]}),
        ("files", {"files": [{"path": "a", "change": "created", "size": -1}]}),
        ("files", {"files": [{"path": "a", "change": "created"}] * 3_000}),
        ("files/a", {"size": 3}),
        ("files/a", {"size": 3, "data": "no base64!"}),
        ("files/a?length=9", {"size": 30, "data": PART}),
        ("diff", {**DIFF, "diff": 7}),
        ("diff", {**DIFF, "folder": LARGE}),
        ("diff", {**DIFF, "files": [{"path": "a", "change": "created", "additions": "many"}]}),
    ],
)
async def test_what_a_machine_says_is_checked(user: TestUser, rest: str, said: Json) -> None:
    vm = await AskedVm.of(user)
    session_id = await user.session(machine_id=vm.id)
    status, error = await asked(vm, "GET", f"/sessions/{session_id}/{rest}", result=said)
    assert (status, error["error"]["code"]) == (503, "MACHINE_FAULT")
    await vm.vm.leave()


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("APPLY_CONFLICT", 409, "APPLY_CONFLICT"),
        ("NO_WORKTREE", 409, "NO_WORKTREE"),
        ("GIT_FAILED", 409, "GIT_FAILED"),
        ("METHOD_NOT_FOUND", 503, "MACHINE_CANNOT_SAY"),
        ("FILE_NOT_FOUND", 404, "FILE_NOT_FOUND"),
    ],
)
async def test_a_machines_refusal_is_told(
    user: TestUser, code: str, status: int, told: str
) -> None:
    vm = await AskedVm.of(user)
    session_id = await user.session(machine_id=vm.id)
    refusal = {"code": code, "message": "because"}
    got, error = await asked(vm, "POST", f"/sessions/{session_id}/apply", error=refusal)
    assert (got, error["error"]["code"]) == (status, told)
    await vm.vm.leave()


async def test_a_large_file_comes_in_parts(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    session_id = await user.session(machine_id=vm.id)
    path = f"/sessions/{session_id}/files/deep/er/a.bin"
    status, error = await asked(vm, "GET", path, result={"size": 5_000_000, "data": PART})
    assert (status, error["error"]["code"]) == (413, "TOO_LARGE")
    asking = asyncio.create_task(user.call("GET", f"{path}?offset=20&length=10"))
    query = await vm.answer({"size": 5_000_000, "data": PART})
    assert query["data"]["params"] == {
        "session_id": session_id,
        "path": "deep/er/a.bin",
        "offset": 20,
        "length": 10,
    }
    assert (await asking)[0] == 206
    for wrong in ("length=0", "length=99999999", "offset=-1", "lenght=1"):
        status, _ = await user.call("GET", f"{path}?{wrong}")
        assert status == 400, wrong
    await vm.vm.leave()


async def test_a_machine_that_makes_no_worktrees_is_given_no_session_with_one(
    user: TestUser,
) -> None:
    vm = await AskedVm.of(user)
    health: Json = {"runtimes": ["semigraph"]}
    for told, status in ((health, 409), ({**health, "worktrees": True}, 201)):
        await vm.vm.send({"type": "heartbeat", "active_sessions": [], "health": told})
        await eventually(partial(is_known, vm, told))
        got, made = await user.call("POST", "/sessions", {"machine_id": vm.id, "worktree": True})
        assert got == status
        if status == 409:
            assert made["error"]["code"] == "WORKTREE_UNSUPPORTED"
        else:
            start = (await vm.vm.expect("start_session"))["data"]
            assert start["session_config"]["worktree"] is True
    for wrong in ({"worktree": "yes"}, {"workspace": "a\0b"}, {"workspace": ""}):
        got, _ = await user.call("POST", "/sessions", {"machine_id": vm.id, **wrong})
        assert got == 400, wrong
    await vm.vm.leave()


@pytest.mark.parametrize(
    ("what", "result", "said"),
    [
        ("apply", {"files": ["a"], "repository": "/srv/site"}, "has applied"),
        ("discard", {"branch": "trunkline/s", "repository": "/srv/site"}, "has thrown away"),
    ],
)
@pytest.mark.parametrize("is_closed", [False, True])
async def test_the_owner_is_told_who_else_has_changed_their_files(
    control: LocalControl, user: TestUser, what: str, result: Json, said: str, is_closed: bool
) -> None:
    vm = await AskedVm.of(user)
    session_id = await user.session(machine_id=vm.id)
    if is_closed:
        await user.ok("DELETE", f"/sessions/{session_id}")
    path = f"/sessions/{session_id}/{what}"
    assert (await asked(vm, "POST", path, result=result))[0] == 200  # by themselves

    async def told() -> list[str]:
        events = (await user.ok("GET", f"/sessions/{session_id}/events"))["items"]
        return [m for one in events if said in (m := str(one["event"].get("message", "")))]

    assert await told() == []
    asking = asyncio.create_task(control.ok("POST", path))
    await vm.answer(result)
    await asking
    assert len(await told()) == 1
    await vm.vm.leave()


async def test_whoever_acts_for_the_owner_is_in_the_audit_log(
    control: LocalControl, user: TestUser
) -> None:
    vm = await AskedVm.of(user)
    session_id = await user.session(machine_id=vm.id)
    asking = asyncio.create_task(control.ok("GET", f"/sessions/{session_id}/diff"))
    await vm.answer(DIFF)
    await asking
    [read] = [
        one
        for one in await entries(control, "session.work_read")
        if one["session_id"] == session_id
    ]
    assert read["details"]["owner"] == user.id
    applied = {"files": ["a"], "repository": "/srv/site"}
    status, _ = await asked(vm, "POST", f"/sessions/{session_id}/apply", result=applied)
    assert status == 200
    done = [one["details"]["session_id"] for one in await entries(control, "session.applied")]
    assert done.count(session_id) == 1
    await vm.vm.leave()
