"""The Python client over a real server: streams that resume, answers, and nothing left open."""

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.support.control import Control, ControlProcess, TestUser
from tests.support.proxy import CuttableProxy
from tests.support.vm import ScriptedVm
from trunkline.client import (
    ApiError,
    Client,
    Event,
    NoServer,
    SyncClient,
    TimedOut,
    TurnFailed,
    WrongServer,
)

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


async def answered(vm: ScriptedVm, session_id: str, *pieces: str, asks: bool = False) -> None:
    """One turn, as a machine does it."""
    await vm.expect("user_message", lambda one: one["session_id"] == session_id)
    if asks:
        await vm.event(session_id, type="approval_request", request_id="q-1", tool_name="bash")
        await vm.expect("approval_response", lambda one: one["session_id"] == session_id)
    for piece in pieces:
        await vm.event(session_id, type="text_chunk", content=piece)
    await vm.event(session_id, type="usage", tokens_in=3, tokens_out=2)
    await vm.event(session_id, type="execution_complete", content="".join(pieces))


async def test_a_script_asks_answers_questions_and_reads_on_without_a_coroutine(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    asked_in: list[threading.Thread] = []

    def script() -> None:
        with SyncClient(control.url, user.token) as client:
            session = client.sessions.create(title="a script's")

            def allow(event: Event) -> bool:
                asked_in.append(threading.current_thread())
                assert [one.session_id for one in client.sessions.approvals()] == [session.id]
                return bool(event.data["tool_name"] == "bash")

            loop.call_soon_threadsafe(made.set_result, session.id)
            answer = client.sessions.ask(session.id, "Write it.", on_question=allow)
            assert (str(answer), answer.is_cancelled) == ("Done.", False)
            assert answer.usage is not None
            assert answer.usage["tokens_out"] == 2
            assert asked_in == [threading.current_thread()]
            seen = []
            stream = client.sessions.stream(session.id)
            for event in stream:
                seen.append(event)
                if event.ends_turn:
                    break
            assert stream.position == answer.last_event_id
            assert text(seen) == "Done."
            assert [one.id for one in client.sessions.events(session.id)] == [e.id for e in seen]
            assert session.id in [one["id"] for one in client.each("sessions", limit=1)]

    loop = asyncio.get_running_loop()
    made: asyncio.Future[str] = loop.create_future()
    async with asyncio.timeout(BOUND_S):
        running = asyncio.create_task(asyncio.to_thread(script))
        await answered(vm, await made, "Do", "ne.", asks=True)
        await running


async def test_a_notebook_whose_loop_runs_can_wait_in_it(control: Control, user: TestUser) -> None:
    async def cell() -> str:
        client = SyncClient(control.url, user.token)
        return str(client.me()["user"]["id"])

    assert await asyncio.to_thread(lambda: asyncio.run(cell())) == user.id


async def test_a_turn_ends_as_its_machine_says_and_names_no_other(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    async with asyncio.timeout(BOUND_S), Client(control.url, user.token) as client:
        session = await client.sessions.create()
        await client.sessions.send(session.id, "First.")
        second = asyncio.create_task(client.sessions.ask(session.id, "Second."))
        await vm.expect("user_message", lambda one: one["data"]["message"] == "Second.")
        # A machine that names no turn ends the older one first.
        await vm.event(session.id, type="execution_complete", content="of the first")
        code = "MODEL_KEY_MISSING"
        await vm.event(session.id, type="execution_error", error="no key", code=code)
        with pytest.raises(TurnFailed, match="no key") as caught:
            await second
        turns = (await client.sessions.snapshot(session.id))["turns"]
        ids = {one["message"]: one["id"] for one in turns}
        assert (caught.value.code, caught.value.turn_id) == (code, ids["Second."])


async def test_whoever_watches_sees_each_question_once(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    async with (
        asyncio.timeout(BOUND_S),
        CuttableProxy(port_of(control)) as proxy,
        Client(f"http://127.0.0.1:{proxy.port}", user.token) as client,
    ):
        session = await client.sessions.create()
        with pytest.raises(TimedOut, match="nobody asked"):
            await client.sessions.wait_for_approval(timeout_s=0.01)
        with pytest.raises(TimedOut, match="no answer"):
            await client.sessions.ask((await client.sessions.create()).id, "Wait.", timeout_s=0.01)
        await client.sessions.send(session.id, "Ask.")
        await vm.expect("user_message", lambda one: one["data"]["message"] == "Ask.")
        await vm.event(session.id, type="approval_request", request_id="q-1", tool_name="a")
        first = await client.sessions.wait_for_approval(session.id)
        async with aclosing(client.sessions.watch_approvals()) as questions:
            assert (await anext(questions)).id == first.id
            waiting = asyncio.ensure_future(anext(questions))
            proxy.cut()
            await vm.event(session.id, type="approval_request", request_id="q-2", tool_name="b")
            proxy.mend()
            second = await waiting
        assert [one.request["tool_name"] for one in (first, second)] == ["a", "b"]


async def test_the_server_of_a_data_folder_is_found_and_has_to_prove_itself(
    control: Control, user: TestUser, data: Path, tmp_path: Path
) -> None:
    async with Client(token=user.token, data=str(data)) as client:
        assert client.http.url == control.url
        assert (await client.me())["user"]["id"] == user.id
    with pytest.raises(NoServer, match="trunkline up"):
        Client(data=str(tmp_path))
    (tmp_path / "server.json").write_text(f'{{"url": "{control.url}", "key": "another"}}')
    async with Client(token=user.token, data=str(tmp_path)) as client:
        with pytest.raises(WrongServer, match="is shown no token"):
            await client.me()
