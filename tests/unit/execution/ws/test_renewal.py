"""A token that comes down the line is the one that opens the next line."""

from pathlib import Path

import pytest
import structlog

from tests.support.clock import FakeClock
from tests.support.control import running
from tests.support.eventually import until
from tests.unit.execution.ws.machine import Naps, connected, make_client
from tests.unit.execution.ws.proxy import Proxy
from tests.unit.execution.ws.scripted_control import ScriptedControl
from trunkline import limits
from trunkline.execution import logs
from trunkline.execution.errors import LineEnd, NoLine, ServerRefused
from trunkline.execution.ws.login import LINE_REFUSED_DELAY_S
from trunkline.wire.semibot.keys import NONCE_BYTES, encrypt_key
from trunkline.wire.semibot.messages import Json


def token_message(token: object) -> Json:
    return {"type": "token", "data": {"token": token, "expires_at": 1_800_043_200_000}}


async def test_the_next_line_shows_the_new_token(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    with structlog.testing.capture_logs() as entries:
        async with connected(make_client(server.url, tmp_path, naps)):
            first = server.last
            await first.send(token_message("token-2"), token_message(""), token_message(7))
            await first.socket.close(code=1001)
            again = await server.connected(2)
            assert [one.received[0]["token"] for one in (first, again)] == ["token-1", "token-2"]
            again.drop()
            third = await server.connected(3)
            assert third.received[0]["token"] == "token-2"
    assert "token-2" not in str(entries)


async def test_what_is_logged_shows_no_token_that_came_down_the_line(
    server: ScriptedControl, tmp_path: Path, naps: Naps, capfd: pytest.CaptureFixture[str]
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)):
        await server.last.send(token_message("a-token-nobody-sees"))
        await server.last.socket.close(code=1001)
        await server.connected(2)
    before = structlog.get_config()
    try:
        logs.configure(json_logs=True, level="info")
        structlog.get_logger().info("auth a-token-nobody-sees")
    finally:
        structlog.configure(**before)
    shown = capfd.readouterr().err
    assert "auth ***" in shown
    assert "a-token-nobody-sees" not in shown


async def test_keys_are_opened_with_the_token_of_their_own_line(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    def sealed(token: str) -> Json:
        key = encrypt_key("sk-1", token, bytes(NONCE_BYTES))
        return {"alg": key.alg, "iv": key.iv, "tag": key.tag, "ciphertext": key.ciphertext}

    client = make_client(server.url, tmp_path, naps)
    keys: list[Json] = []
    server.init["api_keys"] = {"openai": sealed("token-1")}
    async with connected(client, initialized=lambda init: keys.append(init["api_keys"])):
        server.init["api_keys"] = {"openai": sealed("token-2")}
        await server.last.send(token_message("token-2"))
        await server.last.socket.close(code=1001)
        await (await server.connected(2)).expect("heartbeat")
    assert keys == [{"openai": "sk-1"}] * 2


async def test_a_machine_comes_back_to_a_control_plane_after_its_first_token_has_ended(
    tmp_path: Path,
) -> None:
    clock, naps = FakeClock(), Naps()
    async with running(tmp_path / "data", clock) as control:
        user = await control.user()
        path = f"/users/{user.id}/credentials/openai"
        await user.ok("PUT", path, {"api_key": "sk-of-ada-0123456789"})
        made = await user.schedule()
        options = {"user_id": user.id, "ticket": made["ticket"], "token": made["token"]}
        async with Proxy(user.ws_url).listen() as proxy:
            client = make_client(proxy.url, tmp_path / "out", naps, **options)
            keys: list[Json] = []
            async with connected(client, initialized=lambda init: keys.append(init["api_keys"])):
                first = client.token
                clock.advance(limits.VM_TOKEN_LIFE_S / 2 + 1)
                await until(lambda: client.token, lambda now: now != first)
                clock.advance(limits.VM_TOKEN_LIFE_S / 2)
                proxy.cut()
                await until(lambda: len(keys), lambda count: count == 2)
                assert LINE_REFUSED_DELAY_S not in naps.taken
    assert keys == [{"openai": "sk-of-ada-0123456789"}] * 2


class Renewing:
    """Of a machine that joined: what it is told, and what it fetches."""

    def __init__(self, *fetched: str | Exception) -> None:
        self.fetched = list(fetched)
        self.kept: list[str] = []

    def renewed(self, token: str) -> None:
        self.kept.append(token)

    async def fetch(self) -> str:
        found = self.fetched.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


async def test_a_machine_that_joined_fetches_another_token_for_one_that_is_refused(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    server.refuse = [4001]
    credentials = Renewing("token-2")
    async with connected(
        make_client(server.url, tmp_path, naps, ticket=None, credentials=credentials)
    ):
        assert server.last.received[0]["token"] == "token-2"
        assert naps.taken == []
        await server.last.send(token_message("token-3"))
        server.last.drop()
        assert (await server.connected(3)).received[0]["token"] == "token-3"
    assert credentials.kept == ["token-3"]


async def test_a_machine_that_is_not_wanted_says_so_and_asks_again_slowly(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    server.refuse = [4001] * 3
    revoked, unreached = ServerRefused("its access was revoked"), NoLine(LineEnd(1006, "no way"))
    credentials = Renewing(revoked, unreached, "token-2")
    client = make_client(server.url, tmp_path, naps, ticket=None, credentials=credentials)
    with structlog.testing.capture_logs() as entries:
        async with connected(client):
            assert naps.taken[0] == LINE_REFUSED_DELAY_S
            assert server.last.received[0]["token"] == "token-2"
    told = [one["event"] for one in entries if one["log_level"] in ("error", "warning")]
    assert "its access was revoked" in told[0]
    assert "no way" in told[1]


@pytest.mark.parametrize(
    ("token", "says"),
    [
        ("h.eyJleHAiOjE3MDAwMDAwMDB9.s", "this machine's token ended at 2023-11-1"),
        ("h.eyJleHAiOjk5OTk5OTk5OTl9.s", "refuses this machine's token"),
        ("h.eyJleHAiOiJzb29uIn0.s", "refuses this machine's token"),
        ("h.e30.s", "refuses this machine's token"),
        ("h.!!!.s", "refuses this machine's token"),
        ("nonsense", "refuses this machine's token"),
    ],
)
async def test_the_end_of_a_token_is_told_from_another_refusal(
    server: ScriptedControl, tmp_path: Path, naps: Naps, token: str, says: str
) -> None:
    server.refuse = [4001]
    with structlog.testing.capture_logs() as entries:
        async with connected(make_client(server.url, tmp_path, naps, ticket=None, token=token)):
            pass
    [told] = [one["event"] for one in entries if one["log_level"] == "error"]
    assert says in told
