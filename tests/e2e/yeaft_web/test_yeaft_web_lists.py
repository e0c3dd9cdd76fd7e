"""What a Yeaft web client may list: agents of every kind, conversations, history, folders."""

import asyncio

import pytest
from sqlalchemy import insert, select

from tests.support.control import Control, LocalControl, TestUser
from tests.support.orgs import admin_of_new_org
from tests.support.vm import ScriptedVm
from tests.support.yeaft_agent import new_agent
from tests.support.yeaft_page import page_of
from tests.support.yeaft_web import web_of
from trunkline import limits
from trunkline.control.ids import new_id
from trunkline.control.store.schema import sessions

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_agents_are_the_machines_of_every_kind(user: TestUser, vm: ScriptedVm) -> None:
    device = await user.ok("POST", f"/users/{user.id}/devices", {})
    agent = await user.ok("POST", f"/users/{user.id}/yeaft-agents", {"name": "laptop"})
    async with web_of(user) as web:
        agents = (await web.ask("list_agents", "agents_list", requestId=5))["agents"]
        kinds = {one["kind"]: one for one in agents}
        assert set(kinds) == {"vm", "agp", "yeaft"}
        assert (kinds["vm"]["online"], kinds["vm"]["state"]) == (True, "idle")
        assert kinds["agp"]["online"] is False
        assert (kinds["yeaft"]["id"], kinds["yeaft"]["name"]) == (agent["id"], "laptop")
        assert kinds["yeaft"]["state"] == "offline"
        assert web.of_type("agents_list")[-1]["requestId"] == 5
        assert device["guid"]


@pytest.mark.proves("002-4.2-agent-status", "002-11-heartbeat")
async def test_a_machine_that_comes_works_or_goes_is_told(user: TestUser) -> None:
    async with web_of(user) as web:
        vm = await user.vm()
        came = await web.expect("agent_status", lambda one: one["state"] == "idle")
        await web.expect("agents_list", lambda one: any(agent["online"] for agent in one["agents"]))
        session = await web.create()
        await vm.expect("start_session")
        await web.send("send_message", conversationId=session, text="work")
        await vm.expect("user_message")
        await vm.heartbeat(session)
        await web.expect("agent_status", lambda one: one["state"] == "busy")
        await vm.leave()
        went = await web.expect("agent_status", lambda one: one["state"] == "offline")
        assert went["agentId"] == came["agentId"]
        await web.expect(
            "agents_list",
            lambda one: bool(one["agents"]) and not any(agent["online"] for agent in one["agents"]),
            since=web.received.index(went),
        )


async def test_the_last_list_is_the_newest_one(control: LocalControl, user: TestUser) -> None:
    is_read, may_go_on = asyncio.Event(), asyncio.Event()

    async def hold_the_first() -> None:
        if not is_read.is_set():
            is_read.set()
            await may_go_on.wait()

    async with await new_agent(user) as gone, page_of(user) as page:
        # What a list reads behind the machines.
        with control.records.before("FROM sessions", hold_the_first):
            since = len(page.received)
            await gone.leave()
            await asyncio.wait_for(is_read.wait(), 60)
            async with await new_agent(user) as new:
                is_new = lambda one: one["agentId"] == new.id  # noqa: E731
                await page.expect("agent_status", is_new, since)
                for _ in range(5):  # a list that waits for nothing has long been sent then
                    await user.ok("GET", "/sessions")
                may_go_on.set()
                await page.until(lambda: len(page.of_type("agent_list", since)) >= 2, "two lists")
                assert [one["id"] for one in page.agents if one["online"]] == [new.id]


async def test_nobody_is_shown_somebody_elses_machines(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    stranger = await admin_of_new_org(control, "eve")
    async with web_of(stranger) as web:
        assert (await web.ask("list_agents", "agents_list"))["agents"] == []
        other = await user.vm()
        await other.leave()
        await web.ask("ping", "pong")
        assert web.of_type("agent_status") == []


@pytest.mark.proves("002-10-pinned-to-its-agent", "002-9-routed-by-pin")
async def test_a_conversation_runs_on_the_machine_that_it_was_created_on(user: TestUser) -> None:
    first, second = await user.vm(), await user.vm()
    async with first, second, web_of(user) as web:
        agents = (await web.ask("list_agents", "agents_list"))["agents"]
        for agent in agents:
            session = await web.create(agentId=agent["id"])
            await web.send("send_message", conversationId=session, text=agent["id"])
            pinned = web.of_type("conversation_pinned")[-1]
            assert (pinned["conversationId"], pinned["agentId"]) == (session, agent["id"])
        heard = []
        for vm in (first, second):
            heard.append((await vm.expect("user_message"))["data"]["message"])
            assert len(vm.of_type("user_message")) == 1
        assert sorted(heard) == sorted(agent["id"] for agent in agents)


async def test_conversations_are_listed_newest_first_and_by_agent(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        first = await web.create(workDir="/a", title="first")
        second = await web.create(workDir="/b")
        listed = (await web.ask("list_conversations", "conversation_list"))["conversations"]
        assert [one["conversationId"] for one in listed] == [second, first]
        assert (listed[1]["title"], listed[1]["workDir"]) == ("first", "/a")
        agent = listed[0]["agentId"]
        same = await web.ask("list_conversations", "conversation_list", agentId=agent)
        assert len(same["conversations"]) == 2
        missing = await web.ask("list_conversations", "error", agentId="nobody")
        assert missing["code"] == "MACHINE_NOT_FOUND"


async def _copied(control: LocalControl, session_id: str, count: int) -> None:
    """Records of so many sessions that are like this one."""
    async with control.records.write() as connection:
        query = select(sessions).where(sessions.c.id == session_id)
        row = dict((await connection.execute(query)).one()._mapping)
        copies = [{**row, "id": new_id()} for _ in range(count)]
        await connection.execute(insert(sessions), copies)


async def test_an_agents_old_conversations_are_found_behind_many_of_another(
    control: LocalControl, user: TestUser
) -> None:
    async with await user.vm(), await user.vm(), web_of(user) as web:
        agents = (await web.ask("list_agents", "agents_list"))["agents"]
        first, second = (one["id"] for one in agents)
        old = await web.create(agentId=first, workDir="/old")
        await _copied(control, await web.create(agentId=second, workDir="/new"), limits.PAGE_MAX)
        listed = await web.ask("list_conversations", "conversation_list", agentId=first)
        assert [one["id"] for one in listed["conversations"]] == [old]
        history = await web.ask("list_history_sessions", "history_sessions_list", agentId=first)
        assert [one["sessionId"] for one in history["sessions"]] == [old]
        folders = await web.ask("list_folders", "folders_list", agentId=first)
        assert [one["path"] for one in folders["folders"]] == ["/old"]


@pytest.mark.proves("002-4.1-list-history-sessions", "002-4.1-list-folders")
async def test_history_and_folders_of_other_machines_come_from_the_records(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create(provider="copilot", workDir="/a")
        await web.create(provider="copilot", workDir="/b")
        await web.create(provider="claude-code", workDir="/b")
        history = await web.ask(
            "list_history_sessions",
            "history_sessions_list",
            provider="copilot",
            workDir="/a",
            requestId="h",
        )
        assert [one["sessionId"] for one in history["sessions"]] == [session]
        assert history["requestId"] == "h"
        folders = (await web.ask("list_folders", "folders_list", provider="copilot"))["folders"]
        assert sorted((one["path"], one["sessionCount"]) for one in folders) == [
            ("/a", 1),
            ("/b", 1),
        ]
        every = (await web.ask("list_folders", "folders_list"))["folders"]
        assert {one["path"]: one["sessionCount"] for one in every} == {"/a": 1, "/b": 2}
