"""Requests over a broken line (000 §4.5, §6): results are kept, joined, and run out."""

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.admission import Json
from tests.support.control import Control, ControlProcess, TestUser
from tests.support.eventually import WAIT_S, eventually
from tests.support.gate import Gate, answer_to, mcp_call
from tests.support.metrics import metric
from tests.support.vm import ScriptedVm

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def session(user: TestUser, vm: ScriptedVm) -> str:
    return await user.session()


async def resumed(vm: ScriptedVm, *ids: str) -> Json:
    """The results of a `resume`."""
    vm.received[:] = [one for one in vm.received if one["type"] != "resume_response"]
    await vm.send({"type": "resume", "pending_ids": list(ids)})
    results: Json = (await vm.expect("resume_response"))["results"]
    return results


@pytest.mark.proves(
    "000-6-resume-answers-what-finished", "000-5.8-completed-with-data", "000-5.8-not-found"
)
async def test_a_request_that_finished_while_the_line_was_down_is_returned_by_resume(
    control: Control, user: TestUser, gate: Gate
) -> None:
    vm = await user.vm()
    session_id = await user.session()
    await vm.send(mcp_call(session_id, "pending", "gate"))
    await gate.reached.wait()
    async with user.reader(session_id) as reader:
        await vm.drop()
        await reader.until_type("session_status")
    gate.opened.set()
    async with user.again(vm) as back:
        results = await resumed(back, "pending", "never-sent")
        async with asyncio.timeout(WAIT_S):
            while results["pending"]["status"] == "not_found":
                results = await resumed(back, "pending", "never-sent")
        assert results["never-sent"] == {"status": "not_found"}
        assert results["pending"]["status"] == "completed"
        assert results["pending"]["data"]["result"]["content"][0]["text"] == "through"
        stranger = await control.user("eve")
        async with await stranger.vm() as theirs:
            assert await resumed(theirs, "pending") == {"pending": {"status": "not_found"}}
    assert gate.calls == 1


@pytest.mark.proves("000-6-not-found-is-sent-again")
async def test_a_request_that_still_runs_is_joined_when_it_is_sent_again(
    user: TestUser, gate: Gate
) -> None:
    vm = await user.vm()
    session_id = await user.session()
    await vm.send(mcp_call(session_id, "long", "gate"))
    await gate.reached.wait()
    await vm.drop()
    async with user.again(vm) as back:
        assert await resumed(back, "long") == {"long": {"status": "not_found"}}
        await back.send(mcp_call(session_id, "long", "gate"))
        await back.request(session_id, "get_session")  # answered after what was sent before
        gate.opened.set()
        answer = await answer_to(back, "long")
        assert answer["result"]["result"]["content"][0]["text"] == "through"
        await back.request(session_id, "get_session")
        assert len([one for one in back.of_type("response") if one["id"] == "long"]) == 1
    assert gate.calls == 1


async def test_a_request_that_failed_is_returned_with_its_error(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    await vm.send(
        {
            "type": "request",
            "session_id": session,
            "id": "lost",
            "method": "get_config",
            "params": {"agent_id": "none"},
        }
    )
    await answer_to(vm, "lost")
    results = await resumed(vm, "lost")
    assert results["lost"]["status"] == "failed"
    assert results["lost"]["error"]["code"] == "AGENT_NOT_FOUND"


@pytest.mark.proves("000-6-resume-answers-what-finished")
async def test_results_survive_a_kill_of_the_control_plane(tmp_path: Path) -> None:
    async with ControlProcess(tmp_path / "data") as process:
        user = await process.user()
        vm = await user.vm()
        session_id = await user.session()
        good = await vm.request(session_id, "get_session")
        bad = await vm.request(session_id, "get_config", agent_id="none")
        await process.kill()
        await vm.closed()
        await vm.leave()
        await process.start()
        async with user.again(vm) as back:
            results = await resumed(back, good["id"], bad["id"], "other")
            assert results[good["id"]] == {"status": "completed", "data": good["result"]}
            assert results[bad["id"]] == {"status": "failed", "error": bad["error"]}
            assert results["other"] == {"status": "not_found"}
            # Its session is still known: the line goes on where it was.
            await back.text(session_id, "still here")
            async with user.reader(session_id) as reader:
                await reader.until_text("still here")


@pytest.mark.proves("000-6-not-found-is-sent-again")
async def test_a_request_that_finished_between_resume_and_its_repetition_is_not_run_twice(
    control: Control, user: TestUser, gate: Gate
) -> None:
    vm = await user.vm()
    session_id = await user.session()
    await vm.send(mcp_call(session_id, "once", "gate"))
    await gate.reached.wait()
    await vm.drop()
    async with user.again(vm) as back:
        finished = await metric(control, "ws_request_duration_seconds_count")
        assert await resumed(back, "once") == {"once": {"status": "not_found"}}
        gate.opened.set()
        await eventually(
            lambda: metric(control, "ws_request_duration_seconds_count"),
            lambda count: count > finished,
        )
        await back.send(mcp_call(session_id, "once", "gate"))
        answer = await answer_to(back, "once")
        assert answer["result"]["result"]["content"][0]["text"] == "through"
    assert gate.calls == 1
