"""The records catch up with the log: what was committed to it before a crash is not forgotten.

The crash is a real one: while the test holds the record database's write lock, the log goes on,
and then the process is killed.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.control import ControlProcess, TestUser
from tests.support.eventually import WAIT_S, eventually
from tests.support.told import said
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def control(process: ControlProcess) -> ControlProcess:
    return process


@contextlib.contextmanager
def records_locked(data: Path) -> Iterator[None]:
    """Nobody else writes a record meanwhile; the log has a file of its own."""
    database = sqlite3.connect(data / "trunkline.db", isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        database.execute("ROLLBACK")
        database.close()


async def crash(control: ControlProcess, vm: ScriptedVm) -> None:
    await control.kill()
    await vm.closed()
    await vm.leave()


async def turns(user: TestUser, session: str) -> list[tuple[str, str | None]]:
    snapshot = await user.ok("GET", f"/sessions/{session}/snapshot")
    return [(turn["state"], turn["answer"]) for turn in snapshot["turns"]]


async def waiting(user: TestUser) -> list[str]:
    return [one["request_id"] for one in (await user.ok("GET", "/approvals"))["items"]]


async def heard(user: TestUser, vm: ScriptedVm, session: str, text: str) -> str:
    """A message that the machine has, and whose record says so."""
    turn = await user.say(session, text)
    await said(vm, text)
    await eventually(lambda: turns(user, session), lambda seen: seen[-1][0] == "sent")
    return turn


@pytest.mark.parametrize("named", [False, True])
async def test_a_turn_that_ended_in_the_log_is_ended_in_the_records(
    control: ControlProcess, data: Path, named: bool
) -> None:
    end: dict[str, Any] = {"type": "execution_complete", "content": "done"}
    user = await control.user()
    vm = await user.vm(*(["batch"] if named else []))
    session = await user.session()
    turn = await heard(user, vm, session, "one")
    async with user.reader(session) as reader:
        with records_locked(data):
            await vm.event(session, **(end | {"turn_id": turn} if named else end))
            await reader.until_type(end["type"])
            await crash(control, vm)
    await control.start()
    assert await turns(user, session) == [("completed", "done")]
    # And it has its end: another one is not taken for the next turn's.
    async with user.again(vm) as again:
        await user.say(session, "two")
        await said(again, "two")
        await again.event(session, type="execution_complete", content="answer two")
        await eventually(
            lambda: turns(user, session),
            lambda seen: seen == [("completed", "done"), ("completed", "answer two")],
        )


async def test_of_two_turns_an_end_without_a_name_ends_the_first(
    control: ControlProcess, data: Path
) -> None:
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    await heard(user, vm, session, "one")
    await heard(user, vm, session, "two")
    async with user.reader(session) as reader:
        with records_locked(data):
            await vm.event(session, type="execution_complete", content="answer one")
            await reader.until_type("execution_complete")
            await crash(control, vm)
    await control.start()
    assert await turns(user, session) == [("completed", "answer one"), ("sent", None)]
    async with user.again(vm) as again:
        await again.heartbeat(session)
        await again.event(session, type="execution_complete", content="answer two")
        await eventually(
            lambda: turns(user, session),
            lambda seen: seen == [("completed", "answer one"), ("completed", "answer two")],
        )


async def test_a_question_that_is_in_the_log_waits_for_its_answer(
    control: ControlProcess, data: Path
) -> None:
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    await heard(user, vm, session, "one")
    async with user.reader(session) as reader:
        with records_locked(data):
            await vm.event(session, type="approval_request", request_id="q", tool_name="rm")
            await reader.until_type("approval_request")
            await crash(control, vm)
    await control.start()
    assert await waiting(user) == ["q"]
    async with user.again(vm) as again:
        await again.heartbeat(session)
        await user.ok("POST", "/approvals/q", {"confirmed": True})
        told = await again.expect("approval_response")
        assert told["data"]["confirmed"] is True


async def test_an_answer_that_waited_for_its_machine_survives_a_crash(
    control: ControlProcess,
) -> None:
    user = await control.user()
    vm = await user.vm("seq")
    session = await user.session()
    turn = await heard(user, vm, session, "one")
    asked = {"type": "approval_request", "request_id": "q", "turn_id": turn}
    await vm.event(session, seq=1, **asked)
    await eventually(lambda: waiting(user), lambda seen: seen == ["q"])
    await vm.drop()
    await user.ok("POST", "/approvals/q", {"confirmed": True, "answer": "carefully"})
    await control.kill()
    await control.start()
    again = user.again(vm)
    await again.connect()
    await again.authenticate("seq")
    await again.heartbeat(session)
    await again.send({"type": "resume", "pending_ids": [], "turns": [turn]})
    async with asyncio.timeout(WAIT_S):
        told = await again.expect("approval_response")
    assert told["data"] == {"request_id": "q", "confirmed": True, "answer": "carefully"}
    await again.leave()
