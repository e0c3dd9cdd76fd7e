"""The line, where several sessions share it (document 004 §3.1)."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import until
from tests.unit.execution.ws.machine import Naps, connected, make_client
from tests.unit.execution.ws.scripted_control import ScriptedControl
from trunkline.execution.ws.client import ControlPlaneClient

Json = dict[str, Any]
Heard = list[tuple[str, str]]


def ears(session_id: str, heard: Heard) -> dict[str, Any]:
    """Handlers that note who was told what."""
    return {
        "user_message": lambda data: heard.append((session_id, data["message"])),
        "cancel": lambda _data: heard.append((session_id, "cancel")),
    }


def said(session_id: str, message: str) -> Json:
    return {"type": "user_message", "session_id": session_id, "data": {"message": message}}


async def until_heard(heard: Heard, count: int) -> Heard:
    return await until(lambda: heard, lambda seen: len(seen) >= count)


@pytest.mark.proves("004-3.1-user-message-to-its-session", "004-3.1-cancel-to-its-session")
async def test_a_message_and_a_cancel_reach_their_session_and_no_other(
    server: ScriptedControl, tmp_path: Path
) -> None:
    heard: Heard = []
    async with connected(make_client(server.url, tmp_path)) as client:
        for session_id in ("s-1", "s-2", "s-3"):
            client.register_session(session_id, ears(session_id, heard))
        await server.last.send(
            said("s-1", "one"), {"type": "cancel", "session_id": "s-2"}, said("s-3", "last")
        )
        found = await until_heard(heard, 3)
        assert sorted(found) == [("s-1", "one"), ("s-2", "cancel"), ("s-3", "last")]


@pytest.mark.proves("004-3.1-unregistered-session")
async def test_a_session_that_was_unregistered_is_told_nothing_more(
    server: ScriptedControl, tmp_path: Path
) -> None:
    heard: Heard = []
    async with connected(make_client(server.url, tmp_path)) as client:
        for session_id in ("s-1", "s-2"):
            client.register_session(session_id, ears(session_id, heard))
        client.unregister_session("s-1")
        await server.last.send(said("s-1", "too late"), said("s-2", "here"))
        assert await until_heard(heard, 1) == [("s-2", "here")]


@pytest.mark.proves("004-3.1-resume-lists-pending", "004-3.1-auth-init-resume")
async def test_resume_names_the_requests_of_all_sessions(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path, Naps())) as client:
        asking = [
            asyncio.create_task(client.request(session_id, "memory_search", query="q"))
            for session_id in ("s-1", "s-2")
        ]
        first = server.last
        await first.until(lambda: len(first.of_type("request")) == 2)
        ids = {one["session_id"]: one["id"] for one in first.of_type("request")}
        first.drop()
        line = await server.connected(2)
        resume = await line.expect("resume")
        assert set(ids) == {"s-1", "s-2"}
        assert sorted(resume["pending_ids"]) == sorted(ids.values())
        assert [one["type"] for one in line.received[:2]] == ["auth", "resume"]
        results = {one: {"status": "completed", "data": one} for one in ids.values()}
        await line.send({"type": "resume_response", "results": results})
        assert await asyncio.gather(*asking) == [ids["s-1"], ids["s-2"]]


@pytest.mark.proves("004-3.1-fire-and-forget-fields")
async def test_a_report_has_the_documented_fields_and_no_answer(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        client.fire_and_forget("s-1", "audit_log", event="e", details={})
        assert await server.last.expect("fire_and_forget") == {
            "type": "fire_and_forget",
            "session_id": "s-1",
            "method": "audit_log",
            "params": {"event": "e", "details": {}},
        }


@pytest.mark.proves("000-4.1-heartbeat-every-10s", "004-3.1-heartbeat")
def test_heartbeats_are_ten_seconds_apart_unless_a_test_is_in_a_hurry() -> None:
    assert inspect.signature(ControlPlaneClient).parameters["heartbeat_s"].default == 10
