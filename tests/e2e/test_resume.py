"""After a broken line: what became of the requests that were under way (§4.5, §5.8, §6)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.control import Control, ControlProcess, TestUser, running
from tests.support.eventually import eventually
from tests.support.vm import ScriptedVm
from trunkline import limits
from trunkline.control.services.config import Config


@pytest.fixture
async def control(tmp_path: Path) -> AsyncIterator[Control]:
    async with running(tmp_path / "data") as started:
        yield started


async def _ask(vm: ScriptedVm, session: str, request_id: str, method: str, **params: Any) -> None:
    message = {"type": "request", "session_id": session, "id": request_id, "method": method}
    await vm.send({**message, "params": params})


async def _return(user: TestUser, vm: ScriptedVm) -> ScriptedVm:
    again = user.again(vm)
    await again.connect()
    await again.authenticate()
    return again


async def _resume(vm: ScriptedVm, *ids: str) -> dict[str, Any]:
    before = len(vm.of_type("resume_response"))
    await vm.send({"type": "resume", "pending_ids": list(ids)})
    await vm.expect("resume_response", lambda _one: len(vm.of_type("resume_response")) > before)
    answer = vm.of_type("resume_response")[-1]
    assert set(answer) == {"type", "results"}
    return dict(answer["results"])


@pytest.mark.proves(
    "000-5.8-completed-with-data",
    "000-5.8-not-found",
    "000-5.8-resume-response-fields",
    "000-6-resume-answers-what-finished",
    "000-6-not-found-is-sent-again",
    "000-4.5-resume-over-all-sessions",
    "000-3-vm-messages-without-session",
)
async def test_results_of_all_sessions_that_were_ready_while_the_line_was_down_are_kept(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, done = asyncio.Event(), []
    real = Config.get_session

    async def slow(self: Config, user_id: str, session_id: str) -> dict[str, Any]:
        await go.wait()
        result = await real(self, user_id, session_id)
        done.append(session_id)
        return result

    monkeypatch.setattr(Config, "get_session", slow)
    user = await control.user()
    vm = await user.vm()
    one, other = await user.session(), await user.session()
    await _ask(vm, one, "msg-1", "get_session")
    await _ask(vm, other, "msg-2", "get_session")
    failed = await vm.request(one, "get_config", agent_id="none")  # behind the others on the line
    await vm.drop()
    go.set()
    again = await _return(user, vm)

    async def results() -> dict[str, Any]:
        return await _resume(again, "msg-1", "msg-2", failed["id"], "msg-never")

    found = await eventually(
        results, lambda one: [one[i]["status"] for i in ("msg-1", "msg-2")] == ["completed"] * 2
    )
    assert found["msg-1"]["data"]["session"]["id"] == one
    assert found["msg-2"]["data"]["session"]["id"] == other
    assert found[failed["id"]]["status"] == "failed"
    assert found[failed["id"]]["error"]["code"] == "AGENT_NOT_FOUND"
    assert found["msg-never"] == {"status": "not_found"}
    await _ask(again, one, "msg-never", "get_session")
    answer = await again.expect("response", lambda one: one["id"] == "msg-never")
    assert answer["result"]["session"]["id"] == one
    await again.leave()


async def test_a_request_that_is_sent_again_while_it_runs_runs_once_and_is_answered_on_the_new_line(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, calls = asyncio.Event(), []
    started = asyncio.Event()

    async def slow(_self: Config, _user_id: str, session_id: str) -> dict[str, Any]:
        calls.append(session_id)
        started.set()
        await go.wait()
        return {"session": {"id": session_id}, "agent": {}}

    monkeypatch.setattr(Config, "get_session", slow)
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    await _ask(vm, session, "msg-1", "get_session")
    await started.wait()
    await vm.drop()
    again = await _return(user, vm)
    assert await _resume(again, "msg-1") == {"msg-1": {"status": "not_found"}}
    await _ask(again, session, "msg-1", "get_session")
    assert await _resume(again, "msg-1") == {"msg-1": {"status": "not_found"}}
    go.set()
    answer = await again.expect("response")
    assert answer["result"]["session"]["id"] == session
    assert calls == [session]
    await again.leave()


@pytest.mark.proves("000-6-resume-answers-what-finished")
async def test_results_survive_a_killed_control_plane(tmp_path: Path) -> None:
    control = await ControlProcess(tmp_path / "data").start()
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    answer = await vm.request(session, "get_session")
    await control.kill()
    await vm.closed()
    await vm.leave()
    await control.start()
    again = await _return(user, vm)
    found = await _resume(again, answer["id"])
    assert found == {answer["id"]: {"status": "completed", "data": answer["result"]}}
    await again.leave()
    await control.terminate()


async def test_a_result_is_only_for_the_user_who_asked(control: Control) -> None:
    user, stranger = await control.user("ada"), await control.user("eve")
    async with await user.vm() as vm, await stranger.vm() as other:
        session = await user.session()
        answer = await vm.request(session, "get_session")
        assert await _resume(other, answer["id"]) == {answer["id"]: {"status": "not_found"}}
        assert (await _resume(vm, answer["id"]))[answer["id"]]["status"] == "completed"


async def test_a_resume_of_nothing_odd_or_too_much_is_answered_within_bounds(
    control: Control,
) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        assert await _resume(vm) == {}
        odd = ["", "x" * 5000, "\x00", "'; DROP TABLE results", "你好"]
        assert await _resume(vm, *odd) == {one: {"status": "not_found"} for one in odd}
        many = [f"msg-{number}" for number in range(limits.RESUME_IDS_MAX + 10)]
        assert len(await _resume(vm, *many)) == limits.RESUME_IDS_MAX
