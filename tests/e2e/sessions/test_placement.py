"""Which machine a new session has, which one its user prefers, and what it is told of that."""

from typing import Any

import pytest

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.yeaft_web import web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def placed(user: TestUser, **chosen: Any) -> tuple[str, str, str]:
    made = await user.ok("POST", "/sessions", chosen)
    placement = made["placement"]
    assert placement["machine_id"] == made["machine_id"]
    shown = await user.ok("GET", f"/sessions/{made['id']}")
    assert shown["placement"] is None
    return placement["machine_name"], placement["code"], placement["reason"]


async def test_a_default_is_used_while_it_is_there_and_what_is_used_instead_is_explained(
    user: TestUser,
) -> None:
    path = f"/users/{user.id}"
    desk = await user.vm(name="desk")
    assert (await placed(user))[:2] == ("desk", "only_online")
    laptop = await user.vm(name="laptop")
    assert (await placed(user))[:2] == ("laptop", "fewest_sessions")
    ids = {one["name"]: one["id"] for one in (await user.ok("GET", "/machines"))["items"]}
    assert (await placed(user, machine_id=ids["desk"]))[:2] == ("desk", "named")

    changed = await user.ok("PATCH", path, {"default_machine_id": ids["desk"]})
    assert changed["default_machine_id"] == ids["desk"]
    assert (await placed(user))[:2] == ("desk", "default")
    async with web_of(user) as page:
        await page.send("create_conversation")
        assert (await page.expect("conversation_pinned"))["agentId"] == ids["desk"]

    await user.ok("POST", f"/machines/{ids['desk']}/drain", {"drain": True})
    name, _, reason = await placed(user)
    assert (name, "your default desk is being drained" in reason) == ("laptop", True)
    await user.ok("POST", f"/machines/{ids['desk']}/drain", {"drain": False})
    await desk.leave()
    await eventually(
        lambda: user.ok("GET", f"/machines/{ids['desk']}"), lambda one: not one["online"]
    )
    name, code, reason = await placed(user)
    assert (name, code) == ("laptop", "only_online")
    assert reason.endswith("your default desk is offline")
    await user.ok("PATCH", path, {"default_machine_id": None})
    assert "default" not in (await placed(user))[2]
    await laptop.leave()


async def test_only_a_machine_of_ones_own_that_takes_sessions_can_be_the_default(
    user: TestUser,
) -> None:
    other = await user.control.user("eve")
    theirs = (await other.schedule())["vm_id"]
    group = (await user.ok("POST", "/groups", {"name": "team"}))["id"]
    gone = (await user.schedule())["vm_id"]
    await user.ok("DELETE", f"/machines/{gone}")
    for machine_id, status in ((theirs, 404), (group, 400), (gone, 404), ("x", 404), ("", 400)):
        body = {"default_machine_id": machine_id}
        assert (await user.call("PATCH", f"/users/{user.id}", body))[0] == status, machine_id
    assert (await user.call("PATCH", f"/users/{other.id}", {"default_machine_id": None}))[0] == 404
