"""What one person may not do with another one's things, on a running control plane."""

import pytest

from tests.support.control import Control

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_another_persons_agent_is_not_offered_as_a_helper(control: Control) -> None:
    ann, bob = await control.user("ann"), await control.user("bob")
    secret = await ann.ok("POST", "/agents", {"name": "secret plan"})
    own = await bob.ok("POST", "/agents", {"name": "helper", "description": "helps"})
    chief = await bob.ok(
        "POST", "/agents", {"name": "chief", "sub_agents": [secret["id"], own["id"]]}
    )
    async with await bob.vm() as vm:
        await bob.session(agent_id=chief["id"])
        start = await vm.expect("start_session")
        assert start["data"]["sub_agents"] == [
            {"id": own["id"], "name": "helper", "description": "helps"}
        ]


async def test_removing_a_user_removes_their_events_and_ends_their_line(control: Control) -> None:
    ann = await control.user("ann")
    vm = await ann.vm()
    session = await ann.session()
    async with ann.reader(session) as reader:
        await vm.text(session, "private")
        await reader.until_text("private")
        await control.ok("DELETE", f"/users/{ann.id}")
        await reader.until_ended()
    assert await vm.closed() == 4003
    status, _ = await control.call("GET", f"/sessions/{session}/events")
    assert status == 404
    await vm.leave()
