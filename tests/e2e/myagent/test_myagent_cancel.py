"""A MyAgent client stops a turn, or finds that there is none."""

import pytest

from tests.support.control import TestUser
from tests.support.myagent import MyAgentClient
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def begin(client: MyAgentClient, vm: ScriptedVm) -> str:
    """A new session with a turn under way."""
    session = await client.create_session()
    await client.say(session, "hello")
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    return session


@pytest.mark.proves(
    "001-3.1-cancel",
    "001-3.2-interrupted",
)
async def test_cancel_ends_in_interrupted(client: MyAgentClient, vm: ScriptedVm) -> None:
    session = await begin(client, vm)
    await client.cancel(session)
    await vm.expect("cancel", lambda one: one["session_id"] == session)
    await vm.event(session, type="execution_complete", cancelled=True, content="")
    assert (await client.expect("agent.interrupted"))["session_id"] == session
    assert client.of_event("agent.final_answer") == []


async def test_cancel_is_answered_where_nothing_runs_too(
    client: MyAgentClient, user: TestUser, vm: ScriptedVm
) -> None:
    """A page that shows work, and is wrong, waits for it."""
    session = await begin(client, vm)
    await vm.event(session, type="execution_complete", content="done")
    await client.expect("agent.final_answer")
    await client.cancel(session)
    told = await client.expect("agent.interrupted")
    assert (told["session_id"], told["metadata"]["reason"]) == (session, "idle")
    await user.ok("DELETE", f"/sessions/{session}")
    await client.expect("agent.session_end")
    seen = len(client.received)
    await client.cancel(session)
    await client.expect("agent.interrupted", after=seen)
    assert (await user.ok("GET", f"/sessions/{session}"))["status"] == "closed"
