"""What reaches the log: committed before it is acknowledged, numbered, and of open sessions."""

import pytest

from tests.support.control import Control, LocalControl

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
