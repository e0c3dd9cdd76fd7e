"""A control plane that is exactly the documented one: no numbers, no batches, no answers."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.eventually import until
from tests.unit.execution.ws.machine import USAGE, Naps, connected, event, make_client, text
from tests.unit.execution.ws.scripted_control import ScriptedControl
from trunkline.execution.ws.client import ControlPlaneClient


async def go_offline(client: ControlPlaneClient, server: ScriptedControl, naps: Naps) -> None:
    naps.hold()
    server.last.drop()
    await until(lambda: not client.online)


async def test_the_first_line_starts_without_resume(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)):
        await server.last.expect("heartbeat")
        assert [one["type"] for one in server.last.received] == ["auth", "heartbeat"]


@pytest.mark.proves("004-3.1-sse-event-fields")
async def test_an_event_has_the_documented_fields_and_no_others(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        client.send_sse_event("s-1", text("Hello"))
        message = await server.last.expect("sse_event")
        assert message == {"type": "sse_event", "session_id": "s-1", "data": text("Hello")}


async def test_events_go_one_by_one_and_those_that_wait_are_joined(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        for number in range(2_000):
            for session_id in ("s-1", "s-2"):
                client.send_sse_event(session_id, text(f"{number} "))
            if number % 5 == 0:
                await asyncio.sleep(0)
        client.send_sse_event("s-1", event("execution_complete", content="", turn_id="t-1"))
        await server.last.until(lambda: "execution_complete" in str(server.last.received[-3:]))
        whole = "".join(f"{number} " for number in range(2_000))
        await server.last.until(lambda: server.last.texts("s-2") == whole)
        assert server.last.texts("s-1") == whole
        assert server.last.of_type("batch") == []
        assert len(server.last.received) < 200


@pytest.mark.proves(
    "004-3.1-report-usage",
    "004-3.1-submit-evolution",
    "004-3.1-log-audit",
    "004-10-events",
    "004-10-usage",
)
async def test_what_was_said_while_the_line_was_down_follows_the_resume(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        client.send_sse_event("s-1", text("before "))
        await server.last.expect("sse_event")
        await go_offline(client, server, naps)
        client.send_sse_event("s-1", text("while "))
        client.send_sse_event("s-1", text("away"))
        client.send_sse_event("s-1", event("execution_complete", turn_id="t-1"))
        client.fire_and_forget("s-1", "usage_report", **USAGE, latency_ms=3)
        client.fire_and_forget("s-1", "audit_log", event="tool", details={"name": "bash"})
        client.fire_and_forget("s-1", "evolution_submit", name="x")
        client.fire_and_forget("s-1", "memory_write", content="likes tea")
        client.fire_and_forget("s-1", "snapshot_sync", checkpoint={})
        naps.release()
        line = await server.connected(2)
        await line.until(lambda: len(line.of_type("fire_and_forget")) == 4)
        assert line.received[1] == {"type": "resume", "pending_ids": []}
        assert [json.loads(one["data"]) for one in line.events()] == [
            {"type": "text_chunk", "content": "while away", "turn_id": "t-1"},
            {"type": "execution_complete", "turn_id": "t-1"},
        ]
        reports = [(one["method"], one["params"]) for one in line.of_type("fire_and_forget")]
        assert reports == [
            (
                "usage_report",
                {"model": "gpt-4o", "tokens_in": 10, "tokens_out": 5, "latency_ms": 3},
            ),
            ("audit_log", {"event": "tool", "details": {"name": "bash"}}),
            ("evolution_submit", {"name": "x"}),
            ("memory_write", {"content": "likes tea"}),
        ]


@pytest.mark.proves("004-10-usage")
async def test_what_was_sent_is_not_sent_again_by_the_next_process(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        client.send_sse_event("s-1", text("once"))
        client.fire_and_forget("s-1", "usage_report", **USAGE)
        await server.last.expect("fire_and_forget")
    async with connected(make_client(server.url, tmp_path)) as again:
        again.send_sse_event("s-1", text("more"))
        await server.last.expect("sse_event")
        assert server.last.texts() == "more"
        assert server.last.of_type("fire_and_forget") == []


@pytest.mark.proves("004-10-snapshots")
async def test_a_snapshot_goes_at_once_or_not_at_all(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        client.fire_and_forget("s-1", "snapshot_sync", checkpoint={"n": 1})
        message = await server.last.expect("fire_and_forget")
        assert message["params"] == {"checkpoint": {"n": 1}}
        await go_offline(client, server, naps)
        client.fire_and_forget("s-1", "snapshot_sync", checkpoint={"n": 2})
        naps.release()
        line = await server.connected(2)
        client.fire_and_forget("s-1", "memory_write", content="marker")
        await line.expect("fire_and_forget")
        assert [one["method"] for one in line.of_type("fire_and_forget")] == ["memory_write"]


async def test_events_of_a_killed_process_reach_the_control_plane_by_the_next(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    client = make_client(server.url, tmp_path, naps)
    async with connected(client):
        await go_offline(client, server, naps)
        client.send_sse_event("s-1", text("left behind"))
    async with connected(make_client(server.url, tmp_path)):
        await server.last.expect("sse_event")
        assert server.last.texts() == "left behind"
