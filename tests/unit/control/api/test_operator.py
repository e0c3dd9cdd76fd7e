"""Health, metrics, login and the pages; and the gate that every request passes."""

import re
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from aiohttp.web import Application

from tests.unit.control.api.conftest import ADMIN_TOKEN, Api
from trunkline.control.api import pages
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store


def cookie_name(api: Api) -> str:
    return f"trunkline_session_{api.client.port}"


async def login_code(api: Api) -> str:
    code, _ = await api.core.auth.issue(api.people.ann.user_id, "login", life_s=60)
    return code


async def test_health_and_readiness_need_no_login(api: Api) -> None:
    for path in ("/healthz", "/readyz"):
        async with await api.send(None, "GET", path) as answer:
            assert (answer.status, await answer.json()) == (200, {"status": "ok"})
        async with await api.send(None, "HEAD", path) as answer:
            assert answer.status == 200


async def test_without_its_database_the_server_is_alive_but_not_ready(
    api: Api, tmp_path: Path
) -> None:
    broken = await Store.open(f"sqlite+aiosqlite:///{tmp_path / 'broken.db'}")
    await broken.close()
    (tmp_path / "broken.db").unlink()
    (tmp_path / "broken.db").mkdir()
    api.core.store = broken
    async with await api.send(None, "GET", "/readyz") as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (503, "NOT_READY")
    async with await api.send(None, "GET", "/healthz") as answer:
        assert answer.status == 200
    await broken.close()


async def test_metrics_are_for_this_host_and_for_admins(api: Api) -> None:
    async with await api.send(None, "GET", "/metrics") as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    # What a proxy on this host forwards is not from this host.
    far = {"X-Forwarded-For": "203.0.113.9"}
    async with await api.send(None, "GET", "/metrics", headers=far) as answer:
        assert answer.status == 401
    async with await api.send(api.people.orla, "GET", "/metrics", headers=far) as answer:
        assert answer.status == 403
    async with await api.send(api.people.ada, "GET", "/metrics", headers=far) as answer:
        assert answer.status == 200


async def test_the_fixed_admin_token_acts_as_the_first_user(api: Api) -> None:
    status, me = await api.call(
        None, "GET", "/me", headers={"Authorization": f"Bearer {ADMIN_TOKEN}"}
    )
    assert (status, me["user"]["name"], me["token_id"]) == (200, "ada", "")


async def test_a_login_link_works_once_and_its_cookie_is_for_the_browser_alone(api: Api) -> None:
    code = await login_code(api)
    async with await api.send(None, "HEAD", f"/login?code={code}") as answer:
        assert answer.status == 405, "a program that looks ahead must not use the link up"
    async with await api.send(None, "GET", f"/login?code={code}") as answer:
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        morsel = SimpleCookie(answer.headers["Set-Cookie"])[cookie_name(api)]
    assert morsel["httponly"]
    assert (morsel["samesite"], morsel["path"], morsel["secure"]) == ("Strict", "/", "")
    cookie = {"Cookie": f"{cookie_name(api)}={morsel.value}"}
    status, me = await api.call(None, "GET", "/me", headers=cookie)
    assert (status, me["user"]["name"], me["org"]["name"]) == (200, "ann", "here")
    async with await api.send(None, "GET", f"/login?code={code}") as answer:
        assert answer.status == 401
        assert "Set-Cookie" not in answer.headers


async def test_a_login_link_can_be_made_at_any_time(api: Api) -> None:
    ann = api.people.ann
    status, link = await api.call(ann, "POST", f"/users/{ann.user_id}/login-link")
    assert status == 201
    assert link["expires_at"] > 0
    address = str(api.client.make_url("/login"))
    assert link["url"].startswith(f"{address}?code=tl_")
    path = link["url"].removeprefix(str(api.client.make_url("")).rstrip("/"))
    async with await api.send(None, "GET", path) as answer:
        assert answer.status == 303
        cookie = SimpleCookie(answer.headers["Set-Cookie"])[cookie_name(api)].value
    _, me = await api.call(None, "GET", "/me", headers={"Cookie": f"{cookie_name(api)}={cookie}"})
    assert me["user"]["id"] == ann.user_id
    async with await api.send(None, "GET", path) as answer:
        assert answer.status == 401
    api.core.settings = Settings(public_url="https://trunk.example.org/a")
    _, link = await api.call(ann, "POST", f"/users/{ann.user_id}/login-link")
    assert link["url"].startswith("https://trunk.example.org/a/login?code=tl_")


async def test_behind_https_the_cookie_is_secure(api: Api) -> None:
    api.core.settings = Settings(public_url="https://trunk.example.org")
    async with await api.send(None, "GET", f"/login?code={await login_code(api)}") as answer:
        morsel = SimpleCookie(answer.headers["Set-Cookie"])["__Host-trunkline_session"]
    assert (morsel["secure"], morsel["path"], morsel["domain"]) == (True, "/", "")


async def test_logging_out_ends_the_login_and_clears_the_cookie(api: Api) -> None:
    cookie, _ = await api.core.auth.issue(api.people.ann.user_id, "cookie")
    headers = {"Cookie": f"{cookie_name(api)}={cookie}"}
    async with await api.send(None, "POST", "/api/v1/logout", headers=headers) as answer:
        assert answer.status == 204
        assert SimpleCookie(answer.headers["Set-Cookie"])[cookie_name(api)].value == ""
    assert (await api.call(None, "GET", "/me", headers=headers))[0] == 401


@pytest.mark.parametrize("path", ["/login", "/login?code=", "/login?code=%00", "/login?code=wrong"])
async def test_a_wrong_login_link_says_so_in_the_persons_language(api: Api, path: str) -> None:
    for language, text in (("en", "used already"), ("zh-CN,zh;q=0.9", "已被使用")):
        headers = {"Accept-Language": language}
        async with await api.send(None, "GET", path, headers=headers) as answer:
            body = await answer.text()
            if "%00" in path:
                assert answer.status == 400
                continue
            assert answer.status == 401
            assert text in body
            assert f'<html lang="{language[:2]}">' in body


@pytest.mark.parametrize("path", ["/login?code=wrong", "/docs"])
async def test_pages_are_served_closed_to_everything_foreign(api: Api, path: str) -> None:
    async with await api.send(None, "GET", path) as answer:
        html = await answer.text()
        assert answer.status in (200, 401)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "http://" not in html
    assert "https://" not in html
    # What the policy would block anyway: code or style inside the page.
    assert not re.search(r"<script>|<style|\son\w+=|\sstyle=", html)
    for name in re.findall(r'(?:src|href)="(/pages/[^"]+)"', html):
        async with await api.send(None, "GET", name) as answer:
            assert answer.status == 200, name


@pytest.mark.parametrize("name", ["docs.html", "..%2F__init__.py", "__init__.py", "nothing.js"])
async def test_only_the_pages_own_files_are_served(api: Api, name: str) -> None:
    async with await api.send(None, "GET", f"/pages/{name}") as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,zh;q=0.5", "en"),
        ("fr,de;q=0.9,zh-TW;q=0.1", "zh"),
        ("fr", "en"),
        (",,;q=;,", "en"),
    ],
)
def test_the_language_is_the_first_one_that_both_know(header: str, language: str) -> None:
    assert pages.language_of({"Accept-Language": header}) == language


async def test_a_foreign_page_can_neither_call_nor_ask_to(api: Api) -> None:
    headers = {"Origin": "https://evil.example"}
    status, answer = await api.call(api.people.ann, "GET", "/me", headers=headers)
    assert (status, answer["error"]["code"]) == (403, "ORIGIN_REFUSED")
    status, answer = await api.call(
        api.people.ann, "POST", "/agents", {"name": "evil"}, headers=headers
    )
    assert (status, answer["error"]["code"]) == (403, "ORIGIN_REFUSED")
    assert (await api.call(api.people.ann, "GET", "/agents"))[1]["items"] == []
    asking = {**headers, "Access-Control-Request-Method": "POST"}
    async with await api.send(None, "OPTIONS", "/api/v1/agents", headers=asking) as preflight:
        assert preflight.status == 403
        assert "Access-Control-Allow-Origin" not in preflight.headers


async def test_a_rebound_name_is_not_answered(api: Api) -> None:
    status, answer = await api.call(
        api.people.ann, "GET", "/me", headers={"Host": "evil.example:8080"}
    )
    assert (status, answer["error"]["code"]) == (403, "HOST_REFUSED")


async def test_our_own_page_may_call(api: Api) -> None:
    origin = str(api.client.make_url("/")).rstrip("/")
    status, _ = await api.call(api.people.ann, "GET", "/me", headers={"Origin": origin})
    assert status == 200


async def test_a_page_of_an_allowed_origin_may_call_and_read_even_errors(api: Api) -> None:
    origin = {"Origin": "https://friend.example"}
    asking = {**origin, "Access-Control-Request-Method": "PATCH"}
    async with await api.send(None, "OPTIONS", "/api/v1/agents", headers=asking) as answer:
        assert answer.status == 204
        assert answer.headers["Access-Control-Allow-Origin"] == "https://friend.example"
        assert "Access-Control-Allow-Credentials" not in answer.headers
    for who, status in ((api.people.ann, 200), (None, 401)):
        async with await api.send(who, "GET", "/api/v1/me", headers=origin) as answer:
            assert answer.status == status
            assert answer.headers["Access-Control-Allow-Origin"] == "https://friend.example"


LOGIN = ("/api/auth/mode", "/api/auth/login", "/api/auth/logout", "/api/version")
"""What Yeaft's page asks before it has a token."""
JOIN = ("/api/v1/join", "/api/v1/join/renew")
"""Where a machine shows a secret of its own: its body decides."""


async def test_nothing_under_the_api_is_open_but_the_way_in(api: Api, app: Application) -> None:
    for resource in app.router.resources():
        if not resource.canonical.startswith("/api/") or resource.canonical in LOGIN + JOIN:
            continue
        for route in resource:
            path = re.sub(r"{\w+}", "x", resource.canonical)
            async with await api.send(None, route.method, path) as answer:
                assert answer.status == 401, f"{route.method} {resource.canonical}"


async def test_an_answer_does_not_say_which_software_is_behind_it(api: Api) -> None:
    for path in ("/healthz", "/nowhere"):
        async with await api.send(None, "GET", path) as answer:
            assert answer.headers["Server"] == "trunkline"
