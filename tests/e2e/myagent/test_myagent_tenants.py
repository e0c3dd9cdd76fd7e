"""What a MyAgent client may not do with another user's things: refused, and audited."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from tests.support.control import Control, TestUser, running
from tests.support.eventually import eventually
from tests.support.myagent import Json, MyAgentClient, client_of
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def ann(control: Control) -> TestUser:
    return await control.user("ann")


@pytest_asyncio.fixture(loop_scope="module")
async def vm(ann: TestUser) -> AsyncIterator[ScriptedVm]:
    async with await ann.vm() as live:
        yield live


async def secret_session(client: MyAgentClient, vm: ScriptedVm, asked: str = "") -> str:
    """A session of Ann's with an answer and an open question."""
    session = await client.create_session()
    await client.say(session, "tell me")
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    await vm.text(session, "the secret")
    await vm.event(
        session,
        type="approval_request",
        request_id=asked or str(uuid4()),
        tool_name="bash",
        message="?",
    )
    await client.expect("agent.user_confirm", lambda one: one["session_id"] == session)
    return session


async def refusals(user: TestUser, kind: str) -> list[Json]:
    """What the audit log says that this user was refused."""

    async def look() -> list[Json]:
        page = await user.ok("GET", "/audit")
        return [
            one["details"]
            for one in page["items"]
            if one["event"] == "access.refused" and one["details"]["kind"] == kind
        ]

    return await eventually(look)


@pytest.mark.parametrize("name", ["", "req-1"])
async def test_another_users_question_cannot_be_answered_from_a_session_of_ones_own(
    ann: TestUser, eve: TestUser, vm: ScriptedVm, name: str
) -> None:
    """Whether its machine named it with a UUID or not."""
    async with await eve.vm(), client_of(ann) as owner, client_of(eve) as client:
        await secret_session(owner, vm, name)
        asked = owner.of_event("agent.user_confirm")[0]
        own = await client.create_session()
        await client.respond({**asked, "session_id": own}, True)
        fault = await client.fault("APPROVAL_NOT_FOUND")
        assert fault["session_id"] == own
        assert fault["content"] == f"approval '{asked['step_id']}' not found", "no id but hers"
        (refused,) = await refusals(eve, "approval")
        assert refused["id"] == asked["step_id"].split("_")[1], "what she named, and no more"
        assert vm.of_type("approval_response") == []
        await owner.respond(asked, True)
        await vm.expect("approval_response")


async def test_an_attempt_at_a_question_that_was_shown_before_a_restart_is_audited(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "hub", rate_limit_per_minute=0) as control:
        ann, eve = await control.user("ann"), await control.user("eve")
        async with await ann.vm() as vm, await eve.vm(), client_of(ann) as owner:
            await secret_session(owner, vm, "req-1")
            asked = owner.of_event("agent.user_confirm")[0]
            own = await eve.session()
    async with running(tmp_path / "hub", rate_limit_per_minute=0) as control:
        eve = TestUser(control, eve.id, eve.token)
        async with client_of(eve) as client:
            await client.respond({**asked, "session_id": own}, True)
            await client.fault("APPROVAL_NOT_FOUND")
        (refused,) = await refusals(eve, "approval")
        assert refused["id"] == asked["step_id"].split("_")[1]


async def test_another_users_place_is_no_place(
    ann: TestUser, eve: TestUser, control: Control, vm: ScriptedVm
) -> None:
    """Eve's own session is not shown from a place that Ann's connection was at."""
    async with client_of(ann) as owner, await eve.vm() as machine:
        await secret_session(owner, vm)
        async with client_of(eve) as first:
            session = await first.create_session()
            await first.say(session, "hi")
            await machine.expect("user_message")
            await machine.text(session, "one", "two")
            await first.expect("agent.partial_answer", lambda one: one["content"].endswith("two"))
        await machine.text(session, "three")
        async with client_of(eve) as second:
            await second.reconnect(session, last_event_id=owner.received[1]["event_id"])
            await second.expect("agent.partial_answer", lambda one: one["content"] == "three")
            assert second.text(session) == "three", "as without a position"
    assert (await refusals(eve, "connection"))[0]["id"] == owner.connection_id


async def test_another_users_acknowledgement_changes_nothing(
    ann: TestUser, eve: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(ann) as owner, client_of(eve) as client:
        session = await secret_session(owner, vm)
        await client.send("user.ack", last_event_id=f"{owner.connection_id}-1")
        await client.answered()
    async with client_of(ann) as again:
        await again.reconnect(session)
        await again.answered()
        events = [one["event"] for one in again.of_session(session)]
        assert events == ["agent.thinking"], "that a turn runs, and nothing of it again"


async def test_an_acknowledgement_that_names_another_users_session_is_refused_and_audited(
    ann: TestUser, eve: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(ann) as owner, client_of(eve) as client:
        session = await secret_session(owner, vm)
        await client.send("user.ack", session_id=session, content={"last_seq": 1})
        await client.fault("SESSION_NOT_FOUND")
        await owner.send("user.ack", session_id=session, content={"last_seq": 1})
        await owner.answered()
        codes = [one["metadata"]["error_code"] for one in owner.of_event("system.error")]
        assert "SESSION_NOT_FOUND" not in codes
    assert [entry["id"] for entry in await refusals(eve, "session")] == [session]
