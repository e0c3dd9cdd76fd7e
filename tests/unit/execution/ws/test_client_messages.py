"""What the control plane tells a machine: delivered in order; nonsense is survived."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from tests.support.eventually import until
from tests.unit.execution.ws.machine import Naps, connected, event, make_client, text
from tests.unit.execution.ws.scripted_control import ScriptedControl
from trunkline import limits
from trunkline.wire.semibot.keys import encrypt_key

Json = dict[str, Any]


class Told:
    """Notes every message with its type."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, Json]] = []

    def of(self, *kinds: str) -> dict[str, Any]:
        return {kind: self._noting(kind) for kind in kinds}

    def _noting(self, kind: str) -> Any:
        def note(data: Json) -> None:
            self.messages.append((kind, data))

        return note

    async def until(self, count: int) -> list[tuple[str, Json]]:
        return await until(lambda: self.messages, lambda seen: len(seen) >= count)


SESSION = ("user_message", "cancel", "config_update", "approval_response")


@pytest.mark.proves("004-3.1-start-and-stop-to-the-machine")
async def test_messages_reach_the_handlers_of_their_session_in_order(
    server: ScriptedControl, tmp_path: Path
) -> None:
    client, told, machine = make_client(server.url, tmp_path), Told(), Told()
    client.message_handlers["__vm__"] = machine.of("start_session", "stop_session", "config_update")
    async with connected(client):
        await server.last.send(
            {"type": "start_session", "data": {"session_id": "s-1"}},
            {"type": "user_message", "session_id": "s-1", "data": {"message": "hi"}},
            {"type": "config_update", "session_id": "s-1", "data": {"temperature": 1}},
            {"type": "cancel", "session_id": "s-1", "reason": "admin"},
            {"type": "approval_response", "session_id": "s-1", "data": {"request_id": "r"}},
            {"type": "config_update", "data": {"temperature": 0}},
            {"type": "stop_session", "data": {"session_id": "s-1", "reason": "admin"}},
        )
        await machine.until(3)
        client.register_session("s-1", told.of(*SESSION))
        assert await told.until(4) == [
            ("user_message", {"message": "hi"}),
            ("config_update", {"temperature": 1}),
            ("cancel", {"reason": "admin"}),
            ("approval_response", {"request_id": "r"}),
        ]
        assert sorted(kind for kind, _ in machine.messages) == [
            "config_update",
            "start_session",
            "stop_session",
        ]
        client.unregister_session("s-1")
        assert "s-1" not in client.message_handlers


async def test_nonsense_from_the_control_plane_is_said_and_survived(
    server: ScriptedControl, tmp_path: Path
) -> None:
    client, told = make_client(server.url, tmp_path), Told()
    client.register_session("s-1", told.of("user_message"))
    nonsense = [
        "{",
        "[]",
        "[" * 50_000,
        '{"type": "weather"}',
        '{"type": "response", "id": 3}',
        '{"type": "resume_response", "results": {"r": 1}}',
        '{"type": "ack", "acked": {"s-1": -5, "../x": 9}}',
        '{"type": "start_session", "data": {"session_id": "../../etc"}}',
        '{"type": "init", "data": {}}',
        '{"type": "error", "error": {"code": "TOO_LARGE", "message": "a batch"}}',
    ]
    async with connected(client):
        with structlog.testing.capture_logs() as logs:
            for one in nonsense:
                await server.last.socket.send_str(one)
            await server.last.socket.send_bytes(b"\x00\x01")
            await server.last.send(
                {"type": "user_message", "session_id": "s-1", "data": {"message": "still here"}}
            )
            assert await told.until(1) == [("user_message", {"message": "still here"})]
        warned = [entry for entry in logs if entry["log_level"] == "warning"]
        assert len(warned) >= 8
        assert len(server.connections) == 1


async def test_a_frame_over_the_limit_ends_the_line_and_the_machine_returns(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)):
        with contextlib.suppress(ConnectionError):  # nobody reads it to its end
            await server.last.socket.send_str("x" * (limits.FRAME_BYTES_MAX + 1))
        await server.connected(2)


@pytest.mark.proves("000-4.1-heartbeat-every-10s", "004-3.1-heartbeat")
async def test_heartbeats_say_what_runs_and_how_the_machine_is(
    server: ScriptedControl, tmp_path: Path
) -> None:
    client = make_client(server.url, tmp_path, heartbeat_s=0.01)
    health: Json = {}
    running = ["s-1", "s-2"]
    async with connected(client, active_sessions=lambda: running, health=lambda: health):
        first = await server.last.expect("heartbeat")
        assert first == {"type": "heartbeat", "active_sessions": ["s-1", "s-2"]}
        health["openclaw_available"] = False
        beat = await server.last.expect("heartbeat", lambda one: "health" in one)
        assert beat["health"] == {"openclaw_available": False}
        health["noise"] = "x" * limits.HEALTH_BYTES_MAX
        count = len(server.last.of_type("heartbeat"))
        await server.last.until(lambda: "health" not in server.last.of_type("heartbeat")[-1])
        assert len(server.last.of_type("heartbeat")) > count


async def test_a_session_that_runs_is_in_the_next_heartbeat_at_once(
    server: ScriptedControl, tmp_path: Path
) -> None:
    client = make_client(server.url, tmp_path)
    running: list[str] = []
    async with connected(client, active_sessions=lambda: running):
        running.append("s-1")
        client.register_session("s-1", {})
        await server.last.expect("heartbeat", lambda one: one["active_sessions"] == ["s-1"])


async def test_a_heartbeat_follows_the_last_words_of_a_session(
    server: ScriptedControl, tmp_path: Path
) -> None:
    client = make_client(server.url, tmp_path, heartbeat_s=0.01)
    running = ["s-1"]
    async with connected(client, active_sessions=lambda: list(running)):
        for number in range(300):  # enough to use up the budget for what is not urgent
            client.send_sse_event("s-1", text(f"{number} "))
            await asyncio.sleep(0)
        client.send_sse_event("s-1", event("execution_complete", turn_id="t-1"))
        running.clear()
        client.unregister_session("s-1")
        await server.last.expect("heartbeat", lambda one: one["active_sessions"] == [])
        last = server.last.received[-2]
        assert "execution_complete" in str(last)


async def test_a_session_that_the_control_plane_does_not_know_is_owed_nothing(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    server.capabilities = ["seq"]
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        client.send_sse_event("s-1", text("a"))
        client.send_sse_event("s-2", text("b"))
        await server.last.until(lambda: len(server.last.events()) == 2)
        error = {"code": "SESSION_NOT_FOUND", "message": "no such session on this machine"}
        await server.last.send({"type": "error", "session_id": "s-1", "error": error})
        path = tmp_path / "events" / "s-1.jsonl"
        await until(lambda: not path.exists())
        server.last.drop()
        line = await server.connected(2)
        await line.until(lambda: bool(line.events()))
        assert [one["session_id"] for one in line.events()] == ["s-2"]


@pytest.mark.proves("notes-1-server-config-update")
async def test_keys_that_come_with_a_config_update_are_every_sessions_and_no_setting(
    server: ScriptedControl, tmp_path: Path
) -> None:
    """Encrypted as in `init`, or plain; what is not named stays as it was."""
    server.init |= {"api_keys": {"a": "key-a", "b": "key-b"}, "llm_config": {"default_model": "m"}}
    client, told = make_client(server.url, tmp_path), Told()
    inits: list[Json] = []
    client.register_session("s-1", told.of(*SESSION))
    async with connected(client, initialized=inits.append):
        sealed = msgspec.to_builtins(encrypt_key("key-b2", client.token, bytes(12)))
        data = {
            "agent_config": {"temperature": 1},
            "api_keys": {"b": sealed, "c": "key-c"},
            "llm_config": {"fallback_model": "f"},
        }
        await server.last.send({"type": "config_update", "session_id": "s-1", "data": data})
        assert await told.until(1) == [("config_update", {"temperature": 1})]
        assert inits[-1]["user_id"] == "u-1"
        assert inits[-1]["api_keys"] == {"a": "key-a", "b": "key-b2", "c": "key-c"}
        assert inits[-1]["llm_config"] == {"default_model": "m", "fallback_model": "f"}


async def test_a_machine_whose_keys_change_says_at_once_what_it_can_run(
    server: ScriptedControl, tmp_path: Path
) -> None:
    client = make_client(server.url, tmp_path, heartbeat_s=3_600)  # none comes by itself
    seen: list[Json] = []

    def health() -> Json:
        return {"models": sorted(seen[-1]["api_keys"])}

    async with connected(client, initialized=seen.append, health=health):
        data = {"user_id": "u-1", "org_id": "o-1", "api_keys": {"a": "key-a"}}
        await server.last.send({"type": "init", "data": data})
        await server.last.expect("heartbeat", lambda one: one["health"] == {"models": ["a"]})
