"""Found open: every server's cookie had the same name. Two servers on one host were sent each
other's secrets, and a page beside the server could put a cookie of its own in the login's place."""

from http.cookies import SimpleCookie
from pathlib import Path

import aiohttp
import pytest
from multidict import CIMultiDict

from tests.support.control import LocalControl, TestUser, running
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
