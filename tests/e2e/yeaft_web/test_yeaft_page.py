"""Yeaft's page, from its first conversation to a reload, with machines of every kind behind it."""

from pathlib import Path

import pytest

from tests.support.control import LocalControl, TestUser, running
from tests.support.eventually import eventually
from tests.support.installed_yeaft_agent import COMMANDS
from tests.support.peer import Json
from tests.support.vm import ScriptedVm
from tests.support.yeaft_agent import DEPLOYED, new_agent
from tests.support.yeaft_page import Page, PageHttp, page_of
from tests.support.yeaft_web import heard

pytestmark = pytest.mark.asyncio(loop_scope="module")


def vm_of(page: Page) -> str:
    return str(next(one["id"] for one in page.agents if one["kind"] == "vm" and one["online"]))


async def answered(page: Page, vm: ScriptedVm, prompt: str, answer: str, **fields: object) -> str:
    """One turn of the conversation that is open; returns how it ended."""
    assert page.current is not None
    since = len(page.received)
    await page.send("chat", prompt=prompt, conversationId=page.current, **fields)
    await vm.expect("user_message", heard(prompt))
    await vm.text(page.current, answer)
    await vm.event(page.current, type="execution_complete", content=answer)
    return str((await page.expect("turn_completed", since=since))["conversationId"])


@pytest.mark.proves("notes-3-catalog", "notes-3-catalog-key", "notes-3-inventory-complete")
async def test_a_page_talks_reloads_and_opens_an_old_conversation(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with page_of(user) as page:
        assert page.catalog == []
        first = await page.create(vm_of(page))
        await answered(page, vm, "what is a trunk line?", "a long one")
        second = await page.create(vm_of(page), provider="copilot", workDir="/other")
        await answered(page, vm, "second", "yes")
    # A session of another client, whose provider no page knows.
    odd = await user.session(session_config={"provider": "semigraph"}, title="odd one")
    async with page_of(user, open_conversation=second) as page:
        await page.until(lambda: second in page.rows, "the rows of what was open")
        assert [row["content"] for row in page.rows[second]] == ["second", "yes"]
        keys = [row["catalogKey"] for row in page.catalog]
        assert keys == [f"chat:{one}" for one in (odd, second, first)]
        agent_id = vm_of(page)
        row = page.row(second)
        assert row["routeRef"] == {
            "runtimeProvider": "copilot",
            "agentId": agent_id,
            "sessionId": second,
        }
        assert (row["workDir"], row["availability"]) == ("/other", "online")
        assert (row["pinned"], row["hidden"], row["sortRank"]) == (False, False, None)
        assert page.row(odd)["runtimeProvider"] == "claude-code"
        await page.show(first)
        assert [row["content"] for row in page.rows[first]] == [
            "what is a trunk line?",
            "a long one",
        ]
        await answered(page, vm, "go on", "gladly")
        assert page.text_of(first) == "gladly"


@pytest.mark.proves("notes-3-page-titles", "notes-3-row-times")
async def test_a_conversation_is_called_by_its_first_message_until_it_is_renamed(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with page_of(user) as page:
        session = await page.create(vm_of(page))
        await answered(page, vm, "first   **words**\nand more", "yes")
        await page.until(lambda: page.row(session)["title"] == "first words", "a title at once")
        await answered(page, vm, "later words", "yes")
        await page.show(session)
        times = [row["created_at"] for row in page.rows[session]]
        assert len(times) == 4
        assert times == sorted(times)
        assert min(times) > 1_600_000_000_000, "rows of an answer have their time too"
    async with page_of(user) as page:
        assert page.row(session)["title"] == "first words"
        await page.send("update_conversation_settings", conversationId=session, title="Mine")
        await page.until(lambda: page.row(session)["title"] == "Mine", "the new title")
        page.current = session
        await answered(page, vm, "more", "yes")
    async with page_of(user) as page:
        assert page.row(session)["title"] == "Mine"


@pytest.mark.proves("notes-3-catalog", "notes-3-slash-commands-shown")
async def test_a_list_follows_an_agent_that_goes_and_returns(user: TestUser) -> None:
    agent = await new_agent(user, DEPLOYED)
    async with agent, page_of(user) as page:
        update = {"type": "slash_commands_update", "slashCommands": COMMANDS}
        await agent.send(update)
        await page.expect("slash_commands_update")
        session = await page.create(agent.id)
        selected = page.of_type("agent_selected")[-1]
        assert selected["slashCommands"] == COMMANDS
        await agent.leave()
        await page.until(lambda: page.row(session)["availability"] == "offline", "offline")
        synced = len(page.of_type("sync_messages_result"))
        async with agent.again() as back:
            await page.until(lambda: page.row(session)["availability"] == "online", "online")
            # Behind the list the page selects and syncs what is open, and goes on.
            await page.until(
                lambda: len(page.of_type("sync_messages_result")) > synced, "the rows again"
            )
            await page.send("chat", prompt="again", conversationId=session)
            await back.prompt("again")
            await back.text(session, "here")
            await back.result(session)
            await page.expect("turn_completed")
            assert page.text_of(session) == "here"


@pytest.mark.proves("notes-3-question-restored")
async def test_a_question_waits_while_the_page_opens(user: TestUser, vm: ScriptedVm) -> None:
    async with page_of(user) as page:
        session = await page.create(vm_of(page))
        await page.send("chat", prompt="do it", conversationId=session)
        await vm.expect("user_message", heard("do it"))
    question: Json = {"request_id": "q-open", "kind": "approve", "message": "Run it?"}
    await vm.event(session, type="approval_request", tool_name="bash", **question)
    async with page_of(user, open_conversation=session) as page:
        await page.until(lambda: session in page.rows, "rows")
        (row,) = [one for one in page.rows[session] if one["message_type"] == "tool_use"]
        assert (row["tool_name"], row["role"]) == ("AskUserQuestion", "assistant")
        asked = page.questions["q-open"]["askQuestions"]
        assert asked[0]["question"].startswith("Run it?")
        assert [one["label"] for one in asked[0]["options"]] == ["yes", "no"]
        # It is asked again on selecting and on syncing, without a second call of its tool.
        await page.until(lambda: len(page.of_type("ask_user_question")) >= 2, "both times")
        assert page.of_type("claude_output") == []
        given = {asked[0]["question"]: "yes"}
        fields = {"conversationId": session, "requestId": "q-open", "answers": given}
        await page.send("ask_user_answer", **fields)
        assert (await vm.expect("approval_response"))["data"]["confirmed"] is True
        await page.expect("ask_user_answered")
        await page.show(session)
        assert page.questions == {}
        assert '"askAnswered":true' in str(page.rows[session])


@pytest.mark.proves("notes-3-question-restored")
async def test_an_agents_own_question_stands_at_the_agents_own_tool_call(user: TestUser) -> None:
    questions = [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]
    async with await new_agent(user, DEPLOYED) as agent:
        async with page_of(user) as page:
            session = await page.create(agent.id)
            await page.send("chat", prompt="choose", conversationId=session)
            await agent.prompt("choose")
        await agent.tool(session, "toolu_1", "AskUserQuestion", {"questions": questions})
        await agent.send(
            {
                "type": "ask_user_question",
                "conversationId": session,
                "requestId": "q-own",
                "questions": questions,
            }
        )
        async with page_of(user, open_conversation=session) as page:
            await page.until(lambda: "q-own" in page.questions, "the question")
            await page.until(lambda: session in page.rows, "rows")
            calls = [one for one in page.rows[session] if one["message_type"] == "tool_use"]
            assert len(calls) == 1
            assert page.questions["q-own"]["askQuestions"] == questions
            fields = {"conversationId": session, "requestId": "q-own"}
            await page.send("ask_user_answer", **fields, answers={"Which?": "B"})
            answer = await agent.expect("ask_user_answer")
            assert answer["answers"] == {"Which?": "B"}
            await page.expect("ask_user_answered")
            await page.show(session)
            (row,) = [one for one in page.rows[session] if one["message_type"] == "tool_use"]
            assert '"selectedAnswers":{"Which?":"B"}' in row["metadata"]


@pytest.mark.proves("notes-3-page-upload")
async def test_uploaded_files_reach_the_turn_that_names_them(
    user: TestUser, vm: ScriptedVm
) -> None:
    files = [("a.txt", "text/plain", b"hi"), ("b.png", "image/png", b"\x89PNG")]
    async with await new_agent(user, DEPLOYED) as agent, PageHttp(user.control.url) as http:
        http.token = user.token
        async with page_of(user) as page:
            session = await page.create(vm_of(page))
            status, uploaded = await http.upload(*files)
            assert (status, uploaded["success"]) == (200, True)
            assert [one["name"] for one in uploaded["files"]] == ["a.txt", "b.png"]
            ids = uploaded["fileIds"]
            assert ids == [one["fileId"] for one in uploaded["files"]]
            said = {"conversationId": session, "fileIds": ids, "clientMessageId": "cm_1"}
            await page.send("chat", prompt="look", **said)
            told = (await vm.expect("user_message", heard("look")))["data"]
            assert told["metadata"]["attachments"] == [
                {"name": "a.txt", "mime": "text/plain", "base64": "aGk="},
                {"name": "b.png", "mime": "image/png", "base64": "iVBORw=="},
            ]
            await page.send("chat", prompt="look", **said)  # sent again after a break: no effect
            await vm.event(session, type="execution_complete", content="seen")
            await page.expect("turn_completed")
            assert page.of_type("error") == []
            assert len(vm.of_type("user_message")) == 1
            own = await page.create(agent.id)
            ids = (await http.upload(files[0]))[1]["fileIds"]
            await page.send("chat", prompt="and you", conversationId=own, fileIds=ids)
            told = await agent.prompt("and you")
            assert told["type"] == "transfer_files"
            assert [one["name"] for one in told["files"]] == ["a.txt"]
            # A group chat that the agent runs itself gets the files too, not their names here.
            ids = (await http.upload(files[0]))[1]["fileIds"]
            chat = {"agentId": agent.id, "sessionId": "s-1", "text": "all of you"}
            await page.send("yeaft_session_send", **chat, fileIds=ids)
            passed = await agent.expect("yeaft_session_send")
            assert {name: passed[name] for name in chat} == chat
            assert passed["attachments"] == [
                {"name": "a.txt", "mime": "text/plain", "base64": "aGk="}
            ]
            assert "fileIds" not in passed


@pytest.mark.proves("notes-3-ui-metadata")
async def test_how_a_page_lists_conversations_is_kept(user: TestUser, vm: ScriptedVm) -> None:
    async with page_of(user) as page, page_of(user) as other:
        one, two, three = [await page.create(vm_of(page)) for _ in range(3)]
        await page.send("pin_session", conversationId=one)
        pinned = await page.expect("session_pinned")
        assert (pinned["conversationId"], pinned["pinned"]) == (one, True)
        await other.until(
            lambda: any(row["pinned"] for row in other.catalog), "the pin on the other page"
        )
        named = {"catalogKey": f"chat:{two}", "routeRef": page.row(two)["routeRef"]}
        hidden = await page.ask(
            "set_session_ui_metadata", "session_ui_metadata_updated", **named, hidden=True
        )
        assert (hidden["ok"], hidden["hidden"], hidden["pinned"]) == (True, True, False)
        await page.until(lambda: len(page.catalog) == 2, "two rows")
        rows = [page.row(session) for session in (one, three)]
        rows = [{"catalogKey": row["catalogKey"], "routeRef": row["routeRef"]} for row in rows]
        ordered = await page.ask(
            "reorder_session_catalog", "session_catalog_reorder_result", sessions=rows
        )
        assert ordered["ok"] is True
        route = {**page.row(one)["routeRef"]}
        beside = {"workbenchRoute": route, "workbenchRouteKey": "k", "agentId": route["agentId"]}
        files = [{"path": "/project/a.py", "x": 1}, {"path": "/project/b.py"}]
        await page.send("update_file_tabs", openFiles=files, activeIndex=1, **beside)
        odd = {"catalogKey": "chat:nothing", "routeRef": {}}
        refused = await page.ask(
            "set_session_ui_metadata", "session_ui_metadata_updated", **odd, pinned=True
        )
        assert refused["ok"] is False
        assert refused["error"]
    async with page_of(user) as page:
        keys = [row["catalogKey"] for row in page.catalog]
        assert keys == [f"chat:{one}", f"chat:{three}"]
        assert page.row(one)["pinned"] is True
        assert [row["catalogKey"] for row in page.hidden] == [f"chat:{two}"]
        tabs = await page.ask("restore_file_tabs", "file_tabs_restored", **beside)
        assert tabs["openFiles"] == [{"path": "/project/a.py"}, {"path": "/project/b.py"}]
        assert (tabs["activeIndex"], tabs["workbenchRouteKey"]) == (1, "k")
        deleted = await page.ask(
            "delete_conversation", "conversation_delete_result", conversationId=three
        )
        assert deleted["ok"] is True
        await page.until(lambda: len(page.catalog) == 1, "one row")


@pytest.mark.proves("notes-3-workbench")
async def test_the_workbench_of_an_agent_is_passed_on_and_that_of_others_is_refused(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with await new_agent(user, DEPLOYED) as agent, page_of(user) as page:
        assert page.has_workbench
        shown = next(one for one in page.agents if one["id"] == agent.id)
        assert {"terminal", "file_editor"} <= set(shown["capabilities"])
        session = await page.create(agent.id)
        route = page.row(session)["routeRef"]
        asked = {"workbenchRoute": route, "agentId": agent.id, "terminalId": "t1"}
        name = f"_workbench:claude-code:{agent.id}:{session}"
        await page.send("terminal_create", conversationId=name, requestId="w1", **asked)
        told = await agent.expect("terminal_create")
        assert told["workbenchRoute"] == route
        done = {"conversationId": name, "terminalId": "t1", "requestId": "w1"}
        await agent.send({"type": "terminal_created", **done, "success": True})
        assert (await page.expect("terminal_created"))["agentId"] == agent.id
        output = {"type": "terminal_output", "conversationId": name, "terminalId": "t1"}
        await agent.send({**output, "data": "$ "})
        assert (await page.expect("terminal_output"))["data"] == "$ "
        machine = next(one for one in page.agents if one["kind"] == "vm")
        assert not {"terminal", "file_editor"} & set(machine["capabilities"])
        await page.send("read_file", agentId=machine["id"], requestId="w2", filePath="x")
        refused = await page.expect("error", lambda one: one.get("requestId") == "w2")
        assert refused["code"] == "UNSUPPORTED"


@pytest.mark.proves("notes-3-hydrate", "notes-3-session-list-authoritative")
async def test_group_chats_of_an_agent_are_there_when_a_page_opens_and_change_live(
    user: TestUser,
) -> None:
    chats = [{"id": "s-1", "name": "Review", "roster": ["ada", "bob"], "workDir": "/w"}]
    listed = {"type": "session_list_updated", "sessions": chats}
    async with await new_agent(user, DEPLOYED) as agent:
        await agent.send({"type": "yeaft_output", "event": listed})
        async with page_of(user) as page:
            # It may have opened before the agent had spoken.
            await page.until(lambda: page.group_chats, "the list")
            assert [one["id"] for one in page.group_chats] == ["s-1"]
            more = {**listed, "sessions": [*chats, {"id": "s-2", "name": "Plan"}]}
            await agent.send({"type": "yeaft_output", "event": more})
            await page.until(lambda: len(page.group_chats) == 2, "the new list")
            await page.send("yeaft_vp_subscribe", agentId=agent.id)
            await agent.expect("yeaft_vp_subscribe")
            said = {"sessionId": "s-1", "text": "@ada look", "id": "cm_5"}
            await page.send("yeaft_session_send", agentId=agent.id, **said)
            assert (await agent.expect("yeaft_session_send"))["text"] == "@ada look"
            words = {"type": "assistant", "message": {"content": [{"type": "text", "text": "ok"}]}}
            output = {"type": "yeaft_output", "sessionId": "s-1", "vpId": "ada", "data": words}
            await agent.send(output)
            spoken = await page.expect("yeaft_output", lambda one: one.get("vpId") == "ada")
            assert (spoken["agentId"], spoken["data"]) == (agent.id, words)
        async with page_of(user) as page:
            assert [one["id"] for one in page.group_chats] == ["s-1", "s-2"]
            assert {one["agentId"] for one in page.group_chats} == {agent.id}


async def test_group_chats_of_an_agent_outlive_a_restart_of_the_server(tmp_path: Path) -> None:
    chats = [{"id": "s-1", "name": "Review"}, {"id": "s-2", "name": "Plan"}]
    async with running(tmp_path / "data") as first:
        user = await first.user()
        async with await new_agent(user, DEPLOYED) as agent, page_of(user) as page:
            for some in (chats[:1], chats):
                listed = {"type": "session_list_updated", "sessions": some}
                await agent.send({"type": "yeaft_output", "event": listed})
            await page.until(lambda: len(page.group_chats) == 2, "the list")
    async with running(tmp_path / "data") as second:
        user = TestUser(second, user.id, user.token)
        async with agent.again(url=second.url), page_of(user) as page:
            await page.until(lambda: page.group_chats, "the list, which nobody has said again")
            assert [one["id"] for one in page.group_chats] == ["s-1", "s-2"]
            assert {one["agentId"] for one in page.group_chats} == {agent.id}


async def test_what_a_page_asks_that_is_not_known_is_counted(
    control: LocalControl, user: TestUser, vm: ScriptedVm
) -> None:
    async with page_of(user) as page, PageHttp(user.control.url) as http:
        await page.send("perf_trace_events", events=[{"phase": "x"}], madeBy="the page")
        await page.send("refresh_conversation", conversationId="none", newField=1)
        await page.send("yeaft_new_thing", agentId=vm_of(page), requestId="n1")
        await page.expect("error", lambda one: one.get("requestId") == "n1")
        assert (await http.get("/api/admin/dashboard"))[0] == 404

        async def counted() -> set[tuple[str, str]]:
            return set(control.core.surprises.counts)

        wanted = {("yeaft", "message yeaft_new_thing"), ("http", "route GET /api/admin/dashboard")}
        await eventually(counted, lambda seen: wanted <= seen)
        wanted = {("yeaft", "field newField")}
        await eventually(counted, lambda seen: wanted <= seen)
        assert ("yeaft", "message perf_trace_events") not in await counted()
        fields = {kind for wire, kind in await counted() if wire == "yeaft" and "field" in kind}
        assert fields == {"field newField"}, "all else that a page says is known"


async def test_what_only_travels_through_to_an_agent_is_counted_too(
    control: LocalControl, user: TestUser
) -> None:
    async with await new_agent(user, DEPLOYED) as agent, page_of(user) as page:
        for kind in ("yeaft_thing", "yeaft_vp_subscribe"):
            await page.send(kind, agentId=agent.id, requestId="n1", colour="red")
            assert (await agent.expect(kind))["colour"] == "red"
        counts = control.core.surprises.counts
        assert counts["yeaft", "message yeaft_thing"] == 1
        assert ("yeaft", "message yeaft_vp_subscribe") not in counts
        assert counts["yeaft", "field colour"] == 1, "of a new message, all is new"
