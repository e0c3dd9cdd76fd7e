"""What a VM is told: the commands of 000 §5, each with its fields, in order, over broken lines."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import Control, TestUser, running
from tests.support.orgs import admin_of_new_org, import_skill
from tests.support.vm import ScriptedVm
from trunkline import limits
from trunkline.control import server

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Control]:
    data = tmp_path_factory.mktemp("control") / "data"
    async with running(data, rate_limit_per_minute=0) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def user(control: Control) -> TestUser:
    return await admin_of_new_org(control)


@pytest_asyncio.fixture(loop_scope="module")
async def vm(user: TestUser) -> AsyncIterator[ScriptedVm]:
    async with await user.vm() as live:
        yield live


async def started(vm: ScriptedVm, session_id: str) -> Json:
    """The data of that session's `start_session`."""
    message = await vm.expect("start_session", lambda one: one["data"]["session_id"] == session_id)
    data: Json = message["data"]
    return data


async def said(vm: ScriptedVm, text: str) -> Json:
    return await vm.expect("user_message", lambda one: one["data"]["message"] == text)


async def quiet(user: TestUser, vm: ScriptedVm, session_id: str) -> None:
    """Everything that was on its way to the machine has arrived: a later command has."""
    mark = f"mark {len(vm.received)}"
    await user.ok("PATCH", f"/sessions/{session_id}/config", {"mark": mark})
    await vm.expect("config_update", lambda one: one["data"].get("mark") == mark)


# --- start_session --------------------------------------------------------------------------------

SKILL_MD = b"""---
name: Web search
description: Finds things
version: 1.2.0
requires:
  binaries: [python3]
  env_vars: [SEARCH_KEY]
---
Use scripts/main.py.
"""


@pytest.mark.proves(
    "000-5.2-start-session-fields",
    "000-5.2-agent-config",
    "000-5.2-skill-index",
    "000-5.2-mcp-servers",
    "000-5.2-sub-agents",
    "000-5.2-session-config",
    "000-5.2-openclaw-config",
)
async def test_start_session_carries_every_documented_field(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    await import_skill(
        user,
        {"SKILL.md": SKILL_MD, "scripts/main.py": b"print()", "references/api.md": b"# API"},
    )
    await import_skill(user, {"SKILL.md": b"---\nname: Other\ndescription: Not chosen\n---\n"})
    for server_input in (
        {"name": "github", "type": "remote", "url": "https://mcp.example/sse"},
        {"name": "filesystem", "type": "local", "command": "mcp-server-filesystem", "args": ["/"]},
        {"name": "unused", "type": "local", "command": "unused"},
    ):
        await user.ok("POST", "/mcp-servers", server_input)
    helper = await user.ok("POST", "/agents", {"name": "helper", "description": "Helps"})
    agent = await user.ok(
        "POST",
        "/agents",
        {
            "name": "main",
            "system_prompt": "You are kind.",
            "model": "claude-sonnet",
            "temperature": 0.7,
            "max_tokens": 4096,
            "tools": ["bash"],
            "confirm": "always",
            "runtime_type": "openclaw",
            "skills": ["web-search"],
            "mcp_servers": ["github", "filesystem"],
            "sub_agents": [helper["id"]],
            "session_config": {"max_turns": 7},
            "openclaw_config": {"tool_profile": "coding", "skills": ["pdf", "web-search"]},
        },
    )
    session_id = await user.session(agent_id=agent["id"], agent_config={"temperature": 0.2})
    data = await started(vm, session_id)
    config = data["agent_config"]
    assert {name: config[name] for name in ("system_prompt", "model", "max_tokens")} == {
        "system_prompt": "You are kind.",
        "model": "claude-sonnet",
        "max_tokens": 4096,
    }
    assert (config["temperature"], config["tools"], config["confirm"]) == (0.2, ["bash"], "always")
    assert data["runtime_type"] == "openclaw"
    assert data["openclaw_config"] == {"tool_profile": "coding", "skills": ["pdf", "web-search"]}
    assert data["session_config"] == {"max_turns": 7, "timeout_seconds": 3600}
    assert data["skill_index"] == [
        {
            "id": "web-search",
            "name": "Web search",
            "description": "Finds things",
            "version": "1.2.0",
            "source": "upload",
            "file_inventory": {
                "has_skill_md": True,
                "has_scripts": True,
                "has_references": True,
                "script_files": ["scripts/main.py"],
                "reference_files": ["references/api.md"],
            },
            "requires": {"binaries": ["python3"], "env_vars": ["SEARCH_KEY"]},
        }
    ]
    assert sorted(data["mcp_servers"], key=lambda one: str(one["name"])) == [
        {
            "name": "filesystem",
            "type": "local",
            "command": "mcp-server-filesystem",
            "args": ["/"],
        },
        {"name": "github", "type": "remote"},
    ]
    assert data["sub_agents"] == [{"id": helper["id"], "name": "helper", "description": "Helps"}]


@pytest.mark.proves(
    "000-5.2-sent-for-a-new-session",
    "000-5.2-session-config",
    "000-5.2-runtime-type-default",
    "000-5.2-openclaw-config-optional",
    "000-9-api-keys-shared",
)
async def test_start_session_of_a_bare_session_has_the_defaults_and_no_openclaw_config(
    user: TestUser, vm: ScriptedVm
) -> None:
    session_id = await user.session()
    data = await started(vm, session_id)
    assert data == {
        "session_id": session_id,
        "runtime_type": "semigraph",
        "agent_config": {},
        "skill_index": [],
        "mcp_servers": [],
        "sub_agents": [],
        "session_config": {"max_turns": 50, "timeout_seconds": 3600},
    }


async def test_a_large_start_session_and_the_message_behind_it_arrive_whole(
    user: TestUser,
) -> None:
    scheduled = await user.schedule()
    prompt = "长" * 100_000
    session_id = await user.session(
        machine_id=scheduled["vm_id"], agent_config={"system_prompt": prompt}
    )
    await user.say(session_id, "hello")
    vm = ScriptedVm(scheduled["ws_url"], user.id, scheduled["token"], scheduled["ticket"])
    async with vm:
        assert (await started(vm, session_id))["agent_config"]["system_prompt"] == prompt
        await said(vm, "hello")


@pytest.mark.parametrize(
    ("session", "agent", "person", "org", "expected"),
    [
        ("claude-code", "openclaw", "acp", "openclaw", "claude-code"),
        (None, "openclaw", "acp", "claude-code", "openclaw"),
        (None, None, "acp", "claude-code", "acp"),
        (None, None, None, "openclaw", "openclaw"),
        (None, None, None, None, "semigraph"),
        ("semigraph", "openclaw", None, None, "semigraph"),
    ],
)
@pytest.mark.proves("000-5.2-runtime-type-default")
async def test_the_runtime_is_the_sessions_else_the_agents_the_users_the_orgs_or_semigraph(
    control: Control,
    session: str | None,
    agent: str | None,
    person: str | None,
    org: str | None,
    expected: str,
) -> None:
    owner = await admin_of_new_org(control, default_runtime_type=org)
    user = await control.user(
        org_id=(await owner.ok("GET", f"/users/{owner.id}"))["org_id"],
        default_runtime_type=person,
    )
    made = await user.ok("POST", "/agents", {"name": "a", "runtime_type": agent})
    async with await user.vm() as vm:
        session_id = await user.session(agent_id=made["id"], runtime_type=session)
        assert (await started(vm, session_id))["runtime_type"] == expected


async def test_sessions_of_different_runtimes_share_one_vm(user: TestUser, vm: ScriptedVm) -> None:
    runtimes = ["semigraph", "openclaw", "claude-code", "acp"]
    sessions = [await user.session(runtime_type=name) for name in runtimes]
    assert [(await started(vm, one))["runtime_type"] for one in sessions] == runtimes
    for session_id, name in zip(sessions, runtimes, strict=True):
        await vm.text(session_id, name)
        async with user.reader(session_id) as reader:
            await reader.until_text(name)


# --- stop_session ---------------------------------------------------------------------------------


@pytest.mark.proves("000-5.3-reasons")
async def test_a_closed_session_is_stopped_with_the_reason_and_takes_nothing_more(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    mine, other, rest = await user.session(), await user.session(), await user.session()
    await user.ok("DELETE", f"/sessions/{mine}")
    await user.ok("DELETE", f"/sessions/{mine}")
    await control.ok("DELETE", f"/sessions/{other}")
    for session_id, reason in ((mine, "user_closed"), (other, "admin")):
        wanted = {"session_id": session_id, "reason": reason}
        await vm.expect("stop_session", lambda one, data=wanted: one["data"] == data)  # type: ignore[misc]
    await quiet(user, vm, rest)
    assert len(vm.of_type("stop_session")) == 2
    status, body = await user.call("POST", f"/sessions/{mine}/messages", {"message": "hi"})
    assert (status, body["error"]["code"]) == (409, "SESSION_CLOSED")
    # Its last words still count, until the machine no longer lists it.
    await vm.text(mine, "last words")
    await vm.heartbeat(rest)
    await vm.text(mine, "late")
    error = await vm.expect("error")
    assert (error["error"]["code"], error["session_id"]) == ("SESSION_NOT_FOUND", mine)
    async with user.reader(mine) as reader:  # its log stays readable
        await reader.until_text("last words")
        assert reader.texts() == ["last words"]


async def test_closing_a_session_ends_its_turn_once(user: TestUser, vm: ScriptedVm) -> None:
    session_id = await user.session()
    await user.say(session_id, "work")
    await said(vm, "work")
    async with user.reader(session_id) as reader:
        await user.ok("DELETE", f"/sessions/{session_id}")
        error = await reader.until_type("execution_error")
        assert error["code"] == "SESSION_CLOSED"


# --- user_message ---------------------------------------------------------------------------------


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
        async with asyncio.timeout(10):
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


async def test_the_same_client_message_twice_has_one_effect(user: TestUser, vm: ScriptedVm) -> None:
    session_id = await user.session()
    turns = await asyncio.gather(
        *(user.say(session_id, "once", client_message_id="c-1") for _ in range(10))
    )
    assert len(set(turns)) == 1
    await said(vm, "once")
    await quiet(user, vm, session_id)
    assert len(vm.of_type("user_message")) == 1


async def test_only_a_machine_that_named_capabilities_is_told_the_turns_id(
    user: TestUser,
) -> None:
    async with await user.vm("batch") as vm:
        session_id = await user.session()
        turn_id = await user.say(session_id, "hi")
        assert (await said(vm, "hi"))["data"]["turn_id"] == turn_id


# --- cancel ---------------------------------------------------------------------------------------


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


async def test_a_message_that_was_held_and_cancelled_is_never_delivered(user: TestUser) -> None:
    vm = await user.vm()
    session_id = await user.session()
    await started(vm, session_id)
    async with user.reader(session_id) as reader:
        await vm.drop()
        await reader.until_type("session_status")
        turn_id = await user.say(session_id, "never mind")
        await user.ok("POST", f"/sessions/{session_id}/cancel")
        end = await reader.until_type("execution_complete")
        assert (end["turn_id"], end["cancelled"]) == (turn_id, True)
        await user.say(session_id, "this one")
        async with user.again(vm) as back:
            await said(back, "this one")
            assert len(back.of_type("user_message")) == 1
            assert back.of_type("cancel") == []


# --- config_update --------------------------------------------------------------------------------


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


# --- Approvals ------------------------------------------------------------------------------------


async def ask(user: TestUser, vm: ScriptedVm, session_id: str, request_id: str) -> Json:
    """A question of the session's, as it is listed for people."""
    await vm.event(
        session_id,
        type="approval_request",
        request_id=request_id,
        tool_name="bash",
        tool_args={"command": "rm -rf build"},
    )
    async with asyncio.timeout(10):
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


async def test_of_many_answers_at_once_one_wins(user: TestUser, vm: ScriptedVm) -> None:
    session_id = await user.session()
    approval = await ask(user, vm, session_id, "q-race")
    answers = await asyncio.gather(
        *(
            user.call("POST", f"/approvals/{approval['id']}", {"confirmed": number % 2 == 0})
            for number in range(10)
        )
    )
    won = [body for status, body in answers if status == 200]
    assert len(won) == 1
    assert sorted(status for status, _ in answers)[1:] == [409] * 9
    told = await vm.expect("approval_response")
    assert told["data"]["confirmed"] is (won[0]["state"] == "confirmed")
    await quiet(user, vm, session_id)
    assert len(vm.of_type("approval_response")) == 1


async def test_an_answer_given_while_the_machine_is_away_waits_for_it(user: TestUser) -> None:
    vm = await user.vm()
    session_id = await user.session()
    approval = await ask(user, vm, session_id, "q-away")
    await vm.drop()
    await user.ok("POST", f"/approvals/{approval['id']}", {"confirmed": False})
    async with user.again(vm) as back:
        told = await back.expect("approval_response")
        assert told["data"]["confirmed"] is False


async def test_a_question_that_the_machine_settles_itself_waits_for_nobody(
    user: TestUser, vm: ScriptedVm
) -> None:
    session_id = await user.session()
    await ask(user, vm, session_id, "q-timeout")
    await vm.event(session_id, type="approval_resolved", request_id="q-timeout", confirmed=False)
    async with asyncio.timeout(10):
        while (await user.ok("GET", "/approvals"))["items"]:
            pass


# --- Machines that are away -----------------------------------------------------------------------


async def test_messages_for_a_machine_that_is_briefly_away_arrive_in_order_when_it_returns(
    user: TestUser,
) -> None:
    vm = await user.vm()
    one, other = await user.session(), await user.session()
    await started(vm, other)
    async with user.reader(one) as reader:
        await vm.drop()
        await reader.until_type("session_status")
    for number in range(10):
        await user.say(one if number % 2 else other, f"m{number}")
    late = await user.session(machine_id=(await user.ok("GET", "/machines"))["items"][0]["id"])
    await user.ok("PATCH", f"/sessions/{one}/config", {"temperature": 0})
    await user.say(late, "last")
    async with user.again(vm) as back:
        await said(back, "last")
        order = [
            message["data"].get("message", message["type"])
            for message in back.received
            if message["type"] != "init"
        ]
        messages = [f"m{number}" for number in range(10)]
        assert order == [*messages, "start_session", "config_update", "last"]


async def test_a_vm_that_is_scheduled_and_not_yet_there_gets_what_was_said_before_it_came(
    user: TestUser,
) -> None:
    scheduled = await user.schedule()
    session_id = await user.session()
    await user.say(session_id, "are you there?")
    vm = ScriptedVm(scheduled["ws_url"], user.id, scheduled["token"], scheduled["ticket"])
    async with vm:
        await said(vm, "are you there?")
        assert [one["type"] for one in vm.received] == ["init", "start_session", "user_message"]


async def test_held_messages_have_a_bound(user: TestUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HELD_MESSAGES_MAX", 3)
    vm = await user.vm()
    session_id = await user.session()
    await started(vm, session_id)
    async with user.reader(session_id) as reader:
        await vm.drop()
        await reader.until_type("session_status")
    for number in range(3):
        await user.say(session_id, f"m{number}")
    status, body = await user.call("POST", f"/sessions/{session_id}/messages", {"message": "m3"})
    assert (status, body["error"]["code"]) == (429, "MACHINE_BUSY")
    async with user.again(vm) as back:
        await said(back, "m2")
        await user.say(session_id, "m4")
        await said(back, "m4")
        texts = [one["data"]["message"] for one in back.of_type("user_message")]
        assert texts == ["m0", "m1", "m2", "m4"]


async def test_a_machine_that_is_gone_refuses_messages_and_its_open_turns_fail(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", machine_away_s=0) as control:
        user = await control.user()
        vm = await user.vm()
        session_id = await user.session()
        turn_id = await user.say(session_id, "work")
        await said(vm, "work")
        async with user.reader(session_id) as reader:
            await vm.drop()
            error = await reader.until_type("execution_error")
            assert (error["turn_id"], error["code"]) == (turn_id, "MACHINE_OFFLINE")
        status, body = await user.call("POST", f"/sessions/{session_id}/messages", {"message": "?"})
        assert (status, body["error"]["code"]) == (503, "MACHINE_OFFLINE")
        status, body = await user.call("POST", "/sessions", {})
        assert (status, body["error"]["code"]) == (503, "NO_MACHINE")
        async with user.again(vm) as back:
            await user.say(session_id, "welcome back")
            await said(back, "welcome back")


async def test_a_session_that_does_not_start_in_time_is_an_error_to_its_readers(
    user: TestUser, vm: ScriptedVm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_SWEEP_EVERY_S", 0.02)
    monkeypatch.setattr(limits, "SESSION_START_TIMEOUT_S", 0.3)
    healthy, session_id = await user.session(), await user.session()
    await started(vm, session_id)
    async with user.reader(session_id) as reader:
        turn_id = await user.say(session_id, "hello?")
        await said(vm, "hello?")
        await vm.heartbeat(healthy)  # it lists its sessions, and this one is not among them
        error = await reader.until_type("execution_error")
        assert (error["turn_id"], error["code"]) == (turn_id, "SESSION_START_TIMEOUT")
        await vm.text(healthy, "fine")
        async with user.reader(healthy) as other:
            await other.until_text("fine")
            assert [one.json["type"] for one in other.events] == ["text_chunk"]
        # The next message tries again.
        await user.say(session_id, "once more")
        await said(vm, "once more")
        starts = [
            one for one in vm.of_type("start_session") if one["data"]["session_id"] == session_id
        ]
        assert len(starts) == 2


# --- Sessions that are not this machine's ---------------------------------------------------------


@pytest.mark.proves("000-8-unknown-session-is-an-error-message", "000-3-session-id-required")
async def test_what_is_sent_for_another_session_is_refused_and_written_nowhere(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    mine = await user.session()
    stranger = await control.user("eve")
    async with await stranger.vm() as their_vm, await user.vm() as second:
        theirs = await stranger.session()
        await started(their_vm, theirs)
        neighbours = await user.session()  # the same user's, on the newer machine
        await started(second, neighbours)
        for wrong in (theirs, neighbours, "no-such-session", "", "../../etc/passwd", "x" * 5000):
            vm.received.clear()
            await vm.text(wrong, "forged")
            error = await vm.expect("error")
            assert error["error"]["code"] == "SESSION_NOT_FOUND"
            assert error["session_id"] == wrong[:200]
            vm.received.clear()
            await vm.event(wrong, type="execution_complete", content="forged")
            assert (await vm.expect("error"))["error"]["code"] == "SESSION_NOT_FOUND"
            vm.received.clear()
            report = {"model": "m", "tokens_in": 1, "tokens_out": 1}
            await vm.send(
                {
                    "type": "fire_and_forget",
                    "session_id": wrong,
                    "method": "usage_report",
                    "params": report,
                }
            )
            assert (await vm.expect("error"))["error"]["code"] == "SESSION_NOT_FOUND"
            answer = await vm.request(wrong, "get_session", session_id=mine)
            assert answer["result"] is None
            assert answer["error"]["code"] == "SESSION_NOT_FOUND"
        await their_vm.text(theirs, "real")
        await second.text(neighbours, "real")
        await vm.text(mine, "real")
        for owner, session_id in ((stranger, theirs), (user, neighbours), (user, mine)):
            async with owner.reader(session_id) as reader:
                await reader.until_text("real")
                assert [one.data for one in reader.events] == [
                    json.dumps({"type": "text_chunk", "content": "real"})
                ]
        assert (await stranger.ok("GET", "/usage"))["items"] == []


async def test_a_foreign_session_in_a_batch_stops_nothing_else_of_it(
    control: Control, user: TestUser
) -> None:
    async with await user.vm("batch") as vm:
        session_id = await user.session()
        data = '{"type":"text_chunk","content":"mine"}'
        await vm.send(
            {
                "type": "batch",
                "events": [
                    {"session_id": "no-such-session", "data": "{}"},
                    {"session_id": session_id, "data": data},
                ],
            }
        )
        assert (await vm.expect("error"))["session_id"] == "no-such-session"
        async with user.reader(session_id) as reader:
            await reader.until_text("mine")
