"""How MyAgent clients get in, what they are greeted with, and what ends their connection."""

from datetime import datetime
from pathlib import Path
from uuid import UUID

import aiohttp
import pytest
from structlog.testing import capture_logs

import trunkline
from tests.support.control import Control, TestUser, running
from tests.support.myagent import MyAgentClient, client_of
from tests.support.raw_ws import BINARY, TEXT, RawWs, encode_frame
from tests.support.wire import Wire, upgrade
from trunkline import limits
from trunkline.control.tuning import DEFAULT, Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def greeted(client: MyAgentClient) -> None:
    async with client:
        assert (await client.expect("system.connected"))["seq"] == 1


async def status_of(client: MyAgentClient, **headers: str) -> int:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await client.connect(protocols=(), **headers)
    return refused.value.status


@pytest.mark.parametrize("path", ["/ws/myagent", "/", "/?token={token}", "/ws/myagent?x=1"])
async def test_both_paths_are_served(user: TestUser, path: str) -> None:
    await greeted(client_of(user, path.format(token=user.token)))


async def test_the_token_may_be_in_the_query_a_subprotocol_or_the_cookie(user: TestUser) -> None:
    url = f"{user.control.url}/ws/myagent"
    await greeted(MyAgentClient(f"{url}?token={user.token}"))
    bearer = f"bearer.{user.token}"
    client = await MyAgentClient(url).connect(protocols=(bearer,))
    assert client.subprotocol == bearer
    await greeted(client)
    client = await MyAgentClient(url).connect(protocols=(bearer, "myagent"))
    assert client.subprotocol == "myagent", "the secret is not said again where it need not be"
    await greeted(client)
    cookie = f"{user.control.cookie}={user.token}"
    await greeted(await MyAgentClient(url).connect(Cookie=cookie))


@pytest.mark.proves("001-6-connection-errors")
async def test_without_a_good_token_there_is_no_websocket(user: TestUser) -> None:
    url = f"{user.control.url}/ws/myagent"
    assert await status_of(MyAgentClient(url)) == 401
    assert await status_of(MyAgentClient(url, "tl_wrong")) == 401
    assert await status_of(MyAgentClient(f"{url}?token=tl_wrong")) == 401
    assert await status_of(MyAgentClient(url), Cookie=f"{user.control.cookie}=tl_wrong") == 401
    # A header of another kind is not quietly served as whoever the cookie is.
    cookie = f"{user.control.cookie}={user.token}"
    assert await status_of(MyAgentClient(url), Cookie=cookie, Authorization="Basic eDp5") == 401


async def test_a_refused_handshake_is_logged_with_its_reason_and_without_its_secret(
    user: TestUser,
) -> None:
    url = f"{user.control.url}/ws/myagent"
    with capture_logs() as logs:
        assert await status_of(MyAgentClient(f"{url}?token=tl_wrong")) == 401
    (refused,) = [one for one in logs if one.get("wire") == "myagent"]
    assert (refused["log_level"], bool(refused["reason"])) == ("warning", True)
    assert "tl_wrong" not in str(logs)


async def test_a_page_of_a_strange_origin_is_refused(user: TestUser) -> None:
    client = client_of(user)
    assert await status_of(client, Origin="https://evil.example") == 403


async def test_frames_behind_the_upgrade_request_are_not_lost(user: TestUser) -> None:
    """A client that does not wait for the answer to its upgrade."""
    async with Wire(user.control) as wire:
        frame = encode_frame(TEXT, b'{"event": "user.nonsense"}')
        auth = f"Authorization: Bearer {user.token}"
        await wire.send(upgrade("/ws/myagent", wire.host, auth) + frame)
        status, _ = await wire.head()
        assert status == 101
        got = b""
        while b"UNKNOWN_EVENT" not in got:
            got += await wire.reader.read(4096)
        assert b"system.connected" in got


@pytest.mark.proves(
    "001-2.1-connection-id-lives-with-the-connection",
    "001-2.3-connection-id-optional",
    "001-3.3-connected",
)
@pytest.mark.proves("notes-2-connected")
async def test_the_greeting_says_who_is_there(user: TestUser) -> None:
    async with await user.vm(), client_of(user) as first:
        await first.create_session()
        async with client_of(user) as second:
            hello = await second.expect("system.connected")
    UUID(hello["connection_id"])
    assert hello["connection_id"] != first.connection_id
    assert hello["content"]["server_version"] == trunkline.__version__
    assert datetime.fromisoformat(hello["content"]["server_time"]).tzinfo is not None
    assert hello["metadata"]["active_sessions"] == 1
    assert hello["metadata"]["server_uptime_seconds"] >= 0
    assert "session_id" not in hello


@pytest.mark.proves(
    "001-3.3-heartbeat",
    "001-7-connection-watch",
)
@pytest.mark.proves("notes-2-heartbeat-seq")
async def test_heartbeats_come_by_themselves(
    tmp_path: Path,
) -> None:
    assert DEFAULT.myagent_heartbeat_s <= 60
    tuning = Tuning(myagent_heartbeat_s=0.0)
    async with (
        running(tmp_path / "data", tuning=tuning) as control,
        client_of(await control.user()) as client,
    ):
        beat = await client.expect("system.heartbeat")
        again = await client.expect("system.heartbeat", lambda one: one["seq"] > beat["seq"])
        assert again["metadata"]["seq"] == again["seq"]
        assert "session_id" not in beat


async def test_a_revoked_token_cuts_the_connection(control: Control, user: TestUser) -> None:
    issued = await control.ok("POST", f"/users/{user.id}/token")
    url = f"{control.url}/ws/myagent"
    async with MyAgentClient(url, issued["token"]) as cut, client_of(user) as other:
        await cut.expect("system.connected")
        await other.expect("system.connected")
        await control.ok("DELETE", f"/tokens/{issued['id']}")
        assert await cut.closed() == 1008
        await other.answered()
        assert await status_of(MyAgentClient(url, issued["token"])) == 401


async def test_an_open_server_takes_clients_without_a_token_as_the_first_user(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "open", open_myagent=True) as control:
        url = f"{control.url}/ws/myagent"
        await greeted(MyAgentClient(url))
        assert await status_of(MyAgentClient(url, "tl_wrong")) == 401
        stranger = await control.user("eve")
        async with MyAgentClient(url) as owner, await stranger.vm():
            theirs = await stranger.session()
            await owner.reconnect(theirs)  # the first user is the administrator
            await owner.answered()
            assert owner.of_event("agent.error") == []


async def test_a_frame_that_is_too_large_ends_the_connection_with_1009(user: TestUser) -> None:
    size = limits.MYAGENT_FRAME_BYTES_MAX
    async with client_of(user) as client:
        await client.send_text('{"event": "user.cancel", "content": "' + "x" * (size - 100) + '"}')
        await client.fault("MISSING_FIELD")
        await client.send_text("x" * (size + 1))
        assert await client.closed() == 1009


async def test_too_many_messages_end_the_connection_with_4029(tmp_path: Path) -> None:
    async with running(tmp_path / "limited", rate_limit_per_minute=5) as control:
        user = await control.user()
        async with client_of(user) as client:
            for _ in range(6):
                await client.send("user.ack", last_seq=1)
            assert await client.closed() == 4029


async def test_binary_frames_are_not_taken(user: TestUser) -> None:
    url = f"{user.control.url.replace('http', 'ws', 1)}/ws/myagent?token={user.token}"
    async with await RawWs(url).connect() as raw:
        await raw.frame(BINARY, b"{}")
        assert await raw.closed() == 1003


async def test_a_shutdown_says_goodbye(tmp_path: Path) -> None:
    async with running(tmp_path / "short") as control:
        client = await client_of(await control.user()).connect()
        await client.expect("system.connected")
    assert await client.closed() == 1001
    await client.leave()


async def test_no_secret_is_logged(user: TestUser, capfd: pytest.CaptureFixture[str]) -> None:
    url = f"{user.control.url}/ws/myagent"
    await greeted(MyAgentClient(f"{url}?token={user.token}"))
    await status_of(MyAgentClient(f"{url}?token=tl_wrong_secret_token"))
    shown = "".join(capfd.readouterr())
    assert user.token not in shown
    assert "tl_wrong_secret_token" not in shown
