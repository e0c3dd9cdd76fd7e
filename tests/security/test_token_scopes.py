"""Found open: every token could do all that its user may. One that was made to look could speak,
approve, and make other tokens. Later: one with the scope `admin` alone set a password, and whoever
logged in with that had every scope."""

from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.control import LocalControl, TestUser, running
from tests.support.eventually import eventually
from tests.support.myagent import MyAgentClient
from tests.support.sse import SseReader
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import ScriptedWeb
from trunkline.control.access.scopes import SCOPES
from trunkline.control.api.http import ROUTES


async def limited(user: TestUser, *scopes: str) -> TestUser:
    body = {"label": "limited", "scopes": list(scopes)}
    issued = await user.ok("POST", f"/users/{user.id}/token", body)
    assert issued["scopes"] == sorted(scopes)
    return TestUser(user.control, user.id, issued["token"])


async def asked(user: TestUser, vm: ScriptedVm) -> tuple[str, str]:
    """A session whose machine asks a question: its id and the question's."""
    session = await user.session()
    await user.say(session, "hello")
    await vm.event(session, type="approval_request", request_id="q-1", tool_name="bash")

    async def waiting() -> list[str]:
        return [one["id"] for one in (await user.ok("GET", "/approvals"))["items"]]

    (approval,) = await eventually(waiting)
    return session, approval


async def test_a_token_to_read_follows_everything_and_says_nothing(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        owner = await control.user()
        async with await owner.vm() as vm:
            session, approval = await asked(owner, vm)
            reader = await limited(owner, "read")
            assert (await reader.ok("GET", f"/sessions/{session}"))["id"] == session
            await refused_by_rest(reader, session, approval)
            await refused_by_wires(control, reader, session, await owner.session())
            async with SseReader(control.url, session, reader.token) as stream:
                await stream.until_type("approval_request")
            assert [one["type"] for one in vm.received if one["type"] == "cancel"] == []
            waiting = (await owner.ok("GET", "/approvals"))["items"]
            assert [one["id"] for one in waiting] == [approval]
            assert await owner.turn_states(session) == ["sent"]


async def refused_by_rest(reader: TestUser, session: str, approval: str) -> None:
    for method, path, body in (
        ("POST", "/sessions", {}),
        ("POST", f"/sessions/{session}/messages", {"message": "hi"}),
        ("POST", f"/sessions/{session}/cancel", {}),
        ("PATCH", f"/sessions/{session}/config", {"temperature": 0}),
        ("PATCH", f"/sessions/{session}", {"title": "mine"}),
        ("DELETE", f"/sessions/{session}", None),
        ("POST", f"/approvals/{approval}", {"confirmed": True}),
        ("POST", f"/users/{reader.id}/token", {}),
        ("POST", f"/users/{reader.id}/login-link", None),
        ("PUT", f"/users/{reader.id}/credentials/openai", {"api_key": "k"}),
        ("POST", "/mcp-servers", {"name": "x", "type": "local", "command": "sh"}),
    ):
        status, answer = await reader.call(method, path, body)
        assert (status, answer["error"]["code"]) == (403, "SCOPE_MISSING"), (method, path)


async def refused_by_wires(
    control: LocalControl, reader: TestUser, session: str, idle: str
) -> None:
    """`session` waits for an answer, and takes no message on every wire; `idle` does."""
    address = control.url.replace("http", "ws", 1)
    async with MyAgentClient(f"{address}/ws/myagent", reader.token) as client:
        await client.reconnect(session)
        confirm = await client.expect("agent.user_confirm")
        for send in (
            client.send("user.create_session"),
            client.say(idle, "hi"),
            client.cancel(session),
            client.respond(confirm, {"confirmed": True}),
        ):
            seen = len(client.received)
            await send
            await client.fault("SCOPE_MISSING", after=seen)
    async with ScriptedWeb(f"{address}/ws/yeaft?type=web&token={reader.token}") as web:
        for kind, fields in (
            ("create_conversation", {}),
            ("send_message", {"conversationId": idle, "text": "hi"}),
            ("cancel_execution", {"conversationId": session}),
            ("ask_user_answer", {"requestId": "q-1", "answer": "yes"}),
            ("delete_conversation", {"conversationId": session}),
            ("pin_session", {"conversationId": session}),
            ("set_session_ui_metadata", {"catalogKey": f"chat:{session}"}),
            ("reorder_session_catalog", {}),
            ("update_file_tabs", {}),
        ):
            await web.send(kind, requestId=fields.get("requestId", kind), **_other(fields))
            error = await web.expect("error", partial(_answers, kind))
            assert error["code"] == "SCOPE_MISSING", kind


def _answers(kind: str, error: dict[str, Any]) -> bool:
    return bool(error["request"] == kind)


def _other(fields: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if name != "requestId"}


async def test_a_scope_opens_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        owner = await control.user()
        async with await owner.vm() as vm:
            session, approval = await asked(owner, vm)
            talker, approver = await limited(owner, "talk"), await limited(owner, "approve")
            assert (await talker.call("GET", f"/sessions/{session}"))[0] == 403
            answer = {"confirmed": True}
            assert (await talker.call("POST", f"/approvals/{approval}", answer))[0] == 403
            await talker.say(session, "more")
            assert (await approver.ok("POST", f"/approvals/{approval}", answer))["state"] == (
                "confirmed"
            )
            address = f"{control.url.replace('http', 'ws', 1)}/ws/yeaft?type=web"
            web = await ScriptedWeb(f"{address}&token={talker.token}").connect()
            assert (await web.expect("auth_result"))["success"] is False
            assert await web.closed() == 1008
            await web.leave()
            headers = {"Authorization": f"Bearer {talker.token}"}
            async with aiohttp.ClientSession(control.url, headers=headers) as http:
                async with http.get(f"/api/v1/sessions/{session}/stream") as stream:
                    assert stream.status == 403
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await http.ws_connect("/ws/myagent")
                assert refused.value.status == 403


async def test_a_token_gives_no_scope_that_it_lacks_and_a_link_no_more_than_its_maker(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        owner = await control.user()
        keeper = await limited(owner, "admin", "read")
        tokens = f"/users/{owner.id}/token"
        assert (await keeper.call("POST", tokens, {"scopes": ["talk"]}))[0] == 403
        assert (await keeper.ok("POST", tokens))["scopes"] == ["admin", "read"]
        assert (await keeper.ok("POST", tokens, {"scopes": ["read"]}))["scopes"] == ["read"]
        for scopes in ([], ["all"], "read", ["read"] * 5):
            assert (await owner.call("POST", tokens, {"scopes": scopes}))[0] == 400
        link = await keeper.ok("POST", f"/users/{owner.id}/login-link")
        login = await control.core.auth.redeem_login(link["url"].partition("code=")[2])
        browser = TestUser(control, owner.id, login.cookie)
        assert (await browser.call("POST", "/sessions", {}))[0] == 403
        assert (await browser.call("GET", "/sessions"))[0] == 200
        assert (await owner.ok("POST", tokens))["scopes"] is None


async def test_a_token_with_scopes_gets_nothing_that_has_none(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        owner = await control.user()
        keeper = await limited(owner, *SCOPES)
        link = await keeper.ok("POST", f"/users/{owner.id}/login-link")
        login = await control.core.auth.redeem_login(link["url"].partition("code=")[2])
        for limited_user in (keeper, TestUser(control, owner.id, login.cookie)):
            for method, path, body in (
                ("PUT", f"/users/{owner.id}/password", {"password": "correct horse battery"}),
                ("GET", "/api/user/agent-secret", None),
                ("POST", "/api/user/agent-secret/reset", None),
            ):
                assert (await limited_user.call(method, path, body))[0] == 403, path
        assert not await control.core.passwords.is_set(owner.id)


async def test_tokens_are_listed_with_their_names_scopes_and_last_use(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        owner = await control.user()
        body = {"label": "phone", "scopes": ["read"], "expires_in_s": 60}
        issued = await owner.ok("POST", f"/users/{owner.id}/token", body)

        async def listed() -> dict[str, object]:
            page = await control.ok("GET", f"/users/{owner.id}/tokens")
            return next(one for one in page["items"] if one["id"] == issued["id"])

        before = await listed()
        assert (before["label"], before["scopes"]) == ("phone", ["read"])
        assert before["last_used_at"] is None
        await control.call("GET", "/me", token=issued["token"])
        used_at = (await listed())["last_used_at"]
        assert used_at is not None
        await control.core.auth.save_uses()
        assert (await listed())["last_used_at"] == used_at


@pytest.mark.parametrize(
    "route", [one for one in ROUTES if not one.is_open], ids=lambda one: f"{one.method} {one.path}"
)
def test_every_route_needs_a_scope_and_none_that_changes_something_is_open_to_readers(
    route: object,
) -> None:
    method, scope, path = (getattr(route, name) for name in ("method", "scope", "path"))
    assert scope in SCOPES
    shows_a_secret = path == "/api/user/agent-secret"
    chooses_what_is_read = path.endswith(("/logout", "/follow", "/leave"))
    is_read = (method == "GET" and not shows_a_secret) or chooses_what_is_read
    assert (scope == "read") is is_read


async def test_who_may_talk_but_not_approve_does_not_switch_questions_off(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        owner = await control.user()
        careful = await owner.ok("POST", "/agents", {"name": "careful", "confirm": "dangerous"})
        async with await owner.vm():
            talker = await limited(owner, "talk", "read")
            both = await limited(owner, "talk", "approve", "read")
            for config in ("agent_config", "session_config"):
                body = {"agent_id": careful["id"], config: {"confirm": "never"}}
                status, answer = await talker.call("POST", "/sessions", body)
                assert (status, answer["error"]["code"]) == (403, "SCOPE_MISSING"), config
                await both.ok("POST", "/sessions", body)
                body[config] = {"confirm": "always"}
                made = await talker.ok("POST", "/sessions", body)
            path = f"/sessions/{made['id']}"
            for weaker in ({"confirm": "dangerous"}, {"confirm": None}):
                for body in (weaker, {"agent_config": weaker}):
                    status, answer = await talker.call("PATCH", f"{path}/config", body)
                    assert (status, answer["error"]["code"]) == (403, "SCOPE_MISSING"), body
            assert (await owner.ok("GET", path))["agent_config"]["confirm"] == "always"
            await talker.ok("PATCH", f"{path}/config", {"confirm": "always", "temperature": 0})
            await both.ok("PATCH", f"{path}/config", {"confirm": "dangerous"})
            await talker.ok("PATCH", f"{path}/config", {"confirm": "always"})


@pytest.mark.parametrize("mode", [{"mode": "full-access"}, {"permission_mode": "acceptEdits"}])
async def test_nor_with_a_mode_in_which_the_program_asks_nobody(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    async with running(tmp_path / "data") as control:
        owner = await control.user()
        careful = await owner.ok("POST", "/agents", {"name": "careful", "confirm": "dangerous"})
        async with await owner.vm():
            talker = await limited(owner, "talk", "read")
            for config in ("agent_config", "session_config"):
                body = {"agent_id": careful["id"], config: mode}
                status, answer = await talker.call("POST", "/sessions", body)
                assert (status, answer["error"]["code"]) == (403, "SCOPE_MISSING"), config
                await owner.ok("POST", "/sessions", body)
            made = await talker.ok("POST", "/sessions", {"agent_id": careful["id"]})
            path = f"/sessions/{made['id']}/config"
            status, answer = await talker.call("PATCH", path, {"agent_config": mode})
            assert (status, answer["error"]["code"]) == (403, "SCOPE_MISSING")
            plan = dict.fromkeys(mode, "plan")
            await talker.ok("PATCH", path, {"agent_config": plan})
            await owner.ok("PATCH", path, {"agent_config": mode})
