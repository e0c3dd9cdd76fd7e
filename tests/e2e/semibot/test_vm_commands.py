"""What a VM is told of a running session: messages, cancels, updates, answers (000 §5.5–5.7)."""

import asyncio

import pytest

from tests.support.admission import Json
from tests.support.control import Control, TestUser
from tests.support.eventually import WAIT_S
from tests.support.told import quiet, said
from tests.support.vm import ScriptedVm

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest.mark.proves("000-5.5-message-to-its-session", "000-5.5-history", "000-5.5-metadata")
async def test_a_message_carries_its_history_and_metadata(user: TestUser, vm: ScriptedVm) -> None:
    session_id = await user.session()
    async with user.reader(session_id) as reader:
        for number in (1, 2):
            await user.say(session_id, f"question {number}", metadata={"lang": "de"})
            await said(vm, f"question {number}")
            await vm.event(session_id, type="execution_complete", content=f"answer {number}")
            await reader.until(lambda one: one.events[-1].json.get("content") == f"answer {number}")  # noqa: B023
        snapshot = await user.ok("GET", f"/sessions/{session_id}/snapshot")
        async with asyncio.timeout(WAIT_S):
            while snapshot["turns"][-1]["state"] != "completed":
                snapshot = await user.ok("GET", f"/sessions/{session_id}/snapshot")
        await user.say(session_id, "question 3", metadata={"深": [1, {"b": None}]})
    message = await said(vm, "question 3")
    assert message == {
        "type": "user_message",
        "session_id": session_id,
        "data": {
            "message": "question 3",
            "history": [
                {"role": "user", "content": "question 1"},
                {"role": "assistant", "content": "answer 1"},
                {"role": "user", "content": "question 2"},
                {"role": "assistant", "content": "answer 2"},
            ],
            "metadata": {"深": [1, {"b": None}]},
        },
    }


async def test_a_session_starts_before_its_first_message_and_readers_see_who_said_what(
    user: TestUser, vm: ScriptedVm
) -> None:
    session_id = await user.session()
    turn_id = await user.say(session_id, "hello")
    await said(vm, "hello")
    kinds = [one["type"] for one in vm.received if one["type"] != "init"]
    assert kinds == ["start_session", "user_message"]
    async with user.reader(session_id) as reader:
        event = await reader.until_type("user_message")
        assert (event["content"], event["turn_id"]) == ("hello", turn_id)
        assert event["user_id"] == user.id


async def test_only_a_machine_that_named_capabilities_is_told_the_turns_id(
    user: TestUser,
) -> None:
    async with await user.vm("batch") as vm:
        session_id = await user.session()
        turn_id = await user.say(session_id, "hi")
        assert (await said(vm, "hi"))["data"]["turn_id"] == turn_id


async def cancels_in_audit(user: TestUser, session_id: str) -> list[str]:
    page = await user.ok("GET", "/audit?limit=200")
    found = [
        one["details"]["reason"]
        for one in page["items"]
        if one["event"] == "session.cancel" and one["session_id"] == session_id
    ]
    return found[::-1]


@pytest.mark.proves("000-5.6-user-stops", "000-5.6-reason-audited", "000-5.6-reason-optional")
async def test_cancel_reaches_the_vm_with_its_reason_and_the_audit_log(
    user: TestUser, vm: ScriptedVm
) -> None:
    session_id, other = await user.session(), await user.session()
    await user.say(session_id, "work")
    await said(vm, "work")
    async with user.reader(session_id) as reader:
        await user.ok("POST", f"/sessions/{session_id}/cancel")
        first = await vm.expect("cancel")
        assert first == {"type": "cancel", "session_id": session_id, "reason": "user_cancelled"}
        await user.ok("POST", f"/sessions/{session_id}/cancel", {"reason": "timeout"})
        await vm.expect("cancel", lambda one: one["reason"] == "timeout")
        await vm.event(session_id, type="execution_complete", cancelled=True)
        end = await reader.until_type("execution_complete")
        assert end["cancelled"] is True
        ends = [one for one in reader.events if "execution_complete" in one.data]
        assert len(ends) == 1
    assert await cancels_in_audit(user, session_id) == ["user_cancelled", "timeout"]
    assert {one["session_id"] for one in vm.of_type("cancel")} == {session_id}
    assert await cancels_in_audit(user, other) == []
    assert (await user.ok("GET", "/audit/verify"))["ok"] is True


@pytest.mark.proves("000-5.6-idempotent")
async def test_cancel_of_an_idle_or_finished_session_changes_nothing(
    user: TestUser, vm: ScriptedVm
) -> None:
    session_id = await user.session()
    for _ in range(2):
        await user.ok("POST", f"/sessions/{session_id}/cancel", {"reason": "admin"})
    await vm.text(session_id, "alive")
    async with user.reader(session_id) as reader:
        await reader.until_text("alive")
        assert [one.json["type"] for one in reader.events] == ["text_chunk"]
    assert await cancels_in_audit(user, session_id) == ["admin", "admin"]


@pytest.mark.proves("000-5.7-while-it-runs")
async def test_a_hot_update_reaches_that_session_and_lasts_for_its_next_start(
    user: TestUser,
) -> None:
    scheduled = await user.schedule()
    vm = ScriptedVm(scheduled["ws_url"], user.id, scheduled["token"], scheduled["ticket"])
    async with vm:
        session_id = await user.session(agent_config={"model": "m", "temperature": 1})
        await user.ok("PATCH", f"/sessions/{session_id}/config", {"temperature": 0.5})
        update = await vm.expect("config_update")
        assert update == {
            "type": "config_update",
            "session_id": session_id,
            "data": {"temperature": 0.5},
        }
        # The session runs, and later it does not: a heartbeat says so.
        await vm.heartbeat(session_id)
        await vm.heartbeat()
        await vm.request(session_id, "get_session")  # answered after what was sent before
        await user.say(session_id, "again")
        await said(vm, "again")
        starts = vm.of_type("start_session")
        assert starts[-1]["data"]["agent_config"] == {"model": "m", "temperature": 0.5}
    status, body = await user.call("PATCH", f"/sessions/{session_id}/config", {})
    assert (status, body["error"]["code"]) == (400, "INVALID_REQUEST")


async def ask(user: TestUser, vm: ScriptedVm, session_id: str, request_id: str) -> Json:
    """A question of the session's, as it is listed for people."""
    await vm.event(
        session_id,
        type="approval_request",
        request_id=request_id,
        tool_name="bash",
        tool_args={"command": "rm -rf build"},
    )
    async with asyncio.timeout(WAIT_S):
        while True:
            page = await user.ok("GET", f"/approvals?session_id={session_id}")
            for item in page["items"]:
                if item["request_id"] == request_id:
                    approval: Json = item
                    return approval


async def test_a_question_is_listed_answered_once_and_told_to_machine_and_readers(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    session_id = await user.session()
    async with user.reader(session_id) as reader:
        approval = await ask(user, vm, session_id, "q-1")
        assert approval["state"] == "pending"
        assert approval["request"]["tool_args"] == {"command": "rm -rf build"}
        stranger = await control.user("eve")
        assert (await stranger.ok("GET", "/approvals"))["items"] == []
        path = f"/approvals/{approval['id']}"
        assert (await stranger.call("POST", path, {"confirmed": True}))[0] == 404
        decided = await user.ok("POST", path, {"confirmed": True, "answer": "but carefully"})
        assert (decided["state"], decided["answered_by"]) == ("confirmed", user.id)
        told = await vm.expect("approval_response")
        assert told["session_id"] == session_id
        assert told["data"] == {
            "request_id": "q-1",
            "confirmed": True,
            "answer": "but carefully",
        }
        event = await reader.until_type("approval_resolved")
        assert (event["request_id"], event["confirmed"]) == ("q-1", True)
    status, body = await user.call("POST", path, {"confirmed": False})
    assert (status, body["error"]["code"]) == (409, "ALREADY_ANSWERED")
    assert (await user.ok("GET", "/approvals"))["items"] == []
    await quiet(user, vm, session_id)
    assert len(vm.of_type("approval_response")) == 1


async def test_a_question_that_the_machine_settles_itself_waits_for_nobody(
    user: TestUser, vm: ScriptedVm
) -> None:
    session_id = await user.session()
    await ask(user, vm, session_id, "q-timeout")
    await vm.event(session_id, type="approval_resolved", request_id="q-timeout", confirmed=False)
    async with asyncio.timeout(WAIT_S):
        while (await user.ok("GET", "/approvals"))["items"]:
            pass


async def test_how_long_an_answer_is_meant_and_why_travels_with_it(
    user: TestUser, vm: ScriptedVm
) -> None:
    session_id = await user.session()
    async with user.reader(session_id) as reader:
        approval = await ask(user, vm, session_id, "q-scope")
        body = {"confirmed": True, "scope": "session", "reason": "it is safe here"}
        await user.ok("POST", f"/approvals/{approval['id']}", body)
        told = await vm.expect("approval_response", lambda one: "scope" in one["data"])
        assert told["data"] == {
            "request_id": "q-scope",
            "confirmed": True,
            "answer": None,
            "scope": "session",
            "reason": "it is safe here",
        }
        event = await reader.until_type("approval_resolved")
        assert (event["scope"], event["reason"]) == ("session", "it is safe here")
        assert event["answered_by"] == user.id


@pytest.mark.parametrize(
    "more",
    [{"scope": "forever"}, {"scope": None}, {"scope": 1}, {"reason": "x" * 2001}, {"reason": 7}],
)
async def test_a_scope_that_is_none_is_refused_and_the_question_waits(
    user: TestUser, vm: ScriptedVm, more: Json
) -> None:
    session_id = await user.session()
    approval = await ask(user, vm, session_id, "q-odd")
    status, _ = await user.call("POST", f"/approvals/{approval['id']}", {"confirmed": True, **more})
    assert status == 400
    page = await user.ok("GET", f"/approvals?session_id={session_id}")
    assert [one["request_id"] for one in page["items"]] == ["q-odd"]
