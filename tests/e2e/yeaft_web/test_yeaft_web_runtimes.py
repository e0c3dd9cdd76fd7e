"""Runtimes of our own machines behind Yeaft clients: which one a provider's name chooses, what
Claude Code wrote itself, what can be said behind a slash, and options of a request for permission.
"""

import json
from typing import Any

import pytest

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.myagent import client_of
from tests.support.peer import Json
from tests.support.vm import ScriptedVm
from tests.support.yeaft_page import Page, page_of
from tests.support.yeaft_web import heard, started, web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

RUNTIMES = ["acp", "claude-code", "semigraph"]
LINES = (
    '{"type":"system","subtype":"init","session_id":"own-1","slash_commands":["compact"]}',
    '{"type":"stream_event","event":{"type":"content_block_delta","index":0,'
    '"delta":{"type":"text_delta","text":"H\\u00e9"}},"session_id":"own-1"}',
    '{"message":{"role":"assistant","content":[{"type":"text","text":"Hé"}]},"type":"assistant"}',
    '{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use",'
    '"id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":null}',
    '{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1",'
    '"type":"tool_result","content":"a.txt"}]}}',
    '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":1.50e-2,'
    '"result":"Hé","duration_ms":12,"usage":{"input_tokens":1,"output_tokens":2}}',
)
INIT, PARTIAL, TEXT, CALL, DONE, END = LINES


async def said(vm: ScriptedVm, session: str, kind: str, data: str, **fields: Any) -> None:
    """An event that brings a line of the program's along, as it is documented."""
    message = f'{{"type":"claude_output","conversationId":"{session}","data":{data}}}'
    head = json.dumps({"type": kind, **fields})[:-1]
    line = f'{head},"raw":{{"protocol":"yeaft","message":{message}}}}}'
    await vm.send({"type": "sse_event", "session_id": session, "data": line})


async def one_turn(vm: ScriptedVm, session: str, prompt: str) -> None:
    """What a session of Claude Code says in a turn."""
    told = await vm.expect("user_message", heard(prompt))
    of_turn: Json = {"turn_id": told["data"].get("turn_id")} if "turn_id" in told["data"] else {}
    foreign = {"protocol": "yeaft", "name": "claude_output", **of_turn}
    await said(vm, session, "foreign", INIT, **foreign)
    commands = [{"name": "compact", "description": "Shorten it"}]
    await vm.event(session, type="session_status", machine="online", commands=commands)
    ready = {"session_id": "own-1", "model_info": {"model": "claude-x"}, "again": True}
    await vm.event(session, type="session_status", machine="online", ready=ready)
    await said(vm, session, "text_chunk", PARTIAL, content="Hé", **of_turn)
    await said(vm, session, "foreign", TEXT, **foreign)
    call = {"tool_call_id": "toolu_1", "tool_name": "Bash", **of_turn}
    await said(vm, session, "tool_call_start", CALL, tool_input={"command": "ls"}, **call)
    await said(vm, session, "tool_call_complete", DONE, result="a.txt", **call)
    await said(vm, session, "foreign", END, **foreign)
    await vm.event(session, type="usage", tokens_in=1, tokens_out=2, cost_usd=0.015, **of_turn)
    await vm.event(session, type="execution_complete", content="Hé", **of_turn)


def outputs(page: Page, session: str, since: int = 0) -> list[Json]:
    """Everything that was shown in a conversation, but for what a person said."""
    return [
        one["data"]
        for one in page.of_type("claude_output", since)
        if one["conversationId"] == session and "clientMessageId" not in one["data"]
    ]


def vm_of(page: Page) -> str:
    return str(next(one["id"] for one in page.agents if one["kind"] == "vm" and one["online"]))


@pytest.mark.proves("002-5.1-wrapped-as-it-is")
async def test_what_claude_code_writes_reaches_every_page_as_it_is_and_others_in_our_words(
    user: TestUser, vm: ScriptedVm
) -> None:
    wanted = [json.loads(one) for one in LINES]
    async with page_of(user) as page, web_of(user) as web, client_of(user) as mine:
        session = await page.create(vm_of(page))
        await web.ask("resume_conversation", "session_ready", conversationId=session)
        await mine.reconnect(session)
        async with user.reader(session) as reader:
            await page.send("chat", prompt="go", conversationId=session)
            await one_turn(vm, session, "go")
            await page.expect("turn_completed")
            await reader.until_type("execution_complete")
            kinds = [event.json["type"] for event in reader.events]
            assert kinds.count("text_chunk") == kinds.count("tool_call_complete") == 1
            (chunk,) = [one.json for one in reader.events if '"text_chunk"' in one.data]
            assert chunk["raw"]["message"]["data"] == json.loads(PARTIAL)
        assert outputs(page, session) == wanted
        final = await mine.expect("agent.final_answer")
        assert final["content"] == "Hé"
        assert mine.text(session) == "Hé"
        told = await web.expect("slash_commands_update")
        assert (told["conversationId"], told["slashCommands"]) == (session, ["compact"])
        again = await web.expect("session_ready", lambda one: one["sessionId"] == "own-1")
        assert again["modelInfo"] == {"model": "claude-x"}
        await web.until(lambda _: web.outputs(session)[-1] == wanted[-1])
        assert [one for one in web.outputs(session) if one in wanted] == wanted
        for one in LINES:
            assert any(f'"data":{one}}}' in text for text in page.texts), "not one byte differs"


async def test_a_page_that_is_opened_again_has_the_same_and_none_of_it_twice(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with page_of(user) as page:
        session = await page.create(vm_of(page))
        await page.send("chat", prompt="go", conversationId=session)
        await one_turn(vm, session, "go")
        await page.expect("turn_completed")
    async with page_of(user, open_conversation=session) as page:
        await page.until(lambda: session in page.rows, "its rows")
        shown = [(row["message_type"], row["content"]) for row in page.rows[session]]
        assert shown == [("user", "go"), ("assistant", "Hé"), ("tool_use", '{"command":"ls"}')]
        told = await page.expect("slash_commands_update")
        assert told["slashCommandDescriptions"] == {"compact": "Shorten it"}
    async with web_of(user) as web:
        resumed = await web.ask("resume_conversation", "session_ready", conversationId=session)
        assert (resumed["sessionId"], resumed["modelInfo"]) == ("own-1", {"model": "claude-x"})
        for one in resumed["history"]:
            del one["eventId"]
        assert resumed["history"][1:] == [json.loads(one) for one in (TEXT, CALL, DONE, END)]
        # What came behind a position comes again as it was, however the client got there.
        since = len(web.received)
        await web.send("resume_conversation", conversationId=session, lastEventId=1)
        await web.until(lambda new: any(is_end(one) for one in new), since)
        assert web.outputs(session, since) == [json.loads(one) for one in LINES]


def is_end(one: Json) -> bool:
    return bool(one["type"] == "claude_output" and one["data"]["type"] == "result")


@pytest.mark.parametrize(
    ("provider", "runtime", "more"),
    [
        ("claude-code", "claude-code", {}),
        ("copilot", "acp", {"acp": {"preset": "copilot"}}),
        ("gemini", "acp", {"acp": {"preset": "gemini"}}),
        ("semigraph", "semigraph", {}),
    ],
)
async def test_a_provider_chooses_a_runtime_of_the_machine_and_a_folder_its_workspace(
    user: TestUser, vm: ScriptedVm, provider: str, runtime: str, more: Json
) -> None:
    async with page_of(user) as page:
        await has_runtimes(user, vm, vm_of(page))
        session = await page.create(vm_of(page), provider=provider, workDir="/srv/project")
        start = await vm.expect("start_session", started(session))
        assert start["data"]["runtime_type"] == runtime
        assert start["data"]["agent_config"].items() >= more.items()
        assert start["data"]["session_config"]["workspace"] == "/srv/project"
        known = provider if provider == "copilot" else "claude-code"
        assert page.row(session)["runtimeProvider"] == known
        assert page.row(session)["workDir"] == "/srv/project"
    async with web_of(user) as web:
        created = await web.create(provider=provider)
        start = await vm.expect("start_session", started(created))
        assert start["data"]["runtime_type"] == runtime, "also where no agent is named"
        assert "workspace" not in start["data"]["session_config"]


async def test_a_provider_that_a_machine_lacks_is_no_choice_and_its_folder_none_either(
    user: TestUser, vm: ScriptedVm
) -> None:
    """Pages name one in any case."""
    async with page_of(user) as page:
        session = await page.create(vm_of(page), provider="copilot", workDir="/srv/project")
        start = await vm.expect("start_session", started(session))
        assert start["data"]["runtime_type"] == "semigraph"
        assert "workspace" not in start["data"]["session_config"]


async def test_sessions_of_other_clients_are_listed_under_names_that_pages_know(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with page_of(user) as page:
        await has_runtimes(user, vm, vm_of(page))
    copilot = await user.session(
        runtime_type="acp", agent_config={"acp": {"preset": "copilot"}, "workspace": "/srv/a"}
    )
    goose = await user.session(runtime_type="acp", agent_config={"acp": {"preset": "goose"}})
    async with page_of(user) as page:
        row = page.row(copilot)
        assert (row["runtimeProvider"], row["workDir"]) == ("copilot", "/srv/a")
        assert page.row(goose)["runtimeProvider"] == "claude-code"
    async with web_of(user) as web:
        listed = await web.ask("list_conversations", "conversation_list")
        named = {one["id"]: one["provider"] for one in listed["conversations"]}
        assert (named[copilot], named[goose]) == ("copilot", "goose")


async def test_an_option_of_a_request_for_permission_goes_back_by_its_name(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with page_of(user) as page:
        session = await page.create(vm_of(page))
        await page.send("chat", prompt="go", conversationId=session)
        await vm.expect("user_message", heard("go"))
        options = ["Allow once", "Always allow", "Reject"]
        asked: Json = {"request_id": "q-1", "kind": "approve", "message": "May I use bash?"}
        tool: Json = {"tool_name": "bash", "tool_input": {"command": "ls"}}
        await vm.event(session, type="approval_request", **asked, **tool, options=options)
        question = await page.expect("ask_user_question")
        assert question["choices"] == options
        assert '"command"' in question["prompt"], "nobody says yes unseen"
        (listed,) = question["questions"]
        assert [one["label"] for one in listed["options"]] == options
        answers = {listed["question"]: "Always allow"}
        await page.send("ask_user_answer", requestId="q-1", answers=answers)
        told = await vm.expect("approval_response")
        assert told["data"]["confirmed"] is True
        assert told["data"]["answer"] == "Always allow"


async def has_runtimes(user: TestUser, vm: ScriptedVm, machine_id: str) -> None:
    await vm.send({"type": "heartbeat", "health": {"runtimes": RUNTIMES}})

    async def told() -> bool:
        machine = await user.ok("GET", f"/machines/{machine_id}")
        return bool(machine["health"].get("runtimes") == RUNTIMES)

    await eventually(told)
