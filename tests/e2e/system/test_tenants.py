"""What one person may not do with another one's things, on a running control plane."""

import pytest

from tests.support.control import Control

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_session_cannot_be_made_with_another_persons_private_agent(
    control: Control,
) -> None:
    ann, bob = await control.user("ann"), await control.user("bob")
    agent = await ann.ok("POST", "/agents", {"name": "diary", "system_prompt": "private"})
    async with await bob.vm():
        status, answer = await bob.call("POST", "/sessions", {"agent_id": agent["id"]})
        assert (status, answer["error"]["code"]) == (404, "AGENT_NOT_FOUND")


async def test_a_session_cannot_be_put_on_another_persons_machine(control: Control) -> None:
    ann, bob = await control.user("ann"), await control.user("bob")
    machine = (await ann.schedule())["vm_id"]
    status, answer = await bob.call("POST", "/sessions", {"machine_id": machine})
    assert (status, answer["error"]["code"]) == (404, "MACHINE_NOT_FOUND")


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


async def test_every_call_on_another_persons_session_is_a_404(control: Control) -> None:
    ann, eve = await control.user("ann"), await control.user("eve")
    async with await ann.vm() as vm:
        session = await ann.session()
        for method, path, body in (
            ("GET", "", None),
            ("PATCH", "", {"title": "mine"}),
            ("DELETE", "", None),
            ("POST", "/messages", {"message": "hi"}),
            ("POST", "/cancel", {}),
            ("PATCH", "/config", {"temperature": 0}),
            ("GET", "/events", None),
            ("GET", "/snapshot", None),
            ("GET", "/stream", None),
        ):
            status, answer = await eve.call(method, f"/sessions/{session}{path}", body)
            assert status == 404, (method, path, answer)
            assert answer["error"]["code"] == "SESSION_NOT_FOUND"
        assert [one["type"] for one in vm.received if one["type"] != "init"] == ["start_session"]
        events = await ann.ok("GET", f"/sessions/{session}/events")
        assert events["items"] == []


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
