"""Found open: tokens, login links, logins, credentials, roles, MCP commands, approvals, machines
and settings of an org left no entry in the audit log: who had an admin's token left no trace."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser, running
from tests.support.eventually import eventually
from tests.support.yeaft_page import PageHttp
from trunkline.control.access.trail import shown
from trunkline.control.api.http import ROUTES
from trunkline.control.tuning import Tuning

SECRET = "a-secret-that-nobody-may-read-0123456789"

UNAUDITED = {
    # In the session's own log, and in the audit log by whoever serves them, on every wire.
    ("POST", "/api/v1/sessions"),
    ("PATCH", "/api/v1/sessions/{session_id}"),
    ("DELETE", "/api/v1/sessions/{session_id}"),
    ("POST", "/api/v1/sessions/{session_id}/messages"),
    ("POST", "/api/v1/sessions/{session_id}/cancel"),
    ("PATCH", "/api/v1/sessions/{session_id}/config"),
    ("POST", "/api/v1/approvals/{approval_id}"),
    # Logins, refused ones too, are told by whoever lets people in.
    ("POST", "/api/auth/login"),
    ("POST", "/api/v1/join"),
    ("POST", "/api/v1/join/renew"),
    ("POST", "/api/auth/logout"),
    # Gives nobody any rights: files of a message, a server's proof.
    ("POST", "/api/upload"),
    ("POST", "/api/v1/uploads"),
    ("POST", "/proof"),
    # Is an entry itself, the first of a new chain.
    ("POST", "/api/v1/audit/restart"),
    # What an open stream of one's own shows.
    ("POST", "/api/v1/streams/{stream_id}/follow"),
    ("POST", "/api/v1/streams/{stream_id}/leave"),
}


def test_no_route_changes_something_unseen() -> None:
    silent = {(one.method, one.path) for one in ROUTES if one.method != "GET" and not one.audit}
    assert silent == UNAUDITED


def test_every_entry_is_explained_to_whoever_reads_the_log() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/audit.md").read_text(encoding="utf-8")
    names = {one.audit for one in ROUTES if one.audit}
    assert {name for name in names if f"`{name}`" not in page} == set()


async def entries(control: LocalControl) -> list[dict[str, Any]]:
    """Oldest first."""
    page = await control.ok("GET", "/audit?limit=200")
    return list(reversed(page["items"]))


async def test_each_thing_that_an_administrator_does_is_an_entry_without_a_secret(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        org = await control.ok("POST", "/orgs", {"name": "Acme"})
        await control.ok("PATCH", f"/orgs/{org['id']}", {"default_runtime_type": "acp"})
        user = await control.ok("POST", "/users", {"name": "ann", "org_id": org["id"]})
        users = f"/users/{user['id']}"
        await control.ok("PATCH", users, {"role": "org_admin"})
        token = await control.ok("POST", f"{users}/token", {"label": "phone", "scopes": ["read"]})
        await control.ok("DELETE", f"/tokens/{token['id']}")
        link = await control.ok("POST", f"{users}/login-link")
        await control.ok("PUT", f"{users}/credentials/openai", {"api_key": SECRET})
        await control.ok("PATCH", f"{users}/credentials/openai", {"default_model": "gpt-5"})
        tried = {"api_key": SECRET, "base_url": "http://127.0.0.1:1/v1"}
        assert (await control.ok("POST", f"{users}/credentials/openai/test", tried))["ok"] is False
        await control.ok("DELETE", f"{users}/credentials/openai")
        server = {
            "name": "files",
            "type": "local",
            "command": "mcp-files",
            "args": ["--root", "/data", "--api-key", SECRET, f"--token={SECRET}"],
        }
        added = await control.ok("POST", "/mcp-servers", server)
        await control.ok("DELETE", f"/mcp-servers/{added['id']}")
        remote = {"name": "web", "type": "remote", "url": f"https://x.example/mcp?key={SECRET}"}
        headers = {"Authorization": f"Bearer {SECRET}"}
        await control.ok("POST", "/mcp-servers", {**remote, "headers": headers})
        vm = await control.ok("POST", f"{users}/vm", {"provider": "manual"})
        await control.ok("PATCH", f"/machines/{vm['vm_id']}", {"dialect": "documented"})
        await control.ok("POST", f"/machines/{vm['vm_id']}/drain", {"drain": True})
        await control.ok("POST", f"/machines/{vm['vm_id']}/token")
        await control.ok("POST", f"/machines/{vm['vm_id']}/revoke-token")
        device = await control.ok("POST", f"{users}/devices", {"guid": "phone-1"})
        agent = await control.ok("POST", f"{users}/yeaft-agents")
        await control.ok("DELETE", f"/machines/{vm['vm_id']}")
        found = await entries(control)
        assert [one["event"] for one in found] == [
            *("login_link.made", "org.made", "org.changed", "user.made", "user.changed"),
            *("token.issued", "token.revoked", "login_link.made", "credential.stored"),
            *("credential.changed", "credential.tested"),
            *("credential.removed", "mcp_server.added", "mcp_server.removed", "mcp_server.added"),
            *("machine.scheduled", "machine.changed", "machine.drained"),
            *("machine.token_issued", "machine.token_revoked"),
            *("machine.registered", "machine.registered", "machine.terminated"),
        ]
        assert {one["source"] for one in found} == {"control"}
        by_event = {one["event"]: one for one in reversed(found)}
        assert by_event["user.changed"]["details"]["role"] == "org_admin"
        assert by_event["user.changed"]["org_id"] == org["id"], "for the admins of that org to see"
        issued = by_event["token.issued"]["details"]
        assert (issued["label"], issued["scopes"]) == ("phone", ["read"])
        started = by_event["mcp_server.added"]["details"]
        assert started["command"] == "mcp-files"
        assert started["args"] == ["--root", "/data", "--api-key", "***", "--token=***"]
        whole = str(found)
        secrets = (SECRET, token["token"], link["url"], vm["token"], vm["ticket"])
        for secret in (*secrets, device["token"], agent["secret"]):
            assert secret not in whole
        assert (await control.ok("GET", "/audit/verify"))["ok"] is True


async def test_a_machine_that_nobody_registered_is_an_entry_when_it_first_comes(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        secrets = control.core.machine_secrets
        device = await secrets.unproven(user.id, "phone-1")
        agent = await secrets.instance(user.id, "laptop", "my laptop")
        for _ in range(2):  # it comes again
            await secrets.unproven(user.id, "phone-1")
            await secrets.instance(user.id, "laptop", "my laptop")
        found = [one for one in await entries(control) if one["event"] == "machine.registered"]
        assert [(one["details"]["machine_id"], one["user_id"]) for one in found] == [
            (device.machine_id, user.id),
            (agent.machine_id, user.id),
        ]


async def test_a_secret_for_agents_is_an_entry_when_it_is_first_shown(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        shown = [await user.ok("GET", "/api/user/agent-secret") for _ in range(2)]
        assert shown[0] == shown[1]
        made = [one for one in await entries(control) if one["event"] == "user.agent_secret_made"]
        assert [one["user_id"] for one in made] == [user.id]
        assert shown[0]["agentSecret"] not in str(made)


async def test_a_login_is_an_entry_and_so_is_a_refused_one(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        link = await user.ok("POST", f"/users/{user.id}/login-link")
        async with aiohttp.ClientSession() as http:
            for status in (303, 401):
                async with http.get(link["url"], allow_redirects=False) as answer:
                    assert answer.status == status

        async def refused() -> list[dict[str, Any]]:
            return [one for one in await entries(control) if one["event"] == "login.refused"]

        (entry,) = await eventually(refused)
        assert entry["details"]["address"] == "127.0.0.1"
        assert "used already" in entry["details"]["reason"]
        done = [one for one in await entries(control) if one["event"] == "login.done"]
        assert [one["user_id"] for one in done] == [user.id]


async def test_a_login_on_yeafts_page_is_an_entry_and_so_is_a_refused_one(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control, PageHttp(control.url) as http:
        user = await control.user("ada")
        assert (await http.login("ada", SECRET))["success"] is False
        assert (await http.login("ada", user.token))["success"] is True

        async def logins() -> list[dict[str, Any]]:
            return [one for one in await entries(control) if one["event"].startswith("login.")]

        found = await eventually(logins, lambda seen: len(seen) == 2)
        by_event = {one["event"]: one for one in found}
        refused, done = by_event["login.refused"], by_event["login.done"]
        known = {"wire": "yeaft", "address": "127.0.0.1", "name": "ada"}
        assert refused["details"] == {**known, "reason": "wrong username or password"}
        assert (done["user_id"], done["details"]["wire"]) == (user.id, "yeaft")
        assert SECRET not in str(found)
        assert user.token not in str(found)


async def test_a_machine_that_joins_and_one_that_may_not_are_entries(tmp_path: Path) -> None:
    """Each token that a machine fetches by itself is one too."""
    async with running(tmp_path / "data") as control:
        user = await control.user()
        code = await user.ok("POST", f"/users/{user.id}/join-codes")

        async def ask(path: str, **fields: str) -> int:
            status, answer = await control.call("POST", path, fields, token=None)
            known.update(answer)
            return status

        known: dict[str, Any] = {}
        assert await ask("/join", code=code["code"]) == 201
        assert await ask("/join/renew", secret=known["secret"]) == 201
        assert await ask("/join", code=code["code"]) == 401
        assert await ask("/join/renew", secret="nd_" + SECRET) == 401
        await control.core.tasks.done()
        found = (await entries(control))[-5:]
        machine = {"machine_id": code["machine_id"]}
        assert [(one["event"], one["user_id"]) for one in found] == [
            *(("machine.code_made", user.id), ("machine.joined", user.id)),
            *(("machine.token_issued", user.id), ("login.refused", None), ("login.refused", None)),
        ]
        assert all(one["details"].items() >= machine.items() for one in found[:3])
        assert [one["details"]["wire"] for one in found[3:]] == ["join", "join"]
        assert SECRET not in str(found)
        assert known["secret"] not in str(found)


async def test_the_machine_that_a_server_starts_for_its_owner_is_an_entry_once(
    tmp_path: Path,
) -> None:
    for _ in range(2):
        async with running(tmp_path / "data", local_machine=True, vm_command="false") as control:
            owner = (await control.ok("GET", "/me"))["user"]["id"]
            made = [one for one in await entries(control) if one["event"] == "machine.scheduled"]
            assert [(one["user_id"], one["details"]["provider"]) for one in made] == [
                (owner, "local")
            ]


async def test_a_question_its_answer_and_what_was_settled_without_one_are_entries(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        async with await user.vm() as vm:
            session = await user.session()
            await user.say(session, "hello")
            for name in ("q-1", "q-2"):
                asked: dict[str, Any] = {
                    "request_id": name,
                    "tool_name": "bash",
                    "tool_args": {"x": SECRET * 200},
                }
                await vm.event(session, type="approval_request", **asked)
            await eventually(lambda: waiting(user, 2))
            answer = {"confirmed": True, "session_id": session}
            await user.ok("POST", "/approvals/q-1", answer)
            # The machine went on by itself: nobody was asked.
            await vm.event(session, type="approval_resolved", request_id="q-2", confirmed=True)
            await eventually(lambda: waiting(user, 0))
        found = [one for one in await entries(control) if one["event"].startswith("approval.")]
        assert [(one["event"], one["details"]["request_id"]) for one in found] == [
            ("approval.asked", "q-1"),
            ("approval.asked", "q-2"),
            ("approval.answered", "q-1"),
            ("approval.settled", "q-2"),
        ]
        assert {one["session_id"] for one in found} == {session}
        first, _, answered, settled = (one["details"] for one in found)
        assert (first["tool_name"], len(first["sha256"]), len(first["asked"])) == (
            "bash",
            64,
            1000,
        )
        assert (found[2]["user_id"], answered["state"]) == (user.id, "confirmed")
        assert settled["confirmed"] is True
        assert {one["source"] for one in found} == {"control"}


async def test_an_answer_for_always_is_an_entry_with_the_rule_that_it_became(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        async with await user.vm() as vm:
            session = await user.session()
            await user.say(session, "hello")
            fields = {"request_id": "q-1", "tool_name": "bash", "rule": "bash(ls)"}
            asked: dict[str, Any] = {"type": "approval_request", **fields}
            await vm.event(session, **asked)
            await eventually(lambda: waiting(user, 1))
            answer = {"confirmed": True, "session_id": session, "scope": "always"}
            await user.ok("POST", "/approvals/q-1", answer)
        [made] = [one for one in await entries(control) if one["event"] == "rule.made"]
        assert (made["user_id"], made["session_id"]) == (user.id, session)
        assert (made["details"]["effect"], made["details"]["rule"]) == ("allow", "bash(ls)")


async def waiting(user: TestUser, count: int) -> bool:
    return len((await user.ok("GET", "/approvals"))["items"]) == count


async def test_a_flood_of_refused_logins_is_one_entry_that_says_how_many(tmp_path: Path) -> None:
    clock = FakeClock()
    tuning = Tuning(refused_logins_max=3)
    async with running(tmp_path / "data", clock, tuning) as control:

        async def refused(count: int) -> list[dict[str, Any]]:
            for number in range(count):
                control.core.trail.login_refused("link", f"10.0.0.{number}", "wrong")
            await control.core.tasks.done()
            page = await entries(control)
            return [one["details"] for one in page if one["event"] == "login.refused"]

        assert len(await refused(20)) == 3
        clock.advance(60)
        control.sweep()
        found = await refused(0)
        assert len(found) == 4
        assert found[-1] == {"wire": "many", "count": 17}
        # The next minute is told apart, and so is one that ends with the server.
        assert [one.get("count") for one in await refused(5)][4:] == [None] * 3
        control.core.trail.settle()
        assert (await refused(0))[-1] == {"wire": "many", "count": 2}


async def test_wrong_login_links_of_one_address_are_few_entries_and_a_right_one_still_works(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", FakeClock()) as control, aiohttp.ClientSession() as http:
        user = await control.user()
        link = await user.ok("POST", f"/users/{user.id}/login-link")
        statuses = []
        for url in (*[f"{control.url}/login?code=wrong"] * 30, link["url"]):
            async with http.get(url, allow_redirects=False) as answer:
                statuses.append(answer.status)
                assert answer.status == 303 or answer.content_type == "text/html"
        assert statuses == [401] * 5 + [429] * 25 + [303]
        await control.core.tasks.done()
        found = [one for one in await entries(control) if one["event"] == "login.refused"]
        assert [one["details"]["address"] for one in found] == ["127.0.0.1"] * 5


@pytest.mark.parametrize(
    ("value", "is_shown_as"),
    [
        ("x" * 5000, "x" * 1000),
        (["-p", "x"], ["-p", "x"]),
        (["--password", SECRET], ["--password", "***"]),
        (["--api_key", SECRET, "y"], ["--api_key", "***", "y"]),
        (["x"] * 500, ["x"] * 50),
        ({"deep": SECRET}, None),
        (5, 5),
    ],
)
def test_what_an_entry_shows_is_short_and_no_secret(value: object, is_shown_as: object) -> None:
    assert shown(value) == is_shown_as
