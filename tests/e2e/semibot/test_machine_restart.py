"""Machines that lose their sessions, or cannot start them: turns that wait for a person go on,
what cannot go on ends once, and the next message finds a way (docs/protocols/capabilities.md)."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.control import Control, TestUser, running
from tests.support.eventually import eventually
from tests.support.told import quiet, said, started
from tests.support.vm import ScriptedVm
from trunkline.control.tuning import Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def waiting(user: TestUser) -> list[str]:
    return [one["request_id"] for one in (await user.ok("GET", "/approvals"))["items"]]


async def back(user: TestUser, vm: ScriptedVm) -> ScriptedVm:
    again = user.again(vm)
    await again.connect()
    await again.authenticate("seq", "batch")
    return again


async def asking(user: TestUser, vm: ScriptedVm, session: str) -> str:
    """A turn that waits for a person."""
    turn = await user.say(session, "one")
    await said(vm, "one")
    await vm.event(session, seq=1, type="approval_request", request_id="q", turn_id=turn)
    await eventually(lambda: waiting(user), lambda seen: seen == ["q"])
    return turn


@pytest.mark.parametrize("lists_first", [True, False])
async def test_a_kept_turn_whose_session_does_not_run_goes_on_after_a_restart_of_the_machine(
    control: Control, lists_first: bool
) -> None:
    user = await control.user()
    vm = await user.vm("seq", "batch")
    session, other = await user.session(), await user.session()
    await vm.heartbeat(session, other)
    turn = await asking(user, vm, session)
    await user.say(other, "lost")
    await said(vm, "lost")
    await user.until_turns(other, "sent")
    await vm.drop()
    again = await back(user, vm)
    if lists_first:
        await again.heartbeat(other)
    await again.send({"type": "resume", "pending_ids": [], "turns": [turn]})
    await again.expect("resume_response")
    if not lists_first:
        assert again.of_type("start_session") == []
        await again.heartbeat(other)
    await said(again, "lost")
    assert (await started(again, session))["acked"] == 1
    await again.event(session, seq=2, type="approval_request", request_id="q", turn_id=turn)
    await user.ok("POST", "/approvals/q", {"confirmed": True})
    await again.expect("approval_response")
    await again.event(session, seq=3, type="execution_complete", content="ok", turn_id=turn)
    await user.until_turns(session, "completed")
    assert [one["session_id"] for one in again.of_type("user_message")] == [other]
    assert len(again.of_type("start_session")) == 1
    await again.leave()


async def test_a_kept_turn_whose_session_runs_is_left_alone(control: Control) -> None:
    user = await control.user()
    vm = await user.vm("seq", "batch")
    session = await user.session()
    turn = await asking(user, vm, session)
    await vm.drop()
    again = await back(user, vm)
    await again.heartbeat(session)
    await again.send({"type": "resume", "pending_ids": [], "turns": [turn]})
    await again.expect("resume_response")
    await again.heartbeat(session)
    await quiet(user, again, session)
    assert again.of_type("start_session") == []
    assert again.of_type("user_message") == []
    await again.leave()


async def test_a_turn_whose_end_was_sent_before_resume_is_not_sent_again(
    control: Control,
) -> None:
    """The machine ended it because of its restart, and so does not name it any more."""
    user = await control.user()
    vm = await user.vm("seq", "batch")
    session, other = await user.session(), await user.session()
    turn = await user.say(session, "one")
    await said(vm, "one")
    await user.until_turns(session, "sent")
    await vm.drop()
    again = await back(user, vm)
    await again.heartbeat(other)
    end = {"type": "execution_error", "code": "MACHINE_RESTARTED", "turn_id": turn}
    await again.event(session, seq=1, **end)
    await again.send({"type": "resume", "pending_ids": [], "turns": []})
    await again.expect("resume_response")
    await user.until_turns(session, "failed")
    await quiet(user, again, other)
    assert again.of_type("start_session") == again.of_type("user_message") == []
    await again.leave()


async def test_an_answer_for_a_session_that_does_not_run_any_more_starts_it_first(
    control: Control,
) -> None:
    user = await control.user()
    async with await user.vm("seq", "batch") as vm:
        session = await user.session()
        await vm.heartbeat(session)
        await asking(user, vm, session)
        await vm.heartbeat()
        await vm.request(session, "get_session")  # answered after what was sent before
        vm.received.clear()
        await user.ok("POST", "/approvals/q", {"confirmed": True})
        await vm.expect("approval_response")
        kinds = [message["type"] for message in vm.received]
        assert [kind for kind in kinds if kind != "ack"] == ["start_session", "approval_response"]


@pytest.mark.parametrize(
    "end",
    [
        {"type": "execution_error", "code": "MACHINE_RESTARTED", "error": "x"},
        {"type": "execution_error", "code": "SESSION_CRASHED", "error": "x"},
        {"type": "execution_complete", "cancelled": True},
    ],
)
async def test_a_turns_end_settles_its_questions(control: Control, end: dict[str, Any]) -> None:
    user = await control.user()
    async with await user.vm("seq", "batch") as vm:
        session = await user.session()
        turn = await asking(user, vm, session)
        async with user.reader(session) as reader:
            await vm.event(session, seq=2, **end, turn_id=turn)
            settled = await reader.until_type("approval_resolved")
            assert settled["request_id"] == "q"
            assert settled["confirmed"] is False
        assert await waiting(user) == []
        path = f"/approvals?session_id={session}&state=denied"
        assert len((await user.ok("GET", path))["items"]) == 1
        status, body = await user.call("POST", "/approvals/q", {"confirmed": True})
        assert (status, body["error"]["code"]) == (409, "ALREADY_ANSWERED")


async def test_the_question_of_another_turn_or_session_goes_on_waiting(control: Control) -> None:
    user = await control.user()
    async with await user.vm("seq", "batch") as vm:
        session, other = await user.session(), await user.session()
        first = await asking(user, vm, session)
        second = await user.say(session, "two")
        await said(vm, "two")
        for seq, turn, name in ((2, second, "next"), (3, None, "nameless")):
            asked = {"type": "approval_request", "request_id": name, "turn_id": turn}
            await vm.event(session, seq=seq, **asked)
        await vm.event(other, seq=1, type="approval_request", request_id="elsewhere")
        await eventually(lambda: waiting(user), lambda seen: len(seen) == 4)
        await vm.event(session, seq=4, type="execution_error", error="x", turn_id=first)
        await eventually(lambda: waiting(user), lambda seen: sorted(seen) == ["elsewhere", "next"])


async def test_a_question_and_the_end_of_its_turn_at_once_leave_nothing_waiting(
    control: Control,
) -> None:
    user = await control.user()
    async with await user.vm("seq", "batch") as vm:
        session = await user.session()
        for number in range(20):
            turn = await user.say(session, f"m{number}")
            await said(vm, f"m{number}")
            ask = f'{{"type":"approval_request","request_id":"q{number}","turn_id":"{turn}"}}'
            end = f'{{"type":"execution_error","error":"x","turn_id":"{turn}"}}'
            events = [
                {"session_id": session, "data": data, "seq": 2 * number + place}
                for place, data in ((1, ask), (2, end))
            ]
            await vm.send({"type": "batch", "events": events})
        await eventually(lambda: user.turn_states(session), lambda seen: seen == ["failed"] * 20)
        path = f"/approvals?session_id={session}&state=denied&limit=100"

        async def denied() -> int:
            return len((await user.ok("GET", path))["items"])

        await eventually(denied, lambda count: count == 20)
        assert await waiting(user) == []


CODES = ["RUNTIME_UNSUPPORTED", "SESSION_LIMIT", "SESSION_START_FAILED"]


def starts(vm: ScriptedVm, session: str) -> int:
    return sum(one["data"]["session_id"] == session for one in vm.of_type("start_session"))


@pytest.mark.parametrize("code", CODES)
async def test_a_session_that_the_machine_refuses_is_started_again_by_the_next_message(
    control: Control, code: str
) -> None:
    user = await control.user()
    async with await user.vm("seq", "batch") as vm:
        session = await user.session()
        await started(vm, session)
        async with user.reader(session) as reader:
            await vm.event(session, seq=1, type="execution_error", error="no room", code=code)
            assert (await reader.until_type("execution_error"))["code"] == code
        await user.say(session, "try again")
        await said(vm, "try again")
        assert starts(vm, session) == 2
        await user.until_turns(session, "sent")


@pytest.mark.parametrize("machine_ends_each", [False, True])
async def test_what_a_machine_was_told_for_a_session_that_it_refuses_ends_once(
    control: Control, machine_ends_each: bool
) -> None:
    user = await control.user()
    async with await user.vm("seq", "batch") as vm:
        session = await user.session()
        turns = [await user.say(session, text) for text in ("one", "two")]
        await said(vm, "two")
        error = {"type": "execution_error", "error": "20 sessions run", "code": "SESSION_LIMIT"}
        await vm.event(session, seq=1, **error)
        if machine_ends_each:
            for seq, turn in enumerate(turns, 2):
                await vm.event(session, seq=seq, **error, turn_id=turn)
        await user.until_turns(session, "failed", "failed")
        await vm.event(session, seq=9, type="text_chunk", content="marker")
        async with user.reader(session) as reader:
            await reader.until_text("marker")
            ends = [one.json for one in reader.events if '"execution_' in one.data]
        assert [end["code"] for end in ends] == ["SESSION_LIMIT"] * 2
        assert {end["error"] for end in ends} == {"20 sessions run"}
        assert [end["turn_id"] for end in ends] == turns


async def test_a_refused_session_is_not_waited_for(
    tmp_path: Path,
) -> None:
    tuning = Tuning(sweep_s=0.02, start_timeout_s=1.0)
    async with running(tmp_path / "data", tuning=tuning) as control:
        await _refused_and_silent(await control.user())


async def _refused_and_silent(user: TestUser) -> None:
    async with await user.vm("seq", "batch") as vm:
        refused, silent = await user.session(), await user.session()
        turns = [await user.say(session, "hello") for session in (refused, silent)]
        await said(vm, "hello")
        await vm.event(refused, seq=1, type="execution_error", error="x", code="SESSION_LIMIT")
        await vm.heartbeat()
        async with user.reader(silent) as reader:
            # The silent one's time is up after the refused one's would have been.
            assert (await reader.until_type("execution_error"))["turn_id"] == turns[1]
        page = await user.ok("GET", f"/sessions/{refused}/events?limit=100")
        kinds = [one["event"]["type"] for one in page["items"]]
        assert kinds == ["user_message", "execution_error"]
