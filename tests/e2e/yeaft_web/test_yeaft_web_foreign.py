"""What was begun in a terminal of our machines, on a Yeaft page: listed and gone on with."""

import asyncio
from typing import Any

import pytest

from tests.support.asked_vm import FOREIGN, READ, AskedVm
from tests.support.control import TestUser
from tests.support.yeaft_web import web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


@pytest.mark.proves("002-4.1-list-history-sessions", "002-4.1-list-folders")
async def test_the_lists_of_a_machine_have_what_other_programs_began_there(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    async with vm.vm, web_of(user) as web:
        named = {"agentId": vm.id, "provider": "claude-code", "workDir": "/srv/site"}
        asking = asyncio.create_task(
            web.ask("list_history_sessions", "history_sessions_list", **named)
        )
        asked = (await vm.answer({"sessions": [FOREIGN]}))["data"]
        assert asked["method"] == "foreign_sessions.list"
        assert asked["params"]["runtime"] == "claude-code"
        assert asked["params"]["folder"] == "/srv/site"
        [one] = (await asking)["sessions"]
        assert (one["sessionId"], one["conversationId"]) == (FOREIGN["id"], None)
        assert (one["workDir"], one["provider"]) == ("/srv/site", "claude-code")
        asking = asyncio.create_task(web.ask("list_folders", "folders_list", agentId=vm.id))
        await vm.answer({"sessions": [FOREIGN]})
        [folder] = (await asking)["folders"]
        assert (folder["path"], folder["sessionCount"]) == ("/srv/site", 1)


async def test_a_machine_that_cannot_say_has_an_empty_list(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    async with vm.vm, web_of(user) as web:
        kind = "history_sessions_list"
        asking = asyncio.create_task(web.ask("list_history_sessions", kind, agentId=vm.id))
        await vm.answer(error={"code": "FAULT", "message": "the disk"})
        assert (await asking)["sessions"] == []
        other = {"agentId": vm.id, "provider": "copilot"}
        assert (await web.ask("list_history_sessions", kind, **other))["sessions"] == []


@pytest.mark.proves("002-4.1-resume-conversation")
async def test_one_is_taken_up_with_its_history(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    async with vm.vm, web_of(user) as web:
        named = {"conversationId": "page-1", "sessionId": FOREIGN["id"], "agentId": vm.id}
        asking = asyncio.create_task(web.ask("resume_conversation", "session_ready", **named))
        await vm.answer(READ)
        ready = await asking
        pinned = web.of_type("conversation_pinned")[-1]
        assert pinned["clientConversationId"] == "page-1"
        assert pinned["conversationId"] == ready["conversationId"]
        told = str(ready["history"])
        assert "Mend the build" in told
        assert "It is mended." in told
        session = ready["conversationId"]
        await web.send("send_message", conversationId=session, text="And the tests?")
        start = (await vm.vm.expect("start_session"))["data"]
        assert start["snapshot"]["runtime_state"]["session_id"] == FOREIGN["id"]
        assert (await vm.vm.expect("user_message"))["data"]["message"] == "And the tests?"
        again = await web.ask("resume_conversation", "session_ready", **named)
        assert again["conversationId"] == session


@pytest.mark.parametrize(
    ("kind", "told", "answer"),
    [
        ("list_history_sessions", "history_sessions_list", {"sessions": [FOREIGN]}),
        ("list_folders", "folders_list", {"sessions": [FOREIGN]}),
        ("resume_conversation", "session_ready", READ),
    ],
)
async def test_a_machine_that_takes_its_time_keeps_nothing_else_waiting(
    user: TestUser, kind: str, told: str, answer: Json
) -> None:
    """Cancels and answers to questions come by the same way."""
    vm = await AskedVm.of(user)
    async with vm.vm, web_of(user) as web:
        named = {"agentId": vm.id, "sessionId": FOREIGN["id"], "provider": "claude-code"}
        asking = asyncio.create_task(web.ask(kind, told, **named))
        query = await vm.asked()
        await web.ask("ping", "pong")
        assert not asking.done()
        said = {"type": "query_result", "id": query["id"], "result": answer, "error": None}
        await vm.vm.send(said)
        await asking


async def test_a_page_asks_machines_only_so_much_at_once(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    async with vm.vm, web_of(user) as web:
        for _ in range(20):
            await web.send("list_history_sessions", agentId=vm.id)
        queries = [await vm.asked() for _ in range(5)]  # four, and the one that is waited for
        await user.ok("GET", "/machines")
        assert len([one for one in vm.vm.received if one["type"] == "query"]) == 5
        for query in queries:
            said = {"type": "query_result", "id": query["id"], "result": {"sessions": []}}
            await vm.vm.send(said)
        for _ in range(15):
            await vm.answer({"sessions": []})
        await web.until(
            lambda told: sum(one["type"] == "history_sessions_list" for one in told) == 20
        )


async def test_one_that_is_nowhere_is_not_found(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    async with vm.vm, web_of(user) as web:
        named = {"sessionId": "unknown", "agentId": vm.id}
        asking = asyncio.create_task(web.ask("resume_conversation", "session_ready", **named))
        for _ in range(3):  # of each program
            await vm.answer(error={"code": "FOREIGN_SESSION_NOT_FOUND", "message": "unknown"})
        assert (await asking)["code"] == "SESSION_NOT_FOUND"


async def test_nobody_else_reaches_them(user: TestUser, eve: TestUser) -> None:
    vm = await AskedVm.of(user)
    async with vm.vm, web_of(eve) as web:
        named = {"sessionId": FOREIGN["id"], "agentId": vm.id}
        for kind in ("resume_conversation", "list_history_sessions", "list_folders"):
            assert (await web.ask(kind, "error", **named))["code"] == "MACHINE_NOT_FOUND"
        assert [one for one in vm.vm.received if one["type"] == "query"] == []
