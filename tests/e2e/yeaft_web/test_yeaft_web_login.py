"""How a Yeaft web client gets in, and what ends its connection (WIRE-NOTES, CONTRACT §4)."""

from pathlib import Path

import aiohttp
import pytest

from tests.support.control import LocalControl, TestUser, running
from tests.support.faults import broken
from tests.support.orgs import admin_of_new_org
from tests.support.yeaft_web import ScriptedWeb, web_of, web_url

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("path", ["/ws/yeaft", "/"])
@pytest.mark.proves("notes-3-web-handshake")
async def test_a_client_gets_in_at_both_addresses(user: TestUser, path: str) -> None:
    async with ScriptedWeb(web_url(user, path)) as web:
        granted = await web.expect("auth_result")
        assert (granted["success"], granted["sessionKey"]) == (True, None)
        assert granted["acceptPlaintext"] is True
        assert (await web.expect("client_hello_ack"))["plaintextOk"] is True
        assert (await web.expect("agents_list"))["agents"] == []


@pytest.mark.proves("002-9-authentication")
async def test_a_header_or_a_cookie_lets_in_like_the_address(user: TestUser) -> None:
    for headers in (
        {"Authorization": f"Bearer {user.token}"},
        {"Cookie": f"{user.control.cookie}={user.token}"},
    ):
        async with ScriptedWeb(web_url(user, token=""), headers) as web:
            assert (await web.expect("auth_result"))["success"] is True


@pytest.mark.proves("002-9-authentication")
@pytest.mark.parametrize("token", ["", "wrong", "tl_" + "x" * 5_000])
async def test_without_a_good_token_there_is_an_answer_and_a_close(
    user: TestUser, token: str, capsys: pytest.CaptureFixture[str]
) -> None:
    web = await ScriptedWeb(web_url(user, token=token)).connect()
    refused = await web.expect("auth_result")
    assert refused["success"] is False
    assert refused["error"]
    assert await web.closed() == 1008
    assert [one["type"] for one in web.received] == ["auth_result"]
    await web.leave()
    logged = capsys.readouterr().out
    assert "a Yeaft web client was not let in" in logged
    assert refused["error"] in logged, "with its reason"


async def test_a_wrong_header_is_not_saved_by_a_good_address(user: TestUser) -> None:
    web = await ScriptedWeb(web_url(user), {"Authorization": "Bearer wrong"}).connect()
    assert (await web.expect("auth_result"))["success"] is False
    assert await web.closed() == 1008
    await web.leave()


async def test_a_page_of_another_origin_is_not_let_in(user: TestUser) -> None:
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(web_url(user), headers={"Origin": "https://evil.example"})
    assert refused.value.status == 403


async def test_a_revoked_token_ends_what_it_let_in(user: TestUser) -> None:
    issued = await user.ok("POST", f"/users/{user.id}/token")
    web = await ScriptedWeb(web_url(user, token=issued["token"])).connect()
    await web.hello()
    async with web_of(user) as other:
        await user.ok("DELETE", f"/tokens/{issued['id']}")
        assert await web.closed() == 1008
        await web.leave()
        assert (await other.ask("ping", "pong"))["type"] == "pong"


async def test_what_is_said_before_the_login_is_answered_after_it(user: TestUser) -> None:
    web = await ScriptedWeb(web_url(user)).connect()
    await web.send("client_hello", plaintextOk=True)
    await web.send("ping")
    await web.expect("pong")
    kinds = [one["type"] for one in web.received]
    assert kinds == ["auth_result", "agents_list", "client_hello_ack", "pong"]
    await web.leave()


async def test_too_many_messages_end_the_connection(tmp_path: Path) -> None:
    async with running(tmp_path / "data", rate_limit_per_minute=20) as control:
        user = await admin_of_new_org(control)
        web = await web_of(user).connect()
        for _ in range(25):
            await web.send("ping")
        assert await web.closed() == 4029
        await web.leave()


async def test_a_control_plane_that_goes_says_goodbye(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await admin_of_new_org(control)
        web = await web_of(user).connect()
        await web.hello()
    assert await web.closed() == 1001
    await web.leave()


async def test_a_login_that_cannot_be_checked_ends_the_connection(
    control: LocalControl, user: TestUser
) -> None:
    """The client comes back later, as after any fault of a server."""
    with control.records.before("tokens", broken):
        web = await ScriptedWeb(web_url(user)).connect()
        assert await web.closed() == 1011
    assert web.received == []
    await web.leave()
