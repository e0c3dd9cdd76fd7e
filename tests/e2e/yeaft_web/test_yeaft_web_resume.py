"""Coming back: history, what was missed, questions that wait (002: `resume_conversation`)."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.control import TestUser, running
from tests.support.orgs import admin_of_new_org
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import ScriptedWeb, heard, web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _texts(history: list[dict[str, Any]]) -> list[str]:
    return [
        block["text"]
        for one in history
        if "message" in one
        for block in one["message"]["content"]
        if block["type"] == "text"
    ]


async def _turn(web: ScriptedWeb, vm: ScriptedVm, session: str, text: str, *pieces: str) -> None:
    since = len(web.received)
    await web.send("send_message", conversationId=session, text=text)
    await vm.expect("user_message", heard(text))
    await vm.text(session, *pieces)
    await vm.event(session, type="execution_complete", content="".join(pieces))
    await web.result(since)


@pytest.mark.proves("002-4.1-resume-conversation")
async def test_history_and_live_meet_without_a_gap_or_a_repeat(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create(workDir="/w")
        await _turn(web, vm, session, "first", "one ", "two")
        await web.send("send_message", conversationId=session, text="second")
        await vm.expect("user_message", heard("second"))
        await vm.text(session, "three ")
        await web.until(lambda _new: web.text_of(session).endswith("three "))
    async with web_of(user) as web:
        ready = await web.ask("resume_conversation", "session_ready", conversationId=session)
        assert _texts(ready["history"]) == ["first", "one two", "second", "three "]
        assert ready["lastEventId"] == ready["history"][-1]["eventId"]
        assert (ready["isProcessing"], ready["hasMore"]) == (True, False)
        assert ready["workDir"] == "/w"
        await vm.text(session, "four")
        await vm.event(session, type="execution_complete", content="three four")
        await web.result()
        assert web.text_of(session) == "four"


async def test_what_came_after_a_position_is_shown_again_and_goes_on(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await vm.expect("start_session")
        await web.ask("client_hello", "client_hello_ack", positions=True)
        await vm.text(session, "seen ")
        position = (await web.expect("event_position"))["eventId"]
    await vm.text(session, "missed ")
    async with web_of(user) as web:
        ready = await web.ask(
            "resume_conversation",
            "session_ready",
            conversationId=session,
            lastEventId=position,
        )
        assert "history" not in ready
        assert ready["lastEventId"] == position
        await web.until(lambda _new: web.text_of(session) == "missed ")
        await vm.text(session, "live")
        await web.until(lambda _new: web.text_of(session) == "missed live")
        later = [one["eventId"] for one in web.of_type("event_position")]
        assert later == sorted(later)
        assert later[0] > position


async def test_a_position_that_was_never_given_out_brings_history(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await _turn(web, vm, session, "hi", "ho")
        ready = await web.ask(
            "resume_conversation", "session_ready", conversationId=session, lastEventId=10**9
        )
        assert _texts(ready["history"]) == ["hi", "ho"]


async def test_resuming_twice_on_one_connection_shows_nothing_twice(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        for _ in range(2):
            await web.ask("resume_conversation", "session_ready", conversationId=session)
        await vm.expect("start_session")
        await vm.text(session, "once")
        await web.until(lambda _new: "once" in web.text_of(session))
        await web.ask("ping", "pong")
        assert web.text_of(session) == "once"


async def test_a_client_may_ask_for_everything_again_on_the_same_connection(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await vm.expect("start_session")
        await vm.text(session, "a", "b")
        await web.until(lambda _new: web.text_of(session) == "ab")
        since = len(web.received)
        await web.ask("resume_conversation", "session_ready", conversationId=session, lastEventId=0)
        await vm.text(session, "c")
        await web.until(lambda _new: web.text_of(session, since) == "abc")


@pytest.mark.proves("002-10-offline-history-readable", "002-10-offline-cannot-send")
async def test_while_the_machine_is_gone_history_is_readable_and_sending_is_an_error(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", machine_away_s=0.0) as control:
        user = await admin_of_new_org(control)
        vm = await user.vm()
        async with web_of(user) as web:
            session = await web.create()
            await _turn(web, vm, session, "hi", "ho")
            await vm.leave()
            await web.expect("agent_status", lambda one: one["state"] == "offline")
            refused = await web.ask("send_message", "error", conversationId=session, text="hello?")
            assert (refused["code"], refused["conversationId"]) == ("MACHINE_OFFLINE", session)
            ready = await web.ask("resume_conversation", "session_ready", conversationId=session)
            assert _texts(ready["history"]) == ["hi", "ho"]


@pytest.mark.proves("002-11-buffered-while-away")
async def test_what_waits_for_a_machine_that_is_briefly_away_is_told_and_flushed(
    user: TestUser,
) -> None:
    vm = await user.vm()
    async with web_of(user) as web:
        session = await web.create()
        await vm.expect("start_session")
        await vm.leave()
        await web.expect("agent_status", lambda one: one["state"] == "offline")
        for number in range(3):
            await web.send("send_message", conversationId=session, text=f"m{number}")
        await web.until(lambda _new: sum("waits" in str(one) for one in web.outputs(session)) == 3)
        async with user.again(vm) as back:
            await back.expect("user_message", heard("m2"))
            said = [one["data"]["message"] for one in back.of_type("user_message")]
            assert said == ["m0", "m1", "m2"]
            await web.expect("agent_status", lambda one: one["state"] in ("idle", "busy"))


@pytest.mark.proves("002-11-client-may-send-again")
async def test_a_buffer_that_is_sent_again_on_a_new_connection_repeats_nothing(
    user: TestUser, vm: ScriptedVm
) -> None:
    """A page cannot know whether what it sent before its line broke has arrived."""
    said: list[dict[str, Any]] = [
        {"text": text, "clientMessageId": f"cm_{text}"} for text in ("one", "two")
    ]
    async with web_of(user) as web:
        session = await web.create()
        await web.send("send_message", conversationId=session, **said[0])
        await vm.expect("user_message", heard("one"))
        await web.drop()
    async with web_of(user) as web:
        for message in said:
            await web.send("send_message", conversationId=session, **message)
        await vm.expect("user_message", heard("two"))
        assert [one["data"]["message"] for one in vm.of_type("user_message")] == ["one", "two"]


async def test_a_question_that_waits_is_asked_again(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await vm.expect("start_session")
        await vm.event(
            session, type="approval_request", request_id="q1", kind="approve", message="Really?"
        )
        await web.expect("ask_user_question")
    async with web_of(user) as web:
        await web.ask("resume_conversation", "session_ready", conversationId=session)
        asked = await web.expect("ask_user_question")
        assert (asked["requestId"], asked["prompt"]) == ("q1", "Really?")
        await web.send("ask_user_answer", requestId="q1", answer="yes")
        assert (await vm.expect("approval_response"))["data"]["confirmed"] is True
        await web.expect("ask_user_answered")


async def test_history_outlives_the_control_plane(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await admin_of_new_org(control)
        async with await user.vm() as vm, web_of(user) as web:
            session = await web.create()
            await _turn(web, vm, session, "hi", "ho")
    async with running(tmp_path / "data") as control:
        again = TestUser(control, user.id, user.token)
        async with web_of(again) as web:
            ready = await web.ask("resume_conversation", "session_ready", conversationId=session)
            assert _texts(ready["history"]) == ["hi", "ho"]


async def test_a_conversation_is_found_by_either_of_its_names(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        ready = await web.ask("resume_conversation", "session_ready", sessionId=session)
        assert ready["conversationId"] == session
        missing = await web.ask("resume_conversation", "error", sessionId="not ours")
        assert missing["code"] == "SESSION_NOT_FOUND"
