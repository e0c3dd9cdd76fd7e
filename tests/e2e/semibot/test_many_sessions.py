"""Many sessions on one line: each gets its own, one token serves them all (000 §1, §5.6, §9)."""

from typing import Any

import pytest

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.gate import Gate, mcp_call

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.proves("000-1-one-line-per-vm", "000-4.2-event-to-its-session")
async def test_sessions_share_a_line_and_stay_apart(user: TestUser) -> None:
    async with await user.vm() as vm:
        sessions = [await user.session() for _ in range(5)]
        readers = [await user.reader(session).open() for session in sessions]
        for round_number in range(3):
            for number, session in enumerate(sessions):
                await vm.text(session, f"{number}-{round_number}")
        for number, reader in enumerate(readers):
            await reader.until_text(f"{number}-2")
            assert reader.texts() == [f"{number}-{one}" for one in range(3)]
            await reader.leave()
        started = [message["data"]["session_id"] for message in vm.of_type("start_session")]
        assert started == sessions


@pytest.mark.proves("000-9-token-opens-all-sessions-of-its-user", "000-4.3-get-session")
async def test_a_session_may_ask_for_every_session_of_its_user(user: TestUser) -> None:
    async with await user.vm() as vm, await user.vm() as second:
        newest = (await user.ok("GET", "/machines"))["items"][0]["id"]
        one = await user.session(machine_id=newest)
        other = await user.session(machine_id=newest, agent_config={"model": "m-9"})
        await second.expect("start_session", lambda sent: sent["data"]["session_id"] == other)
        answer = await second.request(one, "get_session", session_id=other)
        assert answer["result"]["session"]["id"] == other
        assert answer["result"]["agent"]["model"] == "m-9"
        assert vm.of_type("start_session") == []


@pytest.mark.proves("000-4.5-resume-over-all-sessions", "000-3-vm-messages-without-session")
async def test_one_resume_asks_for_requests_of_all_sessions(user: TestUser, gate: Gate) -> None:
    vm = await user.vm()
    sessions = {f"msg-{number}": await user.session() for number in range(3)}
    for request_id, session in sessions.items():
        await vm.send(mcp_call(session, request_id, "gate"))
    await vm.request(sessions["msg-0"], "get_config", agent_id="none")  # behind them on the line
    await vm.drop()
    gate.opened.set()
    async with user.again(vm) as back:

        async def results() -> dict[str, Any]:
            back.received[:] = [one for one in back.received if one["type"] != "resume_response"]
            await back.send({"type": "resume", "pending_ids": list(sessions)})
            return dict((await back.expect("resume_response"))["results"])

        found = await eventually(
            results, lambda one: {entry["status"] for entry in one.values()} == {"completed"}
        )
        assert found.keys() == sessions.keys()


@pytest.mark.proves(
    "000-5.6-user-stops",
    "000-5.6-one-session-only",
    "000-5.6-ends-with-execution-complete",
    "000-5.6-no-cancelled-event",
)
async def test_a_cancel_ends_the_turn_of_its_session_and_of_no_other(user: TestUser) -> None:
    async with await user.vm() as vm:
        session, other = await user.session(), await user.session()
        await user.say(session, "count to a million")
        await user.say(other, "hello")
        await vm.expect("user_message", lambda one: one["session_id"] == other)
        async with user.reader(session) as reader, user.reader(other) as bystander:
            await user.ok("POST", f"/sessions/{session}/cancel", {"reason": "user_cancelled"})
            await vm.expect("cancel")
            await vm.event(session, type="execution_complete", cancelled=True)
            ended = await reader.until_type("execution_complete")
            assert ended["cancelled"] is True
            await vm.text(other, "going on")
            await bystander.until_text("going on")
            kinds = [event.json["type"] for event in reader.events]
            assert kinds == ["user_message", "execution_complete"]
            kinds = [event.json["type"] for event in bystander.events]
            assert kinds == ["user_message", "text_chunk"]
        assert [message["session_id"] for message in vm.of_type("cancel")] == [session]
        await user.until_turns(session, "cancelled")
        assert await user.turn_states(other) == ["sent"]


@pytest.mark.proves("000-5.6-idempotent")
async def test_cancelling_a_finished_turn_changes_nothing(user: TestUser) -> None:
    async with await user.vm() as vm:
        session = await user.session()
        await user.say(session, "hello")
        await vm.expect("user_message")
        await vm.event(session, type="execution_complete", content="done")
        await user.until_turns(session, "completed")
        for _ in range(3):
            assert (await user.call("POST", f"/sessions/{session}/cancel"))[0] == 202
        assert await user.turn_states(session) == ["completed"]
        async with user.reader(session) as reader:
            await reader.until_type("execution_complete")
            assert len(reader.ids) == 2  # the message and its one end
