"""Numbers and batches, with a control plane that offers them and loses what it likes."""

import asyncio
from pathlib import Path

import pytest

from tests.support.eventually import eventually, until
from tests.unit.execution.ws.machine import USAGE, Naps, connected, event, make_client, text
from tests.unit.execution.ws.scripted_control import Connection, ScriptedControl
from trunkline import limits


@pytest.fixture(autouse=True)
def offers(server: ScriptedControl) -> None:
    server.capabilities = ["batch", "seq"]


def numbers(line: Connection, session_id: str = "s-1") -> list[int]:
    return [one["seq"] for one in line.events() if one["session_id"] == session_id]


async def test_a_quiet_line_carries_the_first_word_at_once_and_alone(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        client.send_sse_event("s-1", text("Hi"))
        message = await server.last.expect("sse_event")
        assert message["seq"] == 1
        assert message["data"] == text("Hi")


async def test_events_of_one_moment_share_a_frame(server: ScriptedControl, tmp_path: Path) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        for session_id in ("s-1", "s-2"):
            client.send_sse_event(session_id, text("a"))
            client.send_sse_event(session_id, text("b"))
            client.send_sse_event(session_id, event("usage"))
        batch = await server.last.expect("batch")
        assert [(one["session_id"], one["seq"]) for one in batch["events"]] == [
            ("s-1", 1),
            ("s-1", 2),
            ("s-2", 1),
            ("s-2", 2),
        ]
        assert server.last.texts("s-2") == "ab"


async def test_numbers_go_on_where_start_session_says(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        started = asyncio.Event()
        client.message_handlers["__vm__"] = {"start_session": lambda _data: started.set()}
        await server.last.send({"type": "start_session", "data": {"session_id": "s-1", "acked": 8}})
        await started.wait()
        client.send_sse_event("s-1", text("a"))
        assert (await server.last.expect("sse_event"))["seq"] == 9


@pytest.mark.proves("004-10-events")
async def test_what_was_not_acknowledged_is_sent_again_with_its_numbers(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        first = server.last
        for number in range(1, 6):
            client.send_sse_event("s-1", event("usage", n=number))
            await first.until(lambda number=number: len(numbers(first)) == number)  # type: ignore[misc]
        await first.send({"type": "ack", "acked": {"s-1": 2}})
        server.init["acked"] = {"s-1": 3}
        first.drop()
        line = await server.connected(2)
        await line.until(lambda: numbers(line) == [4, 5])
        client.send_sse_event("s-1", event("usage", n=6))
        await line.until(lambda: numbers(line) == [4, 5, 6])
        assert line.received[1]["type"] == "resume"


async def test_an_acknowledged_event_is_removed_from_disk_and_memory(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        client.send_sse_event("s-1", event("usage", text="x" * limits.OUTBOX_COMPACT_BYTES))
        path = tmp_path / "events" / "s-1.jsonl"
        await server.last.until(lambda: bool(numbers(server.last)))
        assert path.stat().st_size > limits.OUTBOX_COMPACT_BYTES
        await server.last.send({"type": "ack", "acked": {"s-1": 1}})
        await until(lambda: path.stat().st_size, lambda left: left == 0)


async def test_resume_names_the_turns_that_this_machine_knows(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    """Running ones, ones whose end is still owed, and ones whose message waits to be handled."""
    client = make_client(server.url, tmp_path, naps)
    async with connected(client, open_turns=lambda: ["t-running"]):
        assert (await server.last.expect("resume"))["turns"] == ["t-running"]
        client.send_sse_event("s-1", event("execution_complete", turn_id="t-ended"))
        await server.last.until(lambda: bool(numbers(server.last)))
        waiting = {"message": "hi", "turn_id": "t-waiting"}
        await server.last.send({"type": "user_message", "session_id": "s-9", "data": waiting})

        async def turns() -> set[str]:
            return client.message_handlers.turns()

        await eventually(turns)
        server.last.drop()
        resume = await (await server.connected(2)).expect("resume")
        assert resume["turns"] == ["t-ended", "t-running", "t-waiting"]


@pytest.mark.proves("004-11-audit-through-the-line")
async def test_reports_are_asked_one_after_the_other_and_survive_a_cut(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        client.fire_and_forget("s-1", "usage_report", **USAGE)
        client.fire_and_forget("s-1", "audit_log", event="tool", details={"name": "bash"})
        first = await server.last.expect("request")
        assert first["method"] == "usage_report"
        assert first["params"]["report_id"] == first["id"]
        server.last.drop()
        line = await server.connected(2)
        assert await line.expect("request") == first
        resume = await line.expect("resume")
        assert first["id"] not in resume["pending_ids"]
        await line.send({"type": "response", "id": first["id"], "result": {}})
        second = await line.expect("request", lambda one: one["method"] == "audit_log")
        await line.send({"type": "response", "id": second["id"], "result": {}})
        await until(lambda: (tmp_path / "reports.jsonl").read_bytes(), lambda left: left == b"")


async def test_a_control_plane_without_answered_reports_gets_notifications(
    server: ScriptedControl, tmp_path: Path
) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        client.fire_and_forget("s-1", "usage_report", **USAGE)
        asked = await server.last.expect("request")
        error = {"code": "METHOD_NOT_FOUND", "message": "no such request"}
        await server.last.send({"type": "response", "id": asked["id"], "error": error})
        told = await server.last.expect("fire_and_forget")
        assert told["params"] == {"model": "gpt-4o", "tokens_in": 10, "tokens_out": 5}


async def test_a_long_absence_comes_back_in_few_frames_of_bounded_size(
    server: ScriptedControl, tmp_path: Path, naps: Naps
) -> None:
    async with connected(make_client(server.url, tmp_path, naps)) as client:
        naps.hold()
        server.last.drop()
        await until(lambda: not client.online)
        for number in range(40):
            client.send_sse_event("s-1", event("tool_call_complete", n=number, result="x" * 50_000))
            client.send_sse_event("s-2", text(f"{number},"))
        naps.release()
        line = await server.connected(2)
        await line.until(lambda: numbers(line) == list(range(1, 41)))
        assert line.texts("s-2") == "".join(f"{number}," for number in range(40))
        sizes = [len(str(one)) for one in line.of_type("batch")]
        assert len(sizes) < 6
        assert max(sizes) < 1.2 * limits.BATCH_BYTES_MAX


async def test_closing_sends_what_there_is(server: ScriptedControl, tmp_path: Path) -> None:
    async with connected(make_client(server.url, tmp_path)) as client:
        line = server.last
        client.send_sse_event("s-1", text("last words"))
    await line.until(lambda: line.texts() == "last words")


async def test_a_quiet_sessions_first_word_does_not_wait_behind_a_busy_one(
    server: ScriptedControl, tmp_path: Path
) -> None:
    """The clock stands still: what is not urgent waits for ever, behind the frame before it."""
    async with connected(make_client(server.url, tmp_path, clock=lambda: 0.0)) as client:
        line = server.last
        client.send_sse_event("s-1", text("0 "))
        await line.until(lambda: line.texts() == "0 ")
        for number in range(1, 300):
            client.send_sse_event("s-1", text(f"{number} "))
        asking = asyncio.create_task(client.request("s-1", "get_config", agent_id="a"))
        await line.until(lambda: any(one["type"] == "request" for one in line.received))
        assert line.texts() == "0 "  # a request overtook what waits
        client.send_sse_event("s-2", text("Hi"))
        await line.until(lambda: line.texts("s-2") == "Hi")
        assert line.texts() == "".join(f"{number} " for number in range(300))
        asking.cancel()
