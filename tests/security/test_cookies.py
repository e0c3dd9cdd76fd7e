"""Found open: every server's cookie had the same name. Two servers on one host were sent each
other's secrets, and a page beside the server could put a cookie of its own in the login's place."""

from http.cookies import SimpleCookie
from pathlib import Path

import aiohttp
import pytest
from multidict import CIMultiDict

from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser, running
from tests.support.yeaft_page import PageHttp
from tests.support.yeaft_web import ScriptedWeb, web_url
from trunkline.control.access.cookies import cookie_name, cookie_of
from trunkline.control.settings import Settings

TLS = Settings(public_url="https://agents.example")


@pytest.mark.parametrize(
    ("settings", "host", "name"),
    [
        (TLS, "agents.example", "__Host-trunkline_session"),
        (TLS, "127.0.0.1:8080", "__Host-trunkline_session"),
        (Settings(), "127.0.0.1:8080", "trunkline_session_8080"),
        (Settings(), "[::1]:9000", "trunkline_session_9000"),
        (Settings(), "localhost", "trunkline_session_80"),
        (Settings(port=7000), None, "trunkline_session_7000"),
        (Settings(port=7000), "x:99999", "trunkline_session_7000"),
        (Settings(public_url="http://box.lan:81"), "127.0.0.1:8080", "trunkline_session_81"),
    ],
)
def test_a_cookie_is_one_servers_alone(settings: Settings, host: str | None, name: str) -> None:
    assert cookie_name(settings, host) == name


@pytest.mark.parametrize(
    ("settings", "cookies", "secret"),
    [
        (TLS, "__Host-trunkline_session=good; trunkline_session_443=planted", "good"),
        (TLS, "trunkline_session_443=planted; trunkline_session=planted", None),
        (Settings(), "trunkline_session_9000=of-another; trunkline_session_8080=own", "own"),
        (Settings(), "trunkline_session_9000=of-another", None),
        (Settings(), "trunkline_session=old", None),
        (Settings(), "__Host-trunkline_session=x", None),
        (Settings(), "yeaft_session=x", None),
        (Settings(), "yeaft_session=x; trunkline_session_8080=own", "own"),
    ],
)
def test_no_other_cookie_is_taken_for_the_login(
    settings: Settings, cookies: str, secret: str | None
) -> None:
    headers = CIMultiDict({"Host": "127.0.0.1:8080", "Cookie": cookies})
    assert cookie_of(headers, settings) == secret


async def log_in(control: LocalControl, user: TestUser, cookies: str = "") -> SimpleCookie:
    link = await user.ok("POST", f"/users/{user.id}/login-link")
    async with aiohttp.ClientSession() as http:
        headers = {"Cookie": cookies} if cookies else {}
        async with http.get(link["url"], allow_redirects=False, headers=headers) as answer:
            set_cookies = answer.headers.getall("Set-Cookie")
    return SimpleCookie("\r\n".join(set_cookies))


async def test_a_browser_with_a_cookie_of_the_old_name_logs_out_cleanly(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        old, _ = await control.core.auth.issue(user.id, "cookie")
        cookies = {"Cookie": f"trunkline_session={old}"}
        assert (await control.call("GET", "/me", token=None, headers=cookies))[0] == 401
        async with (
            aiohttp.ClientSession(headers=cookies) as http,
            http.post(f"{control.url}/api/v1/logout") as answer,
        ):
            assert answer.status == 204
            gone = [SimpleCookie(one) for one in answer.headers.getall("Set-Cookie")]
        names = {name: morsel["max-age"] for one in gone for name, morsel in one.items()}
        assert names == {control.cookie: "0", "trunkline_session": "0"}
        assert (await control.call("GET", "/me", token=old))[0] == 401
        fresh = await log_in(control, user, "trunkline_session=x")
        assert fresh["trunkline_session"]["max-age"] == "0"
        assert fresh[control.cookie]["httponly"]


async def yeaft_cookie(control: LocalControl, user: TestUser, name: str) -> str:
    """Of a login on Yeaft's page with the user's token."""
    async with PageHttp(control.url) as http:
        assert (await http.login(name, user.token))["success"] is True
        cookie = http.cookie("yeaft_session")
    assert cookie is not None
    return cookie


async def profile(control: LocalControl, cookies: str) -> str | None:
    """The name of whoever these cookies are on Yeaft's routes."""
    async with (
        aiohttp.ClientSession(headers={"Cookie": cookies}) as http,
        http.get(f"{control.url}/api/user/profile") as answer,
    ):
        name: str | None = (await answer.json()).get("username")
        return name


async def test_the_cookie_of_yeafts_page_opens_nothing_else(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        ada = await control.user("ada")
        headers = {"Cookie": f"yeaft_session={await yeaft_cookie(control, ada, 'ada')}"}
        for path in ("/me", "/sessions/any/stream"):
            assert (await control.call("GET", path, token=None, headers=headers))[0] == 401
        async with aiohttp.ClientSession(headers=headers) as http:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await http.ws_connect(f"{control.url}/ws/myagent")
        assert refused.value.status == 401


@pytest.mark.parametrize("own", ["dead", "of another"])
async def test_no_other_login_takes_the_place_of_one_on_yeafts_page(
    tmp_path: Path, own: str
) -> None:
    async with running(tmp_path / "data") as control:
        ada, eve = await control.user("ada"), await control.user("eve")
        secret = (
            "tl_dead" if own == "dead" else (await control.core.auth.issue(eve.id, "cookie"))[0]
        )
        yeafts = await yeaft_cookie(control, ada, "ada")
        cookies = f"{control.cookie}={secret}; yeaft_session={yeafts}"
        assert await profile(control, cookies) == "ada"
        async with ScriptedWeb(web_url(ada, token=""), {"Cookie": cookies}) as web:
            assert (await web.expect("auth_result"))["userId"] == ada.id
        me = await control.call("GET", "/me", token=None, headers={"Cookie": cookies})
        assert me[0] == (401 if own == "dead" else 200)


async def test_the_cookie_of_yeafts_page_is_no_bearer_token_and_ends_with_it(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    async with running(tmp_path / "data", clock) as control:
        ada = await control.user("ada")
        body = {"expires_in_s": 60, "scopes": ["read"]}
        made = await ada.ok("POST", f"/users/{ada.id}/token", body)
        async with PageHttp(control.url) as http:
            assert (await http.login("ada", made["token"]))["token"] == made["token"]
            cookie = http.cookie("yeaft_session")
            assert cookie not in (None, made["token"])
            http.token = None
            assert (await http.get("/api/user/profile"))[0] == 200
            assert (await http.get("/api/user/agent-secret"))[0] == 403, "its scopes hold"
            clock.advance(61)
            assert await profile(control, f"yeaft_session={cookie}") is None


@pytest.mark.parametrize("end", ["revoked", "left"])
async def test_nothing_of_a_login_on_yeafts_page_stays_behind(tmp_path: Path, end: str) -> None:
    async with running(tmp_path / "data") as control:
        ada = await control.user("ada")
        made = await ada.ok("POST", f"/users/{ada.id}/token")
        async with PageHttp(control.url) as http:
            await http.login("ada", made["token"])
            cookie = f"yeaft_session={http.cookie('yeaft_session')}"
            web = await ScriptedWeb(web_url(ada, token=""), {"Cookie": cookie}).connect()
            assert (await web.expect("auth_result"))["success"] is True
            if end == "revoked":
                await ada.ok("DELETE", f"/tokens/{made['id']}")
            else:
                await http.post("/api/auth/logout")
                assert (await control.call("GET", "/me", token=made["token"]))[0] == 200
            assert await web.closed() == 1008
            await web.leave()
        assert await profile(control, cookie) is None
