"""A session moves to another machine of its user: nothing is lost, nothing is said twice."""

import asyncio
from typing import Any

import pytest

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.vm import ScriptedVm

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


async def machine(user: TestUser, *capabilities: str) -> tuple[str, ScriptedVm]:
    made = await user.schedule()
    vm = ScriptedVm(made["ws_url"], user.id, made["token"], made["ticket"])
    await vm.connect()
    await vm.authenticate(*capabilities)
    return made["vm_id"], vm


async def move(user: TestUser, session: str, machine_id: str) -> dict[str, Any]:
    moved: dict[str, Any] = await user.ok(
        "PATCH", f"/sessions/{session}", {"machine_id": machine_id}
    )
    return moved


async def started(vm: ScriptedVm, session: str, times: int = 1) -> dict[str, Any]:
    """The nth `start_session` that this machine got."""

    def starts() -> list[dict[str, Any]]:
        found = [one["data"] for one in vm.of_type("start_session")]
        return [one for one in found if one["session_id"] == session]

    await vm.expect("start_session", lambda _one: len(starts()) >= times)
    return starts()[times - 1]


async def said(vm: ScriptedVm, message: str) -> dict[str, Any]:
    return await vm.expect("user_message", lambda one: one["data"]["message"] == message)


async def test_a_moved_session_goes_on_where_it_is_now(user: TestUser) -> None:
    first_id, first = await machine(user)
    second_id, second = await machine(user)
    async with first, second:
        session = await user.session(machine_id=first_id)
        await started(first, session)
        await first.heartbeat(session)
        async with user.reader(session) as reader:
            await user.say(session, "Hello")
            await said(first, "Hello")
            await first.event(session, type="execution_complete", content="Hi")
            await reader.until_type("execution_complete")
            snapshot = {"checkpoint": {"step": 7}}
            report = {"type": "fire_and_forget", "session_id": session, "method": "snapshot_sync"}
            await first.send({**report, "params": snapshot})
            await first.request(session, "usage_report", model="m", tokens_in=1, tokens_out=1)
            moved = await move(user, session, second_id)
            assert moved["machine_id"] == second_id
            assert (await started(second, session))["snapshot"] == snapshot
            stop = await first.expect("stop_session")
            # With this reason a machine keeps the session's files: it may come back.
            assert stop["data"] == {"session_id": session, "reason": "timeout"}
            status = await reader.until_type("session_status")
            assert (status["machine"], status["machine_id"]) == ("online", second_id)
            await user.say(session, "And now?")
            message = await said(second, "And now?")
            assert [one["content"] for one in message["data"]["history"]] == ["Hello", "Hi"]
            await first.text(session, "from the old one")
            await first.expect("error", lambda one: one["session_id"] == session)
            await second.text(session, "from the new one")
            await reader.until_text("from the new one")
            assert "from the old one" not in "".join(reader.texts())
        assert [one["data"]["message"] for one in first.of_type("user_message")] == ["Hello"]
        assert len(second.of_type("start_session")) == 1
        entries = (await user.ok("GET", "/audit"))["items"]
        [entry] = [one for one in entries if one["event"] == "session.moved"]
        assert entry["details"] == {"from": first_id, "to": second_id}


async def test_a_machine_that_was_away_is_told_that_the_session_is_not_its_own_any_more(
    user: TestUser,
) -> None:
    first_id, first = await machine(user, "seq")
    second_id, second = await machine(user, "seq")
    async with second:
        session = await user.session(machine_id=first_id)
        assert (await started(first, session))["acked"] == 0
        await first.heartbeat(session)
        await first.event(session, seq=1, type="text_chunk", content="one ")
        await first.expect("ack", lambda one: one["acked"] == {session: 1})
        await first.drop()
        # Held for a machine that may come back: it must not start the session there again.
        await user.ok("PATCH", f"/sessions/{session}/config", {"temperature": 0.5})
        await user.say(session, "Are you there?")
        await move(user, session, second_id)
        start = await started(second, session)
        assert (start["acked"], start["agent_config"]["temperature"]) == (1, 0.5)
        await second.event(session, seq=2, type="text_chunk", content="two")
        again = user.again(first)
        await again.connect()
        init = await again.authenticate("seq")
        assert init["data"]["acked"] == {}
        await again.heartbeat(session)
        await again.expect("stop_session", lambda one: one["data"]["session_id"] == session)
        await again.event(session, seq=2, type="text_chunk", content="forked")
        await again.expect("error", lambda one: one["session_id"] == session)
        # What it has used there until then is used.
        usage = {"model": "m", "tokens_in": 3, "tokens_out": 1, "report_id": "r-1"}
        assert (await again.request(session, "usage_report", **usage))["error"] is None
        assert (await again.request(session, "get_config"))["error"]["code"] == "SESSION_NOT_FOUND"
        async with user.reader(session) as reader:
            await reader.until_text("two")
            assert "".join(reader.texts()) == "one two"
        kinds = {one["type"] for one in again.received}
        assert kinds == {"init", "stop_session", "error", "response"}
        await again.leave()


async def test_a_session_can_be_saved_from_a_machine_that_is_gone_for_good(
    user: TestUser,
) -> None:
    first_id, first = await machine(user)
    session = await user.session(machine_id=first_id)
    await first.leave()
    await user.ok("DELETE", f"/machines/{first_id}")
    status, _ = await user.call("POST", f"/sessions/{session}/messages", {"message": "?"})
    assert status == 503
    second_id, second = await machine(user)
    async with second:
        await move(user, session, second_id)
        await started(second, session)
        await user.say(session, "Hello again")
        await said(second, "Hello again")


async def test_messages_and_moves_at_once_leave_no_turn_open_and_answer_none_twice(
    user: TestUser,
) -> None:
    machines = dict([await machine(user), await machine(user), await machine(user)])
    session = await user.session(machine_id=next(iter(machines)))

    async def answer(vm: ScriptedVm) -> None:
        answered = 0
        while vm.close_code is None:
            messages = vm.of_type("user_message")
            for _ in messages[answered:]:
                await vm.event(session, type="execution_complete", content="ok")
            answered = len(messages)
            await asyncio.sleep(0)

    answering = [asyncio.create_task(answer(vm)) for vm in machines.values()]
    path = f"/sessions/{session}"
    work: list[Any] = [user.say(session, str(number)) for number in range(12)]
    for number in range(9):
        machine_id = list(machines)[number % 3]
        work.insert(number * 2, user.call("PATCH", path, {"machine_id": machine_id}))
    results = await asyncio.gather(*work)
    codes = {one[0] for one in results if isinstance(one, tuple)}
    assert codes <= {200, 409}

    async def open_turns() -> list[str]:
        turns = (await user.ok("GET", f"{path}/snapshot"))["turns"]
        assert len(turns) == 12
        return [one["id"] for one in turns if one["state"] in ("queued", "sent")]

    await eventually(open_turns, lambda turns: not turns)
    events = (await user.ok("GET", f"{path}/events?limit=1000"))["items"]
    ended = [one["event"].get("turn_id") for one in events if "execution_e" in str(one["event"])]
    named = [one for one in ended if one is not None]
    assert len(named) == len(set(named))
    for vm in machines.values():
        await vm.leave()
    await asyncio.gather(*answering)
