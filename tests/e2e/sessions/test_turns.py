"""Turns end exactly once, in the log and in the records, whatever a machine sends."""

from typing import Any

import pytest

from tests.support.control import Control, LocalControl
from tests.support.eventually import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return {"machine_away_s": 1.0}


async def test_a_turn_that_was_ended_for_a_lost_machine_does_not_hide_the_next_ones_end(
    control: Control,
) -> None:
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    await user.say(session, "one")
    await vm.expect("user_message")
    async with user.reader(session) as reader:
        await vm.drop()
        error = await reader.until_type("execution_error")
        assert error["code"] == "MACHINE_OFFLINE"
        async with user.again(vm) as again:
            await user.say(session, "two")
            await again.expect("user_message")
            await again.event(session, type="execution_complete", content="answer two")
            done = await reader.until_type("execution_complete")
            assert done["content"] == "answer two"

            async def both_ended() -> bool:
                return await user.turn_states(session) == ["failed", "completed"]

            await eventually(both_ended)


async def test_the_late_end_of_a_turn_that_was_ended_already_is_not_shown(
    control: Control,
) -> None:
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    await user.say(session, "one")
    await vm.expect("user_message")
    async with user.reader(session) as reader:
        await vm.drop()
        await reader.until_type("execution_error")
        async with user.again(vm) as again:
            await again.event(session, type="execution_complete", content="too late")
            await again.text(session, "marker")
            await reader.until_text("marker")
            kinds = [event.json["type"] for event in reader.events]
            assert "execution_complete" not in kinds


@pytest.mark.parametrize(
    "odd",
    [
        {"cancelled": None},
        {"final_response": {"answer": "x"}},
        {"request_id": 7},
        {"turn_id": 7},
        {"turn_id": "an id of its own"},
    ],
)
async def test_an_odd_field_does_not_hide_a_turns_end(
    control: Control, odd: dict[str, Any]
) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        await user.say(session, "hello")
        await vm.expect("user_message")
        await vm.event(session, type="execution_complete", content="done", **odd)

        async def ended() -> bool:
            return await user.turn_states(session) == ["completed"]

        await eventually(ended)


async def test_words_inside_a_text_do_not_end_a_turn(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        await user.say(session, "hello")
        await vm.expect("user_message")
        async with user.reader(session) as reader:
            await vm.text(session, 'say "execution_complete" {"type":"execution_complete"}')
            await vm.text(session, "marker")
            await reader.until_text("marker")
        assert await user.turn_states(session) == ["sent"]


async def test_only_what_is_committed_is_acknowledged_after_a_reconnect(
    control: LocalControl,
) -> None:
    user = await control.user()
    vm = await user.vm("seq")
    session = await user.session()
    await vm.expect("start_session")
    control.disk.stop()
    await vm.event(session, seq=1, type="text_chunk", content="x")
    await control.disk.reached.wait()
    await vm.drop()
    again = user.again(vm)
    await again.connect()
    init = await again.authenticate("seq")
    control.disk.heal()
    assert init["data"]["acked"] == {}
    await again.expect("ack", lambda message: message["acked"] == {session: 1})
    await again.leave()


async def test_a_gap_before_the_first_event_is_a_resync(control: Control) -> None:
    user = await control.user()
    async with await user.vm("seq") as vm:
        session = await user.session()
        assert (await vm.expect("start_session"))["data"]["acked"] == 0
        async with user.reader(session) as reader:
            await vm.event(session, seq=3, type="text_chunk", content="third")
            await reader.until_text("third")
            assert [event.name for event in reader.events] == ["resync", "message", "message"]
            assert reader.events[1].json["lost_events"] == 2


async def test_cancelling_a_closed_session_is_silently_ignored(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        await user.ok("DELETE", f"/sessions/{session}")
        assert (await user.call("POST", f"/sessions/{session}/cancel"))[0] == 202
        await vm.expect("stop_session")
        assert vm.of_type("cancel") == []


async def test_the_last_words_of_a_session_that_was_told_to_stop_are_taken(
    control: Control,
) -> None:
    """004 §5: a session that stops reports its snapshot after `stop_session`."""
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        await user.ok("DELETE", f"/sessions/{session}")
        await vm.expect("stop_session")
        params = {"checkpoint": {"step": 1}, "short_term_memory": {}}
        await vm.send(
            {
                "type": "fire_and_forget",
                "session_id": session,
                "method": "snapshot_sync",
                "params": params,
            }
        )
        await vm.text(session, "goodbye")
        async with user.reader(session) as reader:
            await reader.until_text("goodbye")
        assert vm.of_type("error") == []


async def test_a_session_that_was_closed_while_its_machine_was_away_is_stopped_on_return(
    control: Control,
) -> None:
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    await vm.expect("start_session")
    async with user.reader(session) as reader:
        await vm.drop()
        await reader.until(
            lambda one: any(event.json.get("machine") == "gone" for event in one.events), "gone"
        )
    await user.ok("DELETE", f"/sessions/{session}")
    async with user.again(vm) as again:
        await again.heartbeat(session)
        stop = await again.expect("stop_session")
        assert stop["data"] == {"session_id": session, "reason": "user_closed"}
