"""MyAgent clients that come back to their place: on any connection, after a restart."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.control import ControlProcess, TestUser
from tests.support.myagent import Json, MyAgentClient, client_of
from tests.support.myagent_page import Page
from tests.support.vm import ScriptedVm
from trunkline.control.tuning import Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    """Pieces that come one at a time are sent one at a time."""
    return Tuning(myagent_pieces_s=0)


async def streamed(client: MyAgentClient, vm: ScriptedVm, count: int) -> str:
    """A session whose answer has so many pieces, all of them received."""
    session = await client.create_session()
    await client.say(session, "count")
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    await pieces(client, vm, session, 0, count)
    return session


async def pieces(
    client: MyAgentClient, vm: ScriptedVm, session: str, first: int, count: int
) -> None:
    """One at a time, so that each is a message of its own."""
    for index in range(first, first + count):
        await vm.text(session, f"{index} ")
        await has_piece(client, session, index)


async def has_piece(client: MyAgentClient, session: str, index: int) -> Json:
    return await client.expect(
        "agent.partial_answer",
        lambda one: one["session_id"] == session and str(index) in one["content"].split(),
    )


def numbers(client: MyAgentClient, session: str) -> list[int]:
    return [int(one) for one in client.text(session).split()]


def at(client: MyAgentClient, session: str, index: int) -> Json:
    """The message with that piece."""
    return next(
        one
        for one in client.of_event("agent.partial_answer", session)
        if one["content"] == f"{index} "
    )


POSITIONS: dict[str, Callable[[Json], Json]] = {
    "event id beside": lambda seen: {"last_event_id": seen["event_id"]},
    "event id in content": lambda seen: {"content": {"last_event_id": seen["event_id"]}},
    "event id in metadata": lambda seen: {"metadata": {"last_event_id": seen["event_id"]}},
    "number beside": lambda seen: {"last_seq": seen["seq"]},
    "number in content": lambda seen: {"content": {"last_seq": seen["seq"]}},
    "number in metadata": lambda seen: {"metadata": {"last_seq": seen["seq"]}},
    "number as text": lambda seen: {"last_seq": str(seen["seq"])},
}


@pytest.mark.parametrize("how", POSITIONS)
@pytest.mark.proves(
    "001-3.1-reconnect",
    "001-7-reconnecting",
)
@pytest.mark.proves("notes-2-replay")
async def test_a_client_gets_what_it_missed_and_then_what_is_new(
    user: TestUser, vm: ScriptedVm, how: str
) -> None:
    async with client_of(user) as first:
        session = await streamed(first, vm, 10)
        seen = at(first, session, 3)
        await first.drop()
    async with client_of(user) as second:
        await second.reconnect(session, **POSITIONS[how](seen))
        await has_piece(second, session, 9)
        await pieces(second, vm, session, 10, 5)
        assert numbers(second, session) == list(range(4, 15))
        indexes = [
            one["metadata"]["chunk_index"] + nth
            for one in second.of_event("agent.partial_answer")
            for nth in range(one["metadata"].get("chunk_count", 1))
        ]
        assert indexes == list(range(4, 15))
        assert [one["seq"] for one in second.received] == list(range(1, len(second.received) + 1))


@pytest.mark.proves("notes-2-reconnect-in-content")
async def test_the_session_may_be_named_in_the_content(user: TestUser, vm: ScriptedVm) -> None:
    async with client_of(user) as first:
        session = await streamed(first, vm, 5)
        seen = at(first, session, 1)
    async with client_of(user) as second:
        content = {"session_id": session, "last_seq": seen["seq"]}
        await second.send("user.reconnect", content=content)
        await has_piece(second, session, 4)
        assert numbers(second, session) == [2, 3, 4]


async def test_what_was_missed_while_nobody_was_connected_comes_without_a_position(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as first:
        session = await streamed(first, vm, 5)
    async with client_of(user) as second:
        await vm.text(session, *(f"{index} " for index in range(5, 8)))
        await second.reconnect(session)
        await has_piece(second, session, 7)
        assert numbers(second, session) == [5, 6, 7]


async def test_without_a_position_everything_after_the_last_acknowledgement_comes(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as first:
        session = await streamed(first, vm, 6)
        await first.send("user.ack", content={"last_seq": at(first, session, 2)["seq"]})
        await first.answered()
        await first.drop()
    async with client_of(user) as second:
        await second.reconnect(session)
        await has_piece(second, session, 5)
        assert numbers(second, session) == [3, 4, 5]


async def test_a_session_that_was_never_followed_is_shown_from_the_beginning(
    user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    await user.say(session, "count")
    await vm.expect("user_message")
    await vm.text(session, *(f"{index} " for index in range(4)))
    async with client_of(user) as client:
        await client.reconnect(session)
        await has_piece(client, session, 3)
        assert numbers(client, session) == [0, 1, 2, 3]


async def test_a_page_that_was_loaded_anew_asks_for_everything_as_often_as_it_likes(
    user: TestUser, vm: ScriptedVm
) -> None:
    """The greeting has number 1: who has got 0 has got nothing, on whichever connection."""
    async with client_of(user) as first:
        session = await streamed(first, vm, 4)
    for _ in range(2):
        async with client_of(user) as page:
            await page.reconnect(session)  # on from where the last connection was: nothing
            await page.answered()
            assert numbers(page, session) == []
            await page.reconnect(session, last_seq=0)
            await has_piece(page, session, 3)
            assert numbers(page, session) == [0, 1, 2, 3]


async def test_a_client_that_left_in_the_middle_of_its_replay_loses_nothing(
    user: TestUser, vm: ScriptedVm
) -> None:
    """It reconnects from the first piece, gets nothing of it, and comes back with the number of
    the greeting: it goes on where the second connection would have begun."""
    async with client_of(user) as first:
        session = await streamed(first, vm, 10)
        seen = at(first, session, 2)
    async with client_of(user) as second:
        await second.reconnect(session, last_event_id=seen["event_id"])
        await second.expect("agent.partial_answer")
        greeting = second.received[0]["event_id"]
    async with client_of(user) as third:
        await third.reconnect(session, last_event_id=greeting)
        await has_piece(third, session, 9)
        assert numbers(third, session) == list(range(3, 10))


async def test_a_reconnect_on_the_same_connection_replays_without_doubling_what_is_live(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as client:
        session = await streamed(client, vm, 5)
        await client.reconnect(session, last_seq=at(client, session, 2)["seq"])
        await client.answered()
        await pieces(client, vm, session, 5, 2)
        assert numbers(client, session) == [0, 1, 2, 3, 4, 3, 4, 5, 6]


async def test_who_follows_already_and_names_no_position_is_told_nothing_twice(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as client:
        session = await streamed(client, vm, 5)
        await client.reconnect(session)
        await client.answered()
        await pieces(client, vm, session, 5, 2)
        assert numbers(client, session) == list(range(7))


async def test_two_devices_follow_one_session_and_each_returns_to_its_own_place(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as phone, client_of(user) as desk:
        session = await streamed(phone, vm, 5)
        await desk.reconnect(session)
        await desk.answered()
        await phone.drop()
        await pieces(desk, vm, session, 5, 5)
        await returns(user, phone, session, 1)
        await desk.drop()
        await returns(user, desk, session, 7)
        await returns(user, phone, session, 3)


async def returns(user: TestUser, device: MyAgentClient, session: str, last: int) -> None:
    """On a new connection, having got that piece of ten on its old one."""
    async with client_of(user) as again:
        await again.reconnect(session, last_event_id=at(device, session, last)["event_id"])
        await has_piece(again, session, 9)
        assert numbers(again, session) == list(range(last + 1, 10))


@pytest.mark.parametrize("ending", ["kill", "terminate"])
@pytest.mark.proves("001-7-reconnecting")
async def test_positions_survive_a_restart_of_the_control_plane(
    tmp_path: Path, ending: str
) -> None:
    control = ControlProcess(tmp_path / "process", rate_limit_per_minute=0)
    await control.start()
    user = await control.user()
    vm = await user.vm()
    first = await client_of(user).connect()
    session = await streamed(first, vm, 20)
    seen = at(first, session, 6)
    await getattr(control, ending)()
    await first.closed()
    await first.leave()
    await vm.leave()
    await control.start()
    try:
        async with client_of(user) as second, user.again(vm) as vm:
            await second.reconnect(session, last_event_id=seen["event_id"])
            await has_piece(second, session, 19)
            await vm.text(session, "20 ")
            await has_piece(second, session, 20)
            got = numbers(second, session)
            # After a kill the newest positions may be missing: repeats, never a gap.
            assert got == list(range(got[0], 21))
            assert got[0] == 7 if ending == "terminate" else got[0] <= 7
    finally:
        await control.terminate()


@pytest.mark.proves("notes-2-own-reconnect")
@pytest.mark.parametrize("ending", ["kill", "terminate"])
async def test_a_page_gets_the_rest_without_asking_after_a_restart_too(
    tmp_path: Path, ending: str
) -> None:
    async with ControlProcess(tmp_path / "process", rate_limit_per_minute=0) as control:
        user = await control.user()
        async with await user.vm() as vm, Page(user) as page, client_of(user) as done:
            ended = await streamed(done, vm, 1)
            await vm.event(ended, type="execution_complete", content="0 ")
            await done.expect("agent.final_answer")
            session = await streamed(page, vm, 5)
            await page.has_acknowledged()
            page.fall_silent()
            await getattr(control, ending)()
        await control.start()
        async with user.again(vm) as vm:
            again = await page.come_back()
            await vm.text(session, "5 ")
            await has_piece(again, session, 5)
            await vm.event(session, type="execution_complete", content="all")
            await again.expect("agent.final_answer")
            await again.leave()
            assert not again.is_busy
            assert again.of_session(ended) == []
            got = numbers(again, session)
            # After a kill the newest positions may be missing: repeats, never a gap.
            assert got == list(range(got[0], 6))
            assert got[0] == 5 if ending == "terminate" else got[0] <= 5


async def test_an_acknowledgement_survives_a_restart_of_the_control_plane(tmp_path: Path) -> None:
    async with ControlProcess(tmp_path / "process", rate_limit_per_minute=0) as control:
        user = await control.user()
        async with await user.vm() as vm, client_of(user) as first:
            session = await streamed(first, vm, 10)
            await first.send("user.ack", content={"last_seq": at(first, session, 2)["seq"]})
            await first.answered()
            await control.kill()
        await control.start()
        async with client_of(user) as second:
            await second.reconnect(session)
            await has_piece(second, session, 9)
            assert numbers(second, session) == list(range(3, 10))


@pytest.mark.parametrize("position", [{"last_seq": 999_999}, {"last_event_id": "{own}-77777"}])
async def test_a_number_that_was_not_given_out_yet_means_everything_so_far(
    user: TestUser, vm: ScriptedVm, position: Json
) -> None:
    async with client_of(user) as client:
        session = await streamed(client, vm, 3)
        own = client.connection_id
        given = {name: str(one).format(own=own) for name, one in position.items()}
        await client.reconnect(session, **given)
        await client.answered()
        await pieces(client, vm, session, 3, 1)
        assert numbers(client, session) == [0, 1, 2, 3]


@pytest.mark.proves("001-7-steps-stay-the-same")
async def test_steps_and_questions_keep_their_ids_on_every_connection(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as first:
        session = await streamed(first, vm, 1)
        await vm.event(session, type="tool_call_start", tool_name="bash", tool_call_id="c1")
        await vm.event(
            session, type="approval_request", request_id="q 1", tool_name="bash", message="?"
        )
        call = await first.expect("agent.tool_call")
        asked = await first.expect("agent.user_confirm")
    async with client_of(user) as second:
        await second.reconnect(session, last_event_id=at(first, session, 0)["event_id"])
        assert (await second.expect("agent.tool_call"))["step_id"] == call["step_id"]
        assert (await second.expect("agent.user_confirm"))["step_id"] == asked["step_id"]
        await vm.event(session, type="tool_call_complete", tool_name="bash", tool_call_id="c1")
        assert (await second.expect("agent.tool_result"))["step_id"] == call["step_id"]


@pytest.mark.proves("001-7-batched-delivery")
@pytest.mark.proves("notes-2-pieces-are-deltas")
async def test_replays_and_live_events_meet_without_a_gap_while_a_machine_streams(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as first:
        session = await streamed(first, vm, 1)

    async def stream() -> None:
        for start in range(1, 1001, 50):
            await vm.text(session, *(f"{index} " for index in range(start, start + 50)))

    async def follow() -> None:
        async with client_of(user) as client:
            await client.reconnect(session, last_event_id=first.last_event_id)
            await has_piece(client, session, 1000)
            assert numbers(client, session) == list(range(1, 1001))

    await asyncio.gather(stream(), *(follow() for _ in range(4)))
    async with client_of(user) as late:
        await late.reconnect(session)
        await pieces(late, vm, session, 1001, 1)
        piece = late.of_event("agent.partial_answer")[-1]
        assert piece["metadata"]["chunk_index"] == 1001, "counted over the whole turn"
