"""A web client as it is deployed: the names that it uses first are those it is answered in."""

import pytest

from tests.support.control import TestUser
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import heard, web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.proves("notes-3-chat")
async def test_a_deployed_page_works_from_login_to_answer(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        agents = (await web.ask("get_agents", "agent_list"))["agents"]
        agent = next(one for one in agents if one["online"])
        selected = await web.ask("select_agent", "agent_selected", agentId=agent["id"])
        assert (selected["agentId"], selected["conversations"]) == (agent["id"], [])
        created = await web.ask(
            "create_conversation", "conversation_created", agentId=agent["id"], workDir="/w"
        )
        session = created["conversationId"]
        assert (created["agentId"], created["workDir"]) == (agent["id"], "/w")
        await web.ask("select_conversation", "conversation_selected", conversationId=session)
        await web.send("chat", prompt="hello", workDir="/w", clientMessageId="cm_1", fileIds=[])
        told = await vm.expect("user_message")
        assert told["data"]["message"] == "hello"
        assert told["data"]["metadata"]["yeaft"] == {"workDir": "/w"}
        await vm.text(session, "hi")
        await vm.event(session, type="execution_complete", content="hi")
        await web.expect("turn_completed")
        kinds = [one["data"]["type"] for one in web.of_type("claude_output")]
        assert kinds == ["assistant", "result"]
        again = (await web.ask("get_agents", "agent_list"))["agents"]
        listed = next(one for one in again if one["id"] == agent["id"])["conversations"]
        assert [one["id"] for one in listed] == [session]
        refresh = await web.ask("refresh_conversation", "conversation_refresh")
        assert refresh["isProcessing"] is False


async def test_chat_first_on_a_followed_conversation_changes_the_dialect_in_place(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await vm.expect("start_session")
        await vm.text(session, "before ")
        await web.until(lambda _new: web.text_of(session) == "before ")
        await web.send("chat", conversationId=session, prompt="go")
        await vm.expect("user_message")
        await vm.text(session, "after")
        await vm.event(session, type="execution_complete", content="after")
        await web.expect("turn_completed")
        assert web.text_of(session) == "before after"


@pytest.mark.proves("notes-3-clients-own-names")
async def test_one_session_is_told_to_each_client_in_its_own_words(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as documented, web_of(user) as deployed:
        session = await documented.create()
        await deployed.ask("select_conversation", "conversation_selected", conversationId=session)
        await documented.send("send_message", conversationId=session, text="go")
        await vm.expect("user_message")
        await vm.text(session, "same")
        await documented.send("cancel_execution", conversationId=session)
        await vm.expect("cancel")
        await vm.event(session, type="execution_complete", cancelled=True)
        await deployed.expect("execution_cancelled")
        await documented.result()
        assert documented.text_of(session) == deployed.text_of(session) == "same"
        assert documented.of_type("execution_cancelled") == []


@pytest.mark.proves("notes-3-sync-messages")
async def test_messages_are_synced_by_turns_before_and_after(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        for number in range(4):
            since = len(web.received)
            await web.send("send_message", conversationId=session, text=f"q{number}")
            await vm.expect("user_message", heard(f"q{number}"))
            await vm.event(session, type="execution_complete", content=f"a{number}")
            await web.result(since)
        fields = {"conversationId": session}
        newest = await web.ask("sync_messages", "sync_messages_result", turns=2, **fields)
        assert [row["content"] for row in newest["messages"]] == ["q2", "a2", "q3", "a3"]
        assert (newest["hasMore"], newest["mode"]) == (True, "recent")
        first = newest["messages"][0]["id"]
        older = await web.ask(
            "sync_messages", "sync_messages_result", turns=5, beforeId=first, **fields
        )
        assert [row["content"] for row in older["messages"]] == ["q0", "a0", "q1", "a1"]
        assert older["hasMore"] is False
        delta = await web.ask(
            "sync_messages", "sync_messages_result", afterMessageId=first, **fields
        )
        assert [row["content"] for row in delta["messages"]] == ["a2", "q3", "a3"]
        one = await web.ask("sync_messages", "sync_messages_result", limit=1, **fields)
        assert [row["content"] for row in one["messages"]] == ["a3"]


async def test_a_question_comes_at_its_tool_call_and_takes_answers_by_question(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        await web.ask("get_agents", "agent_list")
        created = await web.ask("create_conversation", "conversation_created", workDir="/w")
        session = created["conversationId"]
        await vm.expect("start_session")
        await vm.event(
            session, type="approval_request", request_id="q1", kind="approve", message="Run?"
        )
        asked = await web.expect("ask_user_question")
        use = web.outputs(session)[-1]["message"]["content"][0]
        assert use["name"] == "AskUserQuestion"
        assert use["input"]["questions"] == asked["questions"]
        await web.send(
            "ask_user_answer", conversationId=session, requestId="q1", answers={"Run?": "yes"}
        )
        assert (await vm.expect("approval_response"))["data"]["confirmed"] is True


@pytest.mark.proves("notes-3-ping-session")
async def test_a_session_can_be_pinged_whatever_runs_it(user: TestUser) -> None:
    vm = await user.vm()
    async with web_of(user) as web:
        session = await web.create()
        await vm.expect("start_session")
        alive = await web.ask("ping_session", "pong_session", conversationId=session)
        assert (alive["status"], alive["isProcessing"]) == ("ok", False)
        await vm.leave()
        await web.expect("agent_status", lambda one: one["state"] == "offline")
        away = await web.ask("ping_session", "pong_session", conversationId=session)
        assert away["status"] == "agent-offline"
        await web.ask("delete_conversation", "conversation_closed", conversationId=session)
        lost = await web.ask("ping_session", "pong_session", conversationId=session)
        assert lost["status"] == "session-lost"


async def test_a_title_is_kept_and_settings_of_other_machines_are_refused(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        fields = {"conversationId": session}
        await web.send("update_conversation_settings", title="My talk", **fields)
        listed = await web.ask("get_conversations", "conversation_list")
        assert [one["title"] for one in listed["conversations"]] == ["My talk"]
        refused = await web.ask(
            "update_conversation_settings", "error", disallowedTools=["bash"], **fields
        )
        assert refused["code"] == "UNSUPPORTED"


async def test_a_file_that_was_not_uploaded_is_refused_in_words(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        for file_ids in (["f-1"], ["f-1"] * 21, "f-1", [7]):
            refused = await web.ask(
                "chat", "error", conversationId=session, prompt="see", fileIds=file_ids
            )
            assert refused["code"] in ("FILE_NOT_FOUND", "INVALID_REQUEST")
        assert vm.of_type("user_message") == []
