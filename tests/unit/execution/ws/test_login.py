"""Getting a line, losing it, getting it back."""

import asyncio
from pathlib import Path

import pytest
import structlog

from tests.support.control import free_port
from tests.support.eventually import until
from tests.unit.execution.ws.machine import Naps, connected, make_client
from tests.unit.execution.ws.scripted_control import ScriptedControl, scripted_control
from trunkline import limits
from trunkline.execution.line import MachineSide
from trunkline.execution.ws.login import LINE_LIMITED_DELAY_S, LINE_REFUSED_DELAY_S


@pytest.mark.proves(
    "004-3.1-first-address",
    "004-3.1-return-address",
    "004-3.1-token-in-the-first-frame",
    "000-6-vm-notices",
)
async def test_the_first_line_shows_ticket_and_token_and_the_next_ones_no_ticket(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)):
        first = server.last
        assert first.query == {"user_id": "u-1", "ticket": "ticket-1"}
        assert first.received[0] == {
            "type": "auth",
            "token": "token-1",
            "capabilities": ["seq", "batch", "query", "steer", "fork", "rules"],
        }
        first.drop()
        again = await server.connected(2)
        assert again.query == {"user_id": "u-1"}
        assert naps.taken == [1]


@pytest.mark.proves("004-3.1-connect-gives-init")
async def test_init_is_returned_with_its_keys(server: ScriptedControl, tmp_path: Path) -> None:
    server.init["api_keys"] = {
        "openai": "sk-plain",
        "broken": {"alg": "aes-256-gcm", "iv": "AAAA", "tag": "AAAA", "ciphertext": "AAAA"},
    }
    client = make_client(server.url, tmp_path)
    told: list[object] = []
    init = await client.connect(MachineSide(initialized=told.append))
    await client.close()
    assert init["user_id"] == "u-1"
    assert init["api_keys"] == {"openai": "sk-plain"}
    assert init["llm_config"] == {}
    assert told == [init]


async def test_a_control_plane_that_is_not_there_yet_is_waited_for_with_the_ticket(
    tmp_path: Path, naps: Naps
) -> None:
    port = free_port()
    client = make_client(f"ws://127.0.0.1:{port}/ws/vm", tmp_path, naps)
    connecting = asyncio.create_task(client.connect(MachineSide()))
    await until(lambda: naps.taken, lambda taken: taken[:3] == [1, 2, 4])
    async with scripted_control(port) as server:
        await connecting
        assert server.last.query["ticket"] == "ticket-1"
        await client.close()


async def test_a_ticket_is_not_shown_after_its_time(
    server: ScriptedControl, tmp_path: Path
) -> None:
    now = [0.0]
    client = make_client(server.url, tmp_path, clock=lambda: now[0])
    now[0] = limits.TICKET_LIFE_S
    async with connected(client):
        assert "ticket" not in server.last.query


async def test_a_ticket_that_was_refused_is_not_the_end(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    server.refuse = [4001]
    async with connected(make_client(server.url, tmp_path, naps)):
        assert [one.query.get("ticket") for one in server.connections] == ["ticket-1", None]
        assert naps.taken == []


@pytest.mark.parametrize("code", [4001, 4003, 4004, 1008])
async def test_a_refused_token_is_said_clearly_and_tried_again_slowly(
    server: ScriptedControl, tmp_path: Path, naps: Naps, code: int
) -> None:
    server.refuse = [code, code]
    client = make_client(server.url, tmp_path, naps, ticket=None)
    with structlog.testing.capture_logs() as logs:
        async with connected(client):
            assert naps.taken == [LINE_REFUSED_DELAY_S] * 2
    errors = [entry for entry in logs if entry["log_level"] == "error"]
    assert [entry["code"] for entry in errors] == [code, code]
    assert "machine" in errors[0]["event"]


async def test_a_machine_that_was_too_fast_stays_away_for_a_while(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)):
        await server.last.socket.close(code=4029)
        await server.connected(2)
        assert naps.taken == [LINE_LIMITED_DELAY_S]


@pytest.mark.proves("000-6-back-off", "004-3.1-reconnect-delays", "004-3.1-reconnects-for-ever")
async def test_attempts_follow_the_documented_delays_for_ever(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    now = [0.0]
    async with connected(make_client(server.url, tmp_path, naps, clock=lambda: now[0])):
        server.refuse = [4500] * 11
        server.last.drop()
        await server.connected(13)
        assert naps.taken == [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30]
        await server.last.expect("heartbeat")
        now[0] += 60
        server.last.drop()
        await server.connected(14)
        assert naps.taken[-1] == 1


async def test_lines_that_end_right_after_init_are_opened_ever_more_slowly(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    client = make_client(server.url, tmp_path, naps, clock=lambda: 0.0)
    faults = [OSError("no space left")] * 4

    def fail(_init: object) -> None:
        if faults:
            raise faults.pop()

    async with connected(client, initialized=fail):
        assert naps.taken == [1, 2, 4, 8]


async def test_a_fault_while_a_line_is_opened_is_said_and_tried_again(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    client = make_client(server.url, tmp_path, naps, ticket=None, token="\ud800")  # no text
    with structlog.testing.capture_logs() as logs:
        connecting = asyncio.create_task(client.connect(MachineSide()))
        await until(lambda: naps.taken, lambda taken: taken[:3] == [1, 2, 4])
    assert "UnicodeEncodeError" in (client.problem or "")
    assert "error" in [entry["log_level"] for entry in logs]
    await client.close()
    connecting.cancel()
    await asyncio.gather(connecting, return_exceptions=True)


@pytest.mark.proves("000-6-vm-notices")
async def test_the_line_is_told_up_and_down(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    client = make_client(server.url, tmp_path, naps)
    told: list[bool] = []
    async with connected(client, line_changed=told.append):
        assert client.online
        assert client.problem is None
        naps.hold()
        await server.last.socket.close(code=1001, message=b"going down")
        assert "going down" in (await until(lambda: client.problem) or "")
        assert told == [True, False]
        naps.release()
        await (await server.connected(2)).expect("heartbeat")
    assert told == [True, False, True, False]


async def test_a_fault_in_a_callback_does_not_end_the_machine(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    client = make_client(server.url, tmp_path, naps)
    faults = [RuntimeError("broken")]

    def fail(_up: bool) -> None:
        if faults:
            raise faults.pop()

    async with connected(client, line_changed=fail):
        await (await server.connected(2)).expect("heartbeat")


async def test_closing_says_goodbye(server: ScriptedControl, tmp_path: Path) -> None:
    client = make_client(server.url, tmp_path)
    async with connected(client):
        line = server.last
    await line.until(lambda: line.close_code is not None, "close code")
    assert line.close_code == 1000
    with pytest.raises(ConnectionError):
        await client.request("s-1", "get_config")


async def test_a_client_that_never_had_a_line_can_be_closed(tmp_path: Path, naps: Naps) -> None:
    client = make_client(f"ws://127.0.0.1:{free_port()}/ws/vm", tmp_path, naps)
    connecting = asyncio.create_task(client.connect(MachineSide()))
    await asyncio.sleep(0)
    connecting.cancel()
    await asyncio.gather(connecting, return_exceptions=True)
    await client.close()
    assert not client.online


async def test_no_ticket_and_no_key_is_ever_logged(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    server.init["api_keys"] = {"openai": "sk-secret"}
    with structlog.testing.capture_logs() as logs:
        client = make_client(server.url + "/nowhere", tmp_path / "a", naps)
        connecting = asyncio.create_task(client.connect(MachineSide()))
        await until(lambda: naps.taken)
        await client.close()
        await asyncio.gather(connecting, return_exceptions=True)
        async with connected(make_client(server.url, tmp_path / "b", naps)):
            await server.last.send({"type": "init", "data": server.init})
            server.last.drop()
            await server.connected(2)
    assert "HTTP 404" in str(logs)
    assert "ticket-1" not in str(logs)
    assert "token-1" not in str(logs)
    assert "sk-secret" not in str(logs)


@pytest.mark.parametrize("url", ["", "control.example", "ftp://x/ws/vm", "ws:///ws/vm"])
def test_an_address_that_is_none_is_refused_at_once(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        make_client(url, tmp_path)
