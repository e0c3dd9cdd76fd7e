"""What settings and bounds change for MyAgent clients, and machines that are away."""

from pathlib import Path

import pytest

from tests.support.control import TestUser, running
from tests.support.myagent import Json, client_of
from tests.support.vm import ScriptedVm
from trunkline.control.tuning import Tuning


async def turn(user: TestUser, vm: ScriptedVm, session: str) -> None:
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    await vm.event(session, type="tool_call_complete", tool_name="x", result="42")
    await vm.event(session, type="execution_complete", content="it is 42")


@pytest.mark.proves(
    "001-3.2-llm-message",
    "001-5-llm-messages-off-by-default",
)
async def test_llm_messages_come_with_the_setting_and_not_without(tmp_path: Path) -> None:
    for wanted in (False, True):
        async with running(tmp_path / str(wanted), send_llm_message=wanted) as control:
            user = await control.user()
            async with await user.vm() as vm, client_of(user) as client:
                session = await client.create_session()
                await client.say(session, "what is it?")
                await turn(user, vm, session)
                await client.expect("agent.final_answer")
                told = client.of_event("agent.llm_message", session)
                roles = [(one["metadata"]["role"], one["content"]) for one in told]
                all_ = [("user", "what is it?"), ("tool", "42"), ("assistant", "it is 42")]
                assert roles == (all_ if wanted else [])


async def test_a_client_returns_between_two_messages_of_one_event(tmp_path: Path) -> None:
    async with running(tmp_path / "data", send_llm_message=True) as control:
        user = await control.user()
        async with await user.vm() as vm:
            async with client_of(user) as first:
                session = await first.create_session()
                await first.say(session, "what is it?")
                await turn(user, vm, session)
                await first.expect("agent.final_answer")
            told = without_busy(first.of_session(session))
            everything = [one["event"] for one in told]
            assert everything[2:4] == ["agent.tool_result", "agent.llm_message"]
            for index in range(1, len(everything)):
                async with client_of(user) as again:
                    seen = told[index - 1]
                    await again.reconnect(session, last_event_id=seen["event_id"])
                    await again.answered()
                    got = [one["event"] for one in without_busy(again.of_session(session))]
                    assert got == everything[index:], f"after message {index}"


def without_busy(messages: list[Json]) -> list[Json]:
    """Without those that only say that a turn runs."""
    return [one for one in messages if one["metadata"].get("stage") != "turn"]


async def test_without_a_machine_there_is_no_session(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control, client_of(await control.user()) as client:
        await client.send("user.create_session")
        fault = await client.fault("NO_MACHINE")
        assert fault["event"] == "system.error"


async def test_a_connection_follows_so_many_sessions_and_ended_ones_do_not_count(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", tuning=Tuning(myagent_sessions_max=2)) as control:
        user = await control.user()
        async with await user.vm(), client_of(user) as client:
            first = await client.create_session()
            await client.create_session()
            await client.send("user.create_session")
            await client.fault("LIMIT_REACHED")
            assert len(client.of_event("agent.session_created")) == 2
            await user.ok("DELETE", f"/sessions/{first}")
            await client.expect("agent.session_end")
            await client.create_session()


async def test_a_session_that_is_removed_with_its_user_leaves_the_connection_closed(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        vm = await user.vm()
        client = await client_of(user).connect()
        await client.create_session()
        await control.ok("DELETE", f"/users/{user.id}")
        assert await client.closed() == 1008
        await client.leave()
        await vm.leave()
