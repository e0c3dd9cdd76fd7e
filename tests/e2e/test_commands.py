"""What clients make the control plane send down: start, stop, say, cancel, configure (§5)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.control import ADMIN, Control, TestUser, running
from tests.support.eventually import eventually
from tests.support.vm import ScriptedVm
from tests.unit.control.services.test_skill_files import zipped

SKILL = b"""---
name: csv-report
description: Makes a report of a CSV file
version: 1.2.0
metadata: {"openclaw": {"requires": {"bins": ["python3"], "env": ["REPORT_KEY"]}}}
---
Run scripts/main.py.
"""


@pytest.fixture
async def control(tmp_path: Path) -> AsyncIterator[Control]:
    async with running(tmp_path / "data", mcp_allowed_hosts="127.0.0.1") as started:
        yield started


@pytest.fixture
async def user(control: Control) -> TestUser:
    return await control.user(role="org_admin")


@pytest.fixture
async def vm(user: TestUser) -> AsyncIterator[ScriptedVm]:
    async with await user.vm() as connected:
        yield connected


async def _upload(control: Control, token: str, data: bytes) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/zip"}
    async with aiohttp.ClientSession() as http:
        url = control.url + "/api/v1/skills"
        async with http.post(url, data=data, headers=headers) as answer:
            assert answer.status == 201, await answer.text()
            return dict(await answer.json())


async def _started(vm: ScriptedVm, session: str) -> dict[str, Any]:
    message = await vm.expect("start_session", lambda one: one["data"]["session_id"] == session)
    return dict(message["data"])


# --- start_session --------------------------------------------------------------------------------


@pytest.mark.proves(
    "000-5.2-sent-for-a-new-session",
    "000-5.2-session-config",
    "000-5.2-runtime-type-default",
    "000-5.2-openclaw-config-optional",
    "000-9-api-keys-shared",
)
async def test_a_new_session_is_started_with_the_defaults_and_without_keys(
    user: TestUser, vm: ScriptedVm
) -> None:
    await user.ok("PUT", f"/users/{user.id}/credentials/openai", {"api_key": "sk-1"})
    session = await user.session()
    assert await _started(vm, session) == {
        "session_id": session,
        "runtime_type": "semigraph",
        "agent_config": {},
        "skill_index": [],
        "mcp_servers": [],
        "sub_agents": [],
        "session_config": {"max_turns": 50, "timeout_seconds": 3600},
    }


@pytest.mark.proves(
    "000-5.2-start-session-fields",
    "000-5.2-agent-config",
    "000-5.2-skill-index",
    "000-5.2-mcp-servers",
    "000-5.2-sub-agents",
    "000-5.2-session-config",
    "000-5.2-openclaw-config",
)
async def test_a_session_of_an_agent_is_started_with_all_that_the_agent_has(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    files = ("SKILL.md", SKILL), ("scripts/main.py", b"print(1)")
    skill = await _upload(control, user.token, zipped(*files))
    secret = {"Authorization": "Bearer mcp-secret"}
    remote = {"name": "github", "type": "remote", "url": "http://127.0.0.1:9/mcp"}
    await user.ok("POST", "/mcp-servers", {**remote, "headers": secret})
    local = {"name": "files", "type": "local", "command": "mcp-server-filesystem", "args": ["/"]}
    await user.ok("POST", "/mcp-servers", local)
    helper = await user.ok("POST", "/agents", {"name": "helper", "description": "Looks things up"})
    config = {"system_prompt": "Be brief.", "model": "m-1", "temperature": 0.7, "max_tokens": 4096}
    openclaw = {"tool_profile": "coding", "skills": ["pdf", "web-search"]}
    agent = await user.ok(
        "POST",
        "/agents",
        {
            "name": "main",
            **config,
            "runtime_type": "openclaw",
            "sub_agents": [helper["id"]],
            "session_config": {"max_turns": 7},
            "openclaw_config": openclaw,
        },
    )
    session = await user.session(agent_id=agent["id"])
    data = await _started(vm, session)
    assert data["runtime_type"] == "openclaw"
    assert data["openclaw_config"] == openclaw
    assert data["agent_config"].items() >= config.items()
    assert data["session_config"] == {"max_turns": 7, "timeout_seconds": 3600}
    assert data["sub_agents"] == [
        {"id": helper["id"], "name": "helper", "description": "Looks things up"}
    ]
    by_name = {server["name"]: server for server in data["mcp_servers"]}
    assert by_name["github"] == {"name": "github", "type": "remote"}
    assert by_name["files"] == local
    (entry,) = data["skill_index"]
    assert entry == {
        "id": skill["skill_id"],
        "name": "csv-report",
        "description": "Makes a report of a CSV file",
        "version": "1.2.0",
        "source": "upload",
        "file_inventory": {
            "has_skill_md": True,
            "has_scripts": True,
            "has_references": False,
            "script_files": ["scripts/main.py"],
            "reference_files": [],
        },
        "requires": {"binaries": ["python3"], "env_vars": ["REPORT_KEY"]},
    }


@pytest.mark.proves("000-5.2-runtime-type-default")
async def test_the_runtime_is_the_sessions_or_the_agents_or_the_users_or_the_orgs(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    org_id = (await user.ok("GET", f"/users/{user.id}"))["org_id"]

    async def runtime(**fields: Any) -> str:
        return str((await _started(vm, await user.session(**fields)))["runtime_type"])

    assert await runtime() == "semigraph"
    await control.ok("PATCH", f"/orgs/{org_id}", {"default_runtime_type": "acp"})
    assert await runtime() == "acp"
    await control.ok("PATCH", f"/users/{user.id}", {"default_runtime_type": "claude-code"})
    assert await runtime() == "claude-code"
    agent = await user.ok("POST", "/agents", {"name": "a", "runtime_type": "openclaw"})
    assert await runtime(agent_id=agent["id"]) == "openclaw"
    assert await runtime(agent_id=agent["id"], runtime_type="semigraph") == "semigraph"


# --- stop_session ---------------------------------------------------------------------------------


@pytest.mark.proves("000-5.3-reasons", "000-5.3-stop-session-fields")
async def test_a_stop_says_whether_the_user_or_an_administrator_closed_the_session(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    by_user, by_admin = await user.session(), await user.session()
    await user.ok("DELETE", f"/sessions/{by_user}")
    await control.ok("DELETE", f"/sessions/{by_admin}", token=ADMIN)
    await vm.expect("stop_session", lambda one: one["data"]["session_id"] == by_admin)
    assert [message["data"] for message in vm.of_type("stop_session")] == [
        {"session_id": by_user, "reason": "user_closed"},
        {"session_id": by_admin, "reason": "admin"},
    ]


# --- user_message ---------------------------------------------------------------------------------


@pytest.mark.proves(
    "000-5.5-message-to-its-session",
    "000-5.5-history",
    "000-5.5-metadata",
    "000-5.5-user-message-fields",
)
async def test_a_message_carries_what_was_said_before_and_the_clients_metadata(
    user: TestUser, vm: ScriptedVm
) -> None:
    session, other = await user.session(), await user.session()
    await user.say(other, "elsewhere")
    await user.say(session, "What is 1 + 1?", metadata={"lang": "en", "deep": {"a": [1]}})
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    await vm.event(session, type="execution_complete", content="2")

    async def answered() -> Any:
        return (await user.ok("GET", f"/sessions/{session}/snapshot"))["messages"]

    await eventually(answered, lambda messages: len(messages) == 2)
    await user.say(session, "And 2 + 2?")
    await vm.expect("user_message", lambda one: one["data"]["message"] == "And 2 + 2?")
    first, second = (one for one in vm.of_type("user_message") if one["session_id"] == session)
    assert first == {
        "type": "user_message",
        "session_id": session,
        "data": {
            "message": "What is 1 + 1?",
            "history": [],
            "metadata": {"lang": "en", "deep": {"a": [1]}},
        },
    }
    assert second["data"] == {
        "message": "And 2 + 2?",
        "history": [
            {"role": "user", "content": "What is 1 + 1?"},
            {"role": "assistant", "content": "2"},
        ],
        "metadata": {},
    }


# --- cancel ---------------------------------------------------------------------------------------


async def _turn_states(user: TestUser, session: str) -> list[str]:
    snapshot = await user.ok("GET", f"/sessions/{session}/snapshot")
    return [turn["state"] for turn in snapshot["turns"]]


@pytest.mark.proves(
    "000-5.6-user-stops",
    "000-5.6-one-session-only",
    "000-5.6-ends-with-execution-complete",
    "000-5.6-no-cancelled-event",
)
async def test_a_cancel_reaches_its_session_and_ends_with_execution_complete(
    user: TestUser, vm: ScriptedVm
) -> None:
    session, other = await user.session(), await user.session()
    await user.say(session, "count to a million")
    await user.say(other, "hello")
    await vm.expect("user_message", lambda one: one["session_id"] == other)
    async with user.reader(session) as reader, user.reader(other) as bystander:
        await user.ok("POST", f"/sessions/{session}/cancel", {"reason": "user_cancelled"})
        await vm.expect("cancel")
        assert vm.of_type("cancel") == [
            {"type": "cancel", "session_id": session, "reason": "user_cancelled"}
        ]
        await vm.event(session, type="execution_complete", cancelled=True)
        ended = await reader.until_type("execution_complete")
        assert ended["cancelled"] is True
        await vm.text(other, "going on")
        await bystander.until_text("going on")
        kinds = [event.json["type"] for event in reader.events]
        assert kinds == ["user_message", "execution_complete"]
        assert "execution_complete" not in [event.json["type"] for event in bystander.events]
    await eventually(lambda: _turn_states(user, session), lambda states: states == ["cancelled"])
    assert await _turn_states(user, other) == ["sent"]


@pytest.mark.proves("000-5.6-idempotent")
async def test_cancelling_again_or_with_nothing_running_changes_nothing(
    user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    for _ in range(2):
        assert (await user.call("POST", f"/sessions/{session}/cancel"))[0] == 202
    await user.say(session, "hello")
    await vm.expect("user_message")
    await vm.event(session, type="execution_complete", content="done")
    await eventually(lambda: _turn_states(user, session), lambda states: states == ["completed"])
    for _ in range(3):
        assert (await user.call("POST", f"/sessions/{session}/cancel"))[0] == 202
    assert await _turn_states(user, session) == ["completed"]
    async with user.reader(session) as reader:
        await reader.until_type("execution_complete")
        assert len(reader.ids) == 2  # the message and its one end
    assert await _turn_states(user, session) == ["completed"]


@pytest.mark.proves("000-5.6-reason-audited", "000-5.6-reason-optional")
async def test_the_reason_of_a_cancel_is_optional_and_audited(
    user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    await user.ok("POST", f"/sessions/{session}/cancel")
    for reason in ("timeout", "admin"):
        await user.ok("POST", f"/sessions/{session}/cancel", {"reason": reason})
    await vm.expect("cancel", lambda one: one["reason"] == "admin")
    expected = ["user_cancelled", "timeout", "admin"]
    assert [message["reason"] for message in vm.of_type("cancel")] == expected
    entries = (await user.ok("GET", "/audit"))["items"]
    audited = [
        entry["details"]["reason"]
        for entry in reversed(entries)
        if entry["event"] == "session.cancel" and entry["session_id"] == session
    ]
    assert audited == expected


# --- config_update --------------------------------------------------------------------------------


@pytest.mark.proves("000-5.7-while-it-runs", "000-5.7-config-update-fields")
async def test_parameters_change_while_the_session_runs(user: TestUser, vm: ScriptedVm) -> None:
    session = await user.session(agent_config={"temperature": 0.9, "model": "m-1"})
    await user.say(session, "hello")
    await vm.expect("user_message")
    assert (await user.call("PATCH", f"/sessions/{session}/config", {"temperature": 0.5}))[0] == 202
    await vm.expect("config_update")
    assert vm.of_type("config_update") == [
        {"type": "config_update", "session_id": session, "data": {"temperature": 0.5}}
    ]
    assert vm.close_code is None
    answer = await vm.request(session, "get_session")
    assert answer["result"]["agent"].items() >= {"temperature": 0.5, "model": "m-1"}.items()
    assert [message["type"] for message in vm.received].count("init") == 1
