"""Yeaft's page logs in over HTTP: by name and password, by token, by the link it knows."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import FakeClock
from tests.support.control import ADMIN, Control, TestUser, running
from tests.support.yeaft_page import Page, PageHttp, page_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASSWORD = "correct horse battery"


async def named(control: Control, name: str) -> TestUser:
    """A user of that name with a password."""
    user = await control.user(name)
    await user.ok("PUT", f"/users/{user.id}/password", {"password": PASSWORD})
    return user


@pytest.mark.proves("notes-3-page-login-mode", "notes-3-page-login", "notes-3-page-profile")
async def test_a_page_logs_in_by_name_and_password_stays_and_leaves(control: Control) -> None:
    user = await named(control, "grace")
    async with PageHttp(control.url) as http:
        assert await http.get("/api/auth/mode") == (
            200,
            {
                "skipAuth": False,
                "emailVerification": False,
                "totpEnabled": False,
                "registrationEnabled": False,
                "aadEnabled": False,
                "ssoProviders": {},
            },
        )
        answer = await http.login("grace", PASSWORD)
        known = {"sessionKey": None, "role": "pro", "userId": user.id}
        assert answer == {"success": True, "token": http.token, **known}
        assert http.cookie("yeaft_session") == http.token
        status, profile = await http.get("/api/user/profile")
        assert status == 200
        assert (profile["username"], profile["role"]) == ("grace", "pro")
        assert profile["userId"] == user.id
        assert (await http.get("/api/version"))[1]["version"]
        assert http.token is not None
        async with Page(control.url, http.token) as page:
            assert page.role == "pro"
            assert (await http.post("/api/auth/logout"))[1] == {"success": True}
            assert await page.closed() == 1008, "a login that was ended is cut"
        status, refused = await http.get("/api/user/profile")
        assert status == 401
        assert refused["success"] is False
        assert refused["error"]


@pytest.mark.proves("notes-3-page-cookie")
async def test_the_cookie_alone_is_a_login(control: Control) -> None:
    await named(control, "joan")
    async with PageHttp(control.url) as http:
        await http.login("joan", PASSWORD)
        http.token = None
        assert (await http.get("/api/user/profile"))[1]["username"] == "joan"


@pytest.mark.proves("notes-3-page-login-token", "notes-3-page-sso-complete")
async def test_a_bearer_token_is_as_good_as_a_password_and_is_not_ended_by_a_logout(
    control: Control,
) -> None:
    user = await control.user("mary")
    async with PageHttp(control.url) as http:
        answer = await http.login("mary", user.token)
        assert (answer["token"], answer["userId"]) == (user.token, user.id)
        await http.post("/api/auth/logout")
        # What its address holds behind `/#/sso-complete?token=` is used in the same way.
        async with page_of(user) as page:
            assert page.is_ready
        other = await control.user("not-mary")
        assert (await http.login("mary", other.token))["success"] is False


@pytest.mark.proves("notes-3-page-errors")
async def test_what_is_refused_says_so_in_the_words_of_the_page(control: Control) -> None:
    await named(control, "ruth")
    async with PageHttp(control.url) as http:
        for body in (
            {"username": "ruth", "password": "wrong"},
            {"username": "nobody", "password": PASSWORD},
        ):
            answer = await http.post("/api/auth/login", body)
            wrong = {"success": False, "error": "wrong username or password"}
            assert answer == (401, wrong), "neither says whether there is such a name"
        odds: list[Any] = [{}, {"username": "ruth"}, {"username": 7, "password": []}, [], "x"]
        for odd in odds:
            status, answered = await http.post("/api/auth/login", odd)
            assert (status, answered["success"]) == (400, False)
            assert isinstance(answered["error"], str)
        assert (await http.get("/api/user/agent-secret"))[0] == 401
        assert (await http.upload(("a", "text/plain", b"x")))[0] == 401


async def test_an_address_that_guesses_has_to_wait(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path / "data", clock) as control:
        await named(control, "ada")
        async with PageHttp(control.url) as http:
            for _ in range(5):
                assert (await http.login("ada", "guess"))["success"] is False
            wrong = {"username": "ada", "password": PASSWORD}
            status, answer = await http.post("/api/auth/login", wrong)
            assert (status, answer["success"]) == (429, False)
            clock.advance(2)
            assert (await http.login("ada", PASSWORD))["success"] is True


async def test_a_new_password_ends_all_logins_of_its_user_and_no_token(control: Control) -> None:
    user, other = await named(control, "lise"), await named(control, "lotte")
    async with PageHttp(control.url) as http, PageHttp(control.url) as others:
        await http.login("lise", PASSWORD)
        await others.login("lotte", PASSWORD)
        assert http.token is not None
        async with Page(control.url, http.token) as page:
            await user.ok("PUT", f"/users/{user.id}/password", {"password": PASSWORD + "!"})
            assert await page.closed() == 1008
        assert (await http.get("/api/user/profile"))[0] == 401
        assert (await others.get("/api/user/profile"))[0] == 200
        assert (await user.call("GET", "/me"))[0] == 200
        assert (await http.login("lise", PASSWORD))["success"] is False
        status, _ = await other.call("PUT", f"/users/{user.id}/password", {"password": "x" * 20})
        assert status == 404, "nobody sets another's"


@pytest.mark.proves("notes-3-page-agent-secret")
async def test_a_page_shows_its_user_one_secret_for_agents(control: Control) -> None:
    user = await control.user("anna")
    async with PageHttp(control.url) as http:
        http.token = user.token
        status, answer = await http.get("/api/user/agent-secret")
        assert status == 200
        assert (await http.get("/api/user/agent-secret"))[1] == answer
        renewed = (await http.post("/api/user/agent-secret/reset"))[1]
        assert renewed["agentSecret"] != answer["agentSecret"]
        http.token = ADMIN
        assert (await http.get("/api/user/agent-secret"))[1] != renewed
