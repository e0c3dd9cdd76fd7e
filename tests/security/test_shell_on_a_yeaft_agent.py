"""Found open: the workbench of a Yeaft page (terminal, files, git, ports) is passed on to agents
unread. An org's admin had a shell on a member's host that way, and nobody was told; a token that
may only talk had one on its own user's.

What is passed on unread is for the agent's own user, and the workbench for who may do everything.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.control import LocalControl, TestUser, running
from tests.support.orgs import admin_of_new_org
from tests.support.yeaft_agent import ScriptedAgent, new_agent
from tests.support.yeaft_web import ScriptedWeb

WORKBENCH: list[dict[str, Any]] = [
    {"type": "terminal_create", "terminalId": "t"},
    {"type": "terminal_input", "terminalId": "t", "data": "id\n"},
    {"type": "terminal_of_tomorrow"},
    {"type": "write_file", "filePath": "/x", "content": "x"},
    {"type": "create_file", "filePath": "/x"},
    {"type": "delete_files", "paths": ["/x"]},
    {"type": "move_files", "paths": ["/x"]},
    {"type": "copy_files", "paths": ["/x"]},
    {"type": "upload_to_dir", "dirPath": "/x"},
    {"type": "read_file", "filePath": "/x"},
    {"type": "list_directory", "dirPath": "/"},
    {"type": "file_search", "query": "x"},
    {"type": "resolve_file_references", "paths": ["/x"]},
    {"type": "git_push"},
    {"type": "proxy_request", "port": 22},
]


def web_of(user: TestUser, token: str | None = None) -> ScriptedWeb:
    address = user.control.url.replace("http", "ws", 1)
    return ScriptedWeb(f"{address}/ws/yeaft?type=web&token={token or user.token}")


async def refusals(web: ScriptedWeb, asked: list[dict[str, Any]], **route: str) -> set[str]:
    codes = set()
    for number, message in enumerate(asked):
        name = f"r{number}-{len(web.received)}"
        fields = {key: value for key, value in message.items() if key != "type"}
        await web.send(message["type"], requestId=name, **fields, **route)
        error = await web.expect("error", partial(_answers, name))
        codes.add(str(error["code"]))
    return codes


def _answers(request_id: str, error: dict[str, Any]) -> bool:
    return error.get("requestId") == request_id


async def passed_on(agent: ScriptedAgent, web: ScriptedWeb, **route: str) -> list[str]:
    """What has come to the agent of all that was sent before."""
    await web.send("custom_question", **route)
    await agent.expect("custom_question")
    names = {one["type"] for one in (*WORKBENCH, {"type": "crew_human_input"})}
    return [one["type"] for one in agent.received if one["type"] in names]


async def admin_and_member(control: LocalControl) -> tuple[TestUser, TestUser]:
    admin = await admin_of_new_org(control, "olga")
    org = (await admin.ok("GET", "/me"))["org"]["id"]
    return admin, await control.user("ann", org_id=org)


async def test_no_admin_gets_a_shell_on_a_members_agent(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        admin, member = await admin_and_member(control)
        async with await new_agent(member) as agent, web_of(admin) as web, web_of(member) as own:
            unread = [*WORKBENCH, {"type": "crew_human_input"}, {"type": "update_settings"}]
            assert await refusals(web, unread, agentId=agent.id) == {"FORBIDDEN"}
            chat = [{"type": "yeaft_session_send", "sessionId": "s-1", "text": "run it"}]
            assert await refusals(web, chat, agentId=agent.id) == {"FORBIDDEN"}
            session = await own.create(agentId=agent.id)
            assert await refusals(web, WORKBENCH[:2], conversationId=session) == {"FORBIDDEN"}
            assert await passed_on(agent, own, agentId=agent.id) == []
            # What it has is shown: that is how an admin looks after it.
            await web.send("list_folders", agentId=agent.id)
            await agent.expect("list_folders")


@pytest.mark.parametrize("scopes", [["read", "talk"], ["read", "talk", "approve"]])
async def test_who_may_only_talk_gets_no_shell_on_an_agent_of_their_own(
    tmp_path: Path, scopes: list[str]
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        issued = await user.ok("POST", f"/users/{user.id}/token", {"scopes": scopes})
        async with await new_agent(user) as agent, web_of(user, issued["token"]) as web:
            assert await refusals(web, WORKBENCH, agentId=agent.id) == {"SCOPE_MISSING"}
            assert await passed_on(agent, web, agentId=agent.id) == []
            async with web_of(user) as own:
                for message in WORKBENCH:
                    await own.send_text(json.dumps({**message, "agentId": agent.id}))
                    await agent.expect(message["type"])


async def test_who_may_only_read_has_nothing_passed_on_to_an_agent_of_their_own(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        issued = await user.ok("POST", f"/users/{user.id}/token", {"scopes": ["read"]})
        async with (
            await new_agent(user) as agent,
            web_of(user, issued["token"]) as web,
            web_of(user) as own,
        ):
            said = [{"type": "crew_human_input"}, {"type": "update_settings"}]
            assert await refusals(web, said, agentId=agent.id) == {"SCOPE_MISSING"}
            assert await passed_on(agent, own, agentId=agent.id) == []
