"""What a VM reports without waiting for an answer (000 §4.4)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.admission import Json
from tests.support.control import ControlProcess, TestUser
from tests.support.eventually import WAIT_S, eventually
from tests.support.gate import answer_to
from tests.support.vm import ScriptedVm

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def session(user: TestUser, vm: ScriptedVm) -> str:
    return await user.session()


async def report(vm: ScriptedVm, session_id: str, method: str, **params: Any) -> None:
    await vm.send(
        {"type": "fire_and_forget", "session_id": session_id, "method": method, "params": params}
    )


@pytest.mark.proves("000-4.4-usage-report", "000-4.4-audit-log")
async def test_usage_and_audit_reports_are_recorded_for_their_session(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    for _ in range(3):
        usage = {"model": "m-1", "tokens_in": 10, "tokens_out": 5, "latency_ms": 20}
        await report(vm, session, "usage_report", **usage)
    await report(vm, session, "audit_log", event="tool.ran", details={"tool": "bash"})
    async with asyncio.timeout(WAIT_S):
        while True:
            page = await user.ok("GET", "/audit")
            entries = [one for one in page["items"] if one["event"] == "tool.ran"]
            if entries:
                break
    assert entries[0]["session_id"] == session
    assert entries[0]["details"]["tool"] == "bash"
    sums = (await user.ok("GET", "/usage?group_by=model"))["items"]
    assert [(one["key"], one["calls"], one["tokens_in"], one["tokens_out"]) for one in sums] == [
        ("m-1", 3, 30, 15)
    ]
    assert (await user.ok("GET", "/audit/verify"))["ok"] is True


@pytest.mark.proves("000-4.4-evolution-submit")
async def test_a_submitted_evolution_waits_for_a_decision_and_becomes_a_skill(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    submitted = {
        "name": "Tidy desk",
        "description": "Tidies",
        "skill_md": "# Tidy\nSteps",
        "quality_score": 0.9,
    }
    await report(vm, session, "evolution_submit", **submitted)
    items: list[Json] = []
    async with asyncio.timeout(WAIT_S):
        while not items:
            items = (await user.ok("GET", "/evolutions?state=pending"))["items"]
    assert (items[0]["name"], items[0]["session_id"]) == ("Tidy desk", session)
    await user.ok("POST", f"/evolutions/{items[0]['id']}/approve")
    answer = await vm.request(session, "get_skill_package", skill_id="tidy-desk")
    assert "Steps" in answer["result"]["package"]["files"][0]["content"]


@pytest.mark.proves("000-4.4-snapshot-sync")
async def test_the_newest_snapshot_comes_back_with_the_next_start(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    for number in range(5):
        await report(
            vm,
            session,
            "snapshot_sync",
            checkpoint={"step": number},
            short_term_memory={"messages": ["hi"]},
            conversation_state={},
            file_manifest={},
        )
    await report(vm, session, "memory_write", content="the snapshots are through")
    async with asyncio.timeout(WAIT_S):
        while not (await user.ok("GET", "/memories"))["items"]:
            pass
    await vm.heartbeat(session)
    await vm.heartbeat()
    await vm.request(session, "get_session")  # answered after what was sent before
    await user.say(session, "go on")
    await vm.expect("user_message")
    snapshot = vm.of_type("start_session")[-1]["data"]["snapshot"]
    assert snapshot["checkpoint"] == {"step": 4}
    assert snapshot["short_term_memory"] == {"messages": ["hi"]}


async def test_bad_reports_are_dropped_and_the_next_one_counts(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    for method, params in (
        ("from_the_future", {}),
        ("usage_report", {"model": "m"}),
        ("usage_report", {"model": "m", "tokens_in": -1, "tokens_out": 1}),
        ("usage_report", {"model": "m", "tokens_in": 10**30, "tokens_out": 1}),
        ("usage_report", {"model": "m\x00", "tokens_in": 1, "tokens_out": 1}),
        ("audit_log", {"event": 1}),
        ("audit_log", {"event": "e", "details": {"x": "y" * 100_000}}),
        ("evolution_submit", {"name": "x"}),
        (
            "evolution_submit",
            {"name": "../x", "description": "", "skill_md": "", "quality_score": 9},
        ),
        ("snapshot_sync", {"checkpoint": "text"}),
        ("snapshot_sync", {"checkpoint": {"deep": deep}}),
        ("memory_write", {"content": ""}),
        ("memory_write", {"content": "x" * 100_000}),
    ):
        await report(vm, session, method, **params)
    await report(vm, session, "usage_report", model="good", tokens_in=1, tokens_out=1)
    items: list[Json] = []
    async with asyncio.timeout(WAIT_S):
        while not items:
            items = (await user.ok("GET", "/usage?group_by=model"))["items"]
    assert [one["key"] for one in items] == ["good"]
    assert (await user.ok("GET", "/memories"))["items"] == []
    assert vm.of_type("error") == []


async def test_reports_may_be_asked_for_an_answer_and_keep_their_order(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    names = [f"tool.{number}" for number in range(20)]
    for number, name in enumerate(names):
        params = {"event": name, "report_id": f"r-{number}"}
        message = {"session_id": session, "method": "audit_log", "params": params}
        if number % 5 == 4:
            await vm.send({"type": "fire_and_forget", **message})
        else:
            await vm.send({"type": "request", "id": f"report-{number}", **message})
    for number in range(20):
        if number % 5 != 4:
            answer = await answer_to(vm, f"report-{number}")
            assert answer["error"] is None
            assert answer["result"] == {"accepted": True}

    async def recorded() -> list[str]:
        page = await user.ok("GET", "/audit?limit=100")
        events = {one["seq"]: one["event"] for one in page["items"]}
        return [events[seq] for seq in sorted(events) if events[seq].startswith("tool.")]

    assert await eventually(recorded, lambda seen: len(seen) == 20) == names


async def test_a_bad_report_that_asks_for_an_answer_gets_its_error(
    vm: ScriptedVm, session: str
) -> None:
    for params, code in (
        ({"event": 1}, "INVALID_PARAMS"),
        ({"event": "e", "report_id": 7}, "INVALID_PARAMS"),
        ({"event": "e", "report_id": "x" * 101}, "TOO_LARGE"),
        ({"event": "e", "report_id": "\x00"}, "INVALID_REQUEST"),
    ):
        answer = await vm.request(session, "audit_log", **params)
        assert (answer["result"], answer["error"]["code"]) == (None, code)


async def test_a_report_whose_answer_was_lost_counts_once_also_over_a_kill_of_the_control_plane(
    tmp_path: Path,
) -> None:
    async with ControlProcess(tmp_path / "data") as process:
        owner = await process.user()
        machine = await owner.vm()
        session_id = await owner.session()
        usage = {"model": "m", "tokens_in": 10, "tokens_out": 5, "report_id": "r-1"}
        assert (await machine.request(session_id, "usage_report", **usage))["error"] is None
        await process.kill()
        await machine.closed()
        await machine.leave()
        await process.start()
        async with owner.again(machine) as again:
            for _ in range(2):
                answer = await again.request(session_id, "usage_report", **usage)
                assert answer["result"] == {"accepted": True}
        sums = (await owner.ok("GET", "/usage?group_by=model"))["items"]
        assert [(one["calls"], one["tokens_in"]) for one in sums] == [(1, 10)]
