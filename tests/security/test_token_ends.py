"""Found open: a stream outlived its token. A reader whose token had expired went on reading, and an
expiring token could make itself a successor without an end, or read its user's secret for agents,
which has none."""

from pathlib import Path

import aiohttp
import pytest

from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser, running
from tests.support.myagent import MyAgentClient
from tests.support.sse import SseReader
from tests.support.yeaft_web import ScriptedWeb
from trunkline.control.clock import now_ms

LIFE_S = 600


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now_ms())


async def expiring(user: TestUser) -> TestUser:
    """The same person with a token that ends."""
    issued = await user.ok("POST", f"/users/{user.id}/token", {"expires_in_s": LIFE_S})
    return TestUser(user.control, user.id, issued["token"])


async def test_no_stream_and_no_socket_of_a_client_outlives_its_token_and_a_machines_line_does(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with running(tmp_path / "data", clock=clock) as control:
        owner = await control.user()
        async with await owner.vm() as vm:
            session = await owner.session()
            guest = await expiring(owner)
            address = control.url.replace("http", "ws", 1)
            async with (
                SseReader(control.url, session, guest.token) as cut,
                SseReader(control.url, session, owner.token) as stays,
                MyAgentClient(f"{address}/ws/myagent", guest.token) as client,
                ScriptedWeb(f"{address}/ws/yeaft?type=web&token={guest.token}") as web,
            ):
                await client.expect("system.connected")
                await web.expect("auth_result")
                clock.advance(LIFE_S - 1)
                control.sweep()
                await vm.text(session, "before")
                await cut.until_text("before")
                clock.advance(1)
                control.sweep()
                await cut.until_ended()
                assert await client.closed() == 1008
                assert await web.closed() == 1008
                await vm.text(session, "after")
                await stays.until_text("after")
            assert (await guest.call("GET", "/me"))[0] == 401


async def test_a_token_that_ends_makes_none_that_lives_longer(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with running(tmp_path / "data", clock=clock) as control:
        user = await control.user()
        guest = await expiring(user)
        ends_at = clock() + LIFE_S * 1000
        status, answer = await guest.call(
            "POST", f"/users/{user.id}/token", {"expires_in_s": LIFE_S + 1}
        )
        assert (status, answer["error"]["code"]) == (403, "TOKEN_OUTLIVES")
        made = await guest.ok("POST", f"/users/{user.id}/token")
        assert made["expires_at"] == ends_at
        shorter = await guest.ok("POST", f"/users/{user.id}/token", {"expires_in_s": 60})
        assert shorter["expires_at"] == clock() + 60_000
        cookie = await logged_in(control, guest)
        again = TestUser(control, user.id, made["token"])
        grandchild = await again.ok("POST", f"/users/{user.id}/token")
        assert grandchild["expires_at"] == ends_at
        clock.advance(LIFE_S)
        for secret in (made["token"], grandchild["token"], cookie):
            assert (await control.call("GET", "/me", token=secret))[0] == 401
        assert (await user.call("GET", "/me"))[0] == 200


async def test_a_token_that_ends_is_not_shown_the_agents_secret_and_a_browsers_login_is(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with running(tmp_path / "data", clock=clock) as control:
        user = await control.user()
        guest = await expiring(user)
        cookie = await logged_in_by_name(control, guest)
        for secret in (guest.token, await logged_in(control, guest), cookie):
            for method, path in (
                ("GET", "/api/user/agent-secret"),
                ("POST", "/api/user/agent-secret/reset"),
            ):
                assert (await control.call(method, path, token=secret))[0] == 403
        await user.ok("PUT", f"/users/{user.id}/password", {"password": "correct horse battery"})
        body = {"username": user.id, "password": "correct horse battery"}
        login = await control.ok("POST", "/api/auth/login", body, token=None)
        shown = await control.ok("GET", "/api/user/agent-secret", token=login["token"])
        assert await user.ok("GET", "/api/user/agent-secret") == shown


async def logged_in_by_name(control: LocalControl, user: TestUser) -> str:
    """The cookie of a Yeaft page, which takes a token for a password."""
    body = {"username": user.id, "password": user.token}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{control.url}/api/auth/login", json=body) as answer,
    ):
        return answer.cookies["yeaft_session"].value


async def logged_in(control: LocalControl, user: TestUser) -> str:
    """A browser's login, by a link that the user has made."""
    link = await user.ok("POST", f"/users/{user.id}/login-link")
    async with (
        aiohttp.ClientSession() as http,
        http.get(link["url"], allow_redirects=False) as answer,
    ):
        assert int(answer.cookies[control.cookie]["max-age"]) <= LIFE_S
        return answer.cookies[control.cookie].value
