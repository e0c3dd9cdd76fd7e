"""A tool asks, a Yeaft web client answers; the first answer wins (002, "ask-user")."""

from typing import Any

import pytest

from tests.support.control import TestUser
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import ScriptedWeb, web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _asked(web: ScriptedWeb, vm: ScriptedVm, request_id: str, **fields: Any) -> str:
    """A new conversation in which a tool asks; returns its id."""
    session = await web.create()
    await vm.expect("start_session", lambda one: one["data"]["session_id"] == session)
    question = {"kind": "approve", "message": "Run it?", **fields}
    await vm.event(session, type="approval_request", request_id=request_id, **question)
    await web.expect("ask_user_question", lambda one: one["conversationId"] == session)
    return session


async def _answer_of(vm: ScriptedVm, request_id: str) -> tuple[bool, Any]:
    message = await vm.expect(
        "approval_response", lambda one: one["data"]["request_id"] == request_id
    )
    return message["data"]["confirmed"], message["data"].get("answer")


@pytest.mark.proves("002-7-answer", "002-4.1-ask-user-answer")
async def test_yes_and_no_decide(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        first = await _asked(web, vm, "q-yes")
        await web.send("ask_user_answer", conversationId=first, requestId="q-yes", answer="yes")
        assert await _answer_of(vm, "q-yes") == (True, "yes")
        second = await _asked(web, vm, "q-no")
        await web.send("ask_user_answer", conversationId=second, requestId="q-no", answer="no")
        assert (await _answer_of(vm, "q-no"))[0] is False


async def test_an_answer_that_is_neither_is_asked_for_again(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        session = await _asked(web, vm, "q-maybe")
        fields = {"conversationId": session, "requestId": "q-maybe"}
        refused = await web.ask("ask_user_answer", "error", answer="maybe", **fields)
        assert refused["code"] == "YES_OR_NO"
        await web.send("ask_user_answer", answer=True, **fields)
        assert (await _answer_of(vm, "q-maybe"))[0] is True


async def test_a_choice_and_free_text_reach_the_tool(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        await _asked(web, vm, "q-sel", kind="select", options=["A", "B"])
        await web.send("ask_user_answer", requestId="q-sel", answer="B")
        assert await _answer_of(vm, "q-sel") == (True, "B")
        await _asked(web, vm, "q-in", kind="input", message="Name?")
        await web.send("ask_user_answer", requestId="q-in", answers={"Name?": "Ada"})
        assert await _answer_of(vm, "q-in") == (True, "Ada")


@pytest.mark.proves("notes-3-question-restored")
@pytest.mark.parametrize("kind", ["select_conversation", "sync_messages"])
async def test_who_selects_or_syncs_a_conversation_is_asked_what_waits_there(
    user: TestUser, vm: ScriptedVm, kind: str
) -> None:
    async with web_of(user) as web:
        session = await _asked(web, vm, f"q-{kind}")
    async with web_of(user) as again:
        await again.send(kind, conversationId=session)
        asked = await again.expect("ask_user_question")
        assert (asked["conversationId"], asked["requestId"]) == (session, f"q-{kind}")


async def test_an_answer_from_rest_closes_the_dialog(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        session = await _asked(web, vm, "q-rest")
        waiting = (await user.ok("GET", "/approvals"))["items"]
        (approval,) = [one for one in waiting if one["request_id"] == "q-rest"]
        await user.ok("POST", f"/approvals/{approval['id']}", {"confirmed": True})
        closed = await web.expect("ask_user_answered")
        assert (closed["requestId"], closed["confirmed"]) == ("q-rest", True)
        late = await web.ask(
            "ask_user_answer", "error", conversationId=session, requestId="q-rest", answer="no"
        )
        assert late["code"] == "ALREADY_ANSWERED"


async def test_an_id_that_two_sessions_ask_under_needs_the_conversation(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        first, _second = await _asked(web, vm, "q-same"), await _asked(web, vm, "q-same")
        refused = await web.ask("ask_user_answer", "error", requestId="q-same", answer="yes")
        assert refused["code"] == "AMBIGUOUS"
        await web.send("ask_user_answer", conversationId=first, requestId="q-same", answer="yes")
        answered = await web.expect("ask_user_answered")
        assert answered["conversationId"] == first


async def test_a_question_that_nobody_asked_is_not_found(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        missing = await web.ask("ask_user_answer", "error", requestId="nope", answer="yes")
        assert missing["code"] == "APPROVAL_NOT_FOUND"
