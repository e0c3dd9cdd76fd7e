"""The Python client over a real server: streams that resume, answers, and nothing left open."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.support.control import Control, ControlProcess, TestUser
from tests.support.proxy import CuttableProxy
from tests.support.vm import ScriptedVm
from trunkline.client import ApiError, Client, Event

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOUND_S = 60


def port_of(control: Control) -> int:
    return int(control.url.rpartition(":")[2])


def text(events: list[Event]) -> str:
    return "".join(event.data["content"] for event in events if event.type == "text_chunk")


async def test_a_stream_that_is_cut_again_and_again_loses_nothing_and_repeats_nothing(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    async with (
        asyncio.timeout(BOUND_S),
        CuttableProxy(port_of(control)) as proxy,
        Client(f"http://127.0.0.1:{proxy.port}", user.token) as client,
    ):
        session = await client.sessions.create()
        await client.sessions.send(session.id, "Count.")
        await vm.expect("user_message")
        found: list[Event] = []
        async with aclosing(aiter(client.sessions.stream(session.id))) as events:
            await vm.text(session.id, "0 ")
            async for event in events:
                found.append(event)
                if event.ends_turn:
                    break
                if event.type == "text_chunk":
                    number = int(event.data["content"])
                    proxy.cut()
                    if number < 9:
                        await vm.text(session.id, f"{number + 1} ")
                    else:
                        await vm.event(session.id, type="execution_complete", content="done")
                    proxy.mend()
        assert text(found) == "0 1 2 3 4 5 6 7 8 9 "
        ids = [event.id for event in found if event.id is not None]
        assert ids == list(range(1, len(ids) + 1))


async def test_a_question_can_be_answered_the_moment_its_event_is_seen(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    async with asyncio.timeout(BOUND_S), Client(control.url, user.token) as client:
        session = await client.sessions.create()
        await client.sessions.send(session.id, "Write it.")
        await vm.expect("user_message")
        await vm.event(session.id, type="approval_request", request_id="q-1", tool_name="bash")
        async with aclosing(aiter(client.sessions.stream(session.id))) as events:
            async for event in events:
                if event.type == "approval_request":
                    name = event.data["request_id"]
                    given = await client.sessions.answer(name, True, session_id=session.id)
                    assert given.state != "pending"
                    break
        with pytest.raises(ApiError) as caught:
            await client.sessions.answer("q-1", False, session_id=session.id)
        assert (caught.value.status, caught.value.code) == (409, "ALREADY_ANSWERED")
        assert await client.sessions.approvals(session.id) == []


async def test_a_message_whose_answer_is_lost_is_said_once(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    async with (
        asyncio.timeout(BOUND_S),
        CuttableProxy(port_of(control)) as proxy,
        Client(f"http://127.0.0.1:{proxy.port}", user.token) as client,
    ):
        session = await client.sessions.create()
        proxy.lose_answer()
        turn_id = await client.sessions.send(session.id, "Once.")
        assert proxy.answers_lost == 1
        after = await client.sessions.send(session.id, "And then.")
        await vm.expect("user_message", lambda one: one["data"]["message"] == "And then.")
        heard = [one["data"]["message"] for one in vm.of_type("user_message")]
        log = [event async for event in client.sessions.events(session.id)]
        said = [one.data["turn_id"] for one in log if one.type == "user_message"]
        turns = (await client.sessions.snapshot(session.id))["turns"]
        assert heard == ["Once.", "And then."]
        assert said == [turn_id, after]
        assert sorted(turn["id"] for turn in turns) == sorted([turn_id, after])


async def test_a_stream_goes_on_when_the_server_was_killed_and_is_back(tmp_path: Path) -> None:
    async with ControlProcess(tmp_path / "data") as control:
        user = await control.user()
        async with asyncio.timeout(BOUND_S), Client(control.url, user.token) as client:
            async with await user.vm() as vm:
                session = await client.sessions.create()
                await client.sessions.send(session.id, "Before.")
                await vm.expect("user_message")
                await vm.text(session.id, "one")
                events = aiter(client.sessions.stream(session.id))
                seen = [await anext(events)]
                while seen[-1].type != "text_chunk":
                    seen.append(await anext(events))
            await control.kill()
            waiting = asyncio.ensure_future(anext(events))
            await control.start()
            await client.sessions.close(session.id)
            after = [await waiting]
            while after[-1].type != "session_closed":
                after.append(await anext(events))
            ids = [event.id for event in (*seen, *after)]
            assert ids == list(range(1, len(ids) + 1))
            await events.aclose()
