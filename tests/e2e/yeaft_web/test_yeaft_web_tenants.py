"""Every id that a Yeaft web client can name: somebody else's is not found, and that is audited."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.control import Control, TestUser
from tests.support.eventually import eventually
from tests.support.orgs import admin_of_new_org
from tests.support.vm import ScriptedVm
from tests.support.yeaft_agent import new_agent
from tests.support.yeaft_web import ScriptedWeb, web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def eve(control: Control) -> TestUser:
    return await admin_of_new_org(control, "eve")


@pytest_asyncio.fixture(loop_scope="module")
async def web(eve: TestUser) -> AsyncIterator[ScriptedWeb]:
    async with web_of(eve) as live:
        yield live


async def _noted(eve: TestUser, kind: str) -> Counter[str]:
    """What of that kind was refused, and how often."""
    entries = (await eve.ok("GET", "/audit?limit=200"))["items"]
    return Counter(
        one["details"]["id"]
        for one in entries
        if one["event"] == "access.refused"
        and (one["details"]["kind"], one["details"]["wire"]) == (kind, "yeaft")
    )


async def test_somebody_elses_question_cannot_be_answered(
    user: TestUser, vm: ScriptedVm, eve: TestUser, web: ScriptedWeb
) -> None:
    session = await user.session()
    await vm.expect("start_session")
    await vm.event(session, type="approval_request", request_id="q-own", message="?")
    approval = (await eventually(lambda: user.ok("GET", "/approvals"), lambda one: one["items"]))[
        "items"
    ][0]
    for fields in (
        {"requestId": "q-own"},
        {"requestId": approval["id"]},
        {"requestId": "q-own", "conversationId": session},
    ):
        refused = await web.ask("ask_user_answer", "error", answer="yes", **fields)
        assert refused["code"] == "APPROVAL_NOT_FOUND"
    assert len((await user.ok("GET", "/approvals"))["items"]) == 1
    noted = await eventually(lambda: _noted(eve, "approval"), lambda found: len(found) >= 2)
    assert {"q-own", approval["id"]} <= set(noted)


async def test_somebody_elses_group_is_not_found(
    user: TestUser, eve: TestUser, web: ScriptedWeb
) -> None:
    person = await user.ok("POST", "/persons", {"name": "alice"})
    group = await user.ok("POST", "/groups", {"name": "team", "person_ids": [person["id"]]})
    for name in ("groupId", "sessionId"):
        refused = await web.ask("yeaft_session_chat", "error", text="hi", **{name: group["id"]})
        assert refused["code"] == "GROUP_NOT_FOUND"
    session = await user.session(machine_id=group["id"])
    refused = await web.ask("yeaft_session_chat", "error", text="hi", conversationId=session)
    assert refused["code"] == "SESSION_NOT_FOUND"
    sessions = await eventually(lambda: _noted(eve, "session"), lambda found: session in found)
    groups = await eventually(lambda: _noted(eve, "group"), lambda found: found[group["id"]] >= 2)
    assert (sessions[session], groups[group["id"]]) == (1, 2), "once for each time it was named"
    assert (await user.ok("GET", f"/sessions/{session}/events"))["items"] == []


async def test_both_are_noted_where_a_message_names_two_things_of_somebody_else(
    user: TestUser, eve: TestUser, web: ScriptedWeb
) -> None:
    person = await user.ok("POST", "/persons", {"name": "carol"})
    group = await user.ok("POST", "/groups", {"name": "trio", "person_ids": [person["id"]]})
    session = await user.session(machine_id=group["id"])
    named = {"groupId": group["id"], "conversationId": session}
    await web.ask("yeaft_session_chat", "error", text="hi", **named)
    await eventually(lambda: _noted(eve, "session"), lambda found: session in found)
    await eventually(lambda: _noted(eve, "group"), lambda found: group["id"] in found)


async def test_what_an_agent_says_outside_of_sessions_is_for_its_user_alone(
    user: TestUser, web: ScriptedWeb
) -> None:
    async with await new_agent(user) as agent, web_of(user) as mine:
        await agent.send({"type": "llm_config", "providers": ["private"]})
        await mine.expect("llm_config")
        await web.ask("ping", "pong")
        assert "private" not in str(web.received)
