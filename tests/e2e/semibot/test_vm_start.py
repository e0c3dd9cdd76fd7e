"""Sessions on a VM start and stop: every field of `start_session`, the runtime, the reason."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.control import Control, TestUser
from tests.support.orgs import admin_of_new_org, import_skill
from tests.support.told import quiet, said, started
from tests.support.vm import ScriptedVm

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def vm(user: TestUser) -> AsyncIterator[ScriptedVm]:
    """One that is told what the document says, and nothing more."""
    async with await user.vm(dialect="documented") as live:
        yield live


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
@pytest.mark.proves(
    "000-5.2-runtime-type-default",
    "004-4.9-priority",
    "004-4.9-resolved-before-the-start",
)
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
