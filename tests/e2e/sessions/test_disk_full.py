"""The control plane's disk is full at any write of a turn: nothing is lost, doubled or wrong.

Each case tells one and the same story, in which one write after the other finds no room: once, or
until there is some again. People try again what was refused, as they would.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.support.control import LocalControl, TestUser
from tests.support.eventually import eventually, until
from tests.support.orgs import admin_of_new_org
from tests.support.sse import SseReader
from tests.support.vm import ScriptedVm
from trunkline.control.tuning import Tuning

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

TOLD = [
    ("user_message", "go"),
    ("text_chunk", "well"),
    ("approval_request", None),
    ("approval_resolved", None),
    ("text_chunk", "done"),
    ("execution_complete", "well, done"),
]
USAGE = {"model": "m-1", "tokens_in": 10, "tokens_out": 5}


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    return Tuning(retry_s=0.01, sweep_s=0.02, stall_s=3600.0)


class House(NamedTuple):
    control: LocalControl
    user: TestUser
    vm: ScriptedVm


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def house(control: LocalControl) -> AsyncIterator[House]:
    user = await admin_of_new_org(control)
    async with await user.vm("seq") as vm:
        yield House(control, user, vm)


async def tried(user: TestUser, method: str, path: str, body: dict[str, Any]) -> Any:
    """As often as it is refused for want of room, whole; with a plain error and code."""

    async def call() -> tuple[int, Any]:
        return await user.call(method, path, body)

    status, answer = await eventually(call, lambda found: found[0] != 507)
    assert status < 300, answer
    return answer


async def story(house: House, name: str) -> str:
    """One session with one turn, and what was used; returns its id."""
    _, user, vm = house
    made = await tried(user, "POST", "/sessions", {"title": name})
    session = str(made["id"])
    async with user.reader(session) as reader:
        said = {"message": "go", "client_message_id": name}
        turn = (await tried(user, "POST", f"/sessions/{session}/messages", said))["turn_id"]
        await vm.expect("user_message", lambda one: one["session_id"] == session)
        await vm.event(session, 1, type="text_chunk", content="well")
        question = {"request_id": f"q-{name}", "tool": "bash", "turn_id": turn}
        await vm.event(session, 2, type="approval_request", **question)
        await reader.until(lambda seen: _kinds(seen)[-1:] == ["approval_request"])
        answer = {"confirmed": True, "session_id": session}
        await tried_once(user, f"/approvals/q-{name}", answer)
        await vm.expect("approval_response", lambda one: one["session_id"] == session)
        await vm.event(session, 3, type="text_chunk", content="done")
        report = {**USAGE, "report_id": f"r-{name}"}
        reported = await vm.request(session, "usage_report", **report)
        assert reported["error"] is None
        end = {"content": "well, done", "turn_id": turn}
        await vm.event(session, 4, type="execution_complete", **end)
        await reader.until(lambda seen: _kinds(seen)[-1:] == ["execution_complete"])
        await user.until_turns(session, "completed")
        await right(user, session, reader)
    return session


async def tried_once(user: TestUser, path: str, body: dict[str, Any]) -> None:
    """An answer: the first one counts, also when its record was late."""

    async def call() -> int:
        return (await user.call("POST", path, body))[0]

    status = await eventually(call, lambda found: found not in (404, 507))
    assert status in (200, 409)


async def right(user: TestUser, session: str, reader: SseReader) -> None:
    """The log, the reader and the records say the same."""
    page = await user.ok("GET", f"/sessions/{session}/events?limit=500")
    logged = [(one["id"], one["event"]) for one in page["items"]]
    assert [number for number, _ in logged] == list(range(1, len(logged) + 1))
    shown = [(data["type"], data.get("content") or data.get("message")) for _, data in logged]
    assert [one for one in shown if one[0] != "session_status"] == TOLD
    seen = [(event.id, event.json) for event in reader.events if event.id is not None]
    assert seen == logged
    assert not [event for event in reader.events if event.name == "resync"]
    (used,) = (await user.ok("GET", f"/usage?session_id={session}"))["items"]
    assert used["calls"] == 1


def _kinds(reader: SseReader) -> list[str]:
    kinds = [event.json["type"] for event in reader.events if event.id is not None]
    return [kind for kind in kinds if kind != "session_status"]


async def freed(control: LocalControl) -> None:
    """Makes room whenever the disk is full and others have met that too, or nobody came."""
    while True:
        await until(lambda: control.writes.is_full)
        met = control.writes.failed
        for _ in range(5):
            if control.writes.failed > met + 2:
                break
            await asyncio.sleep(0.01)
        control.writes.free()


EVERY = 6
"""One write of so many fails. It is done again, which counts: so the failing ones are each time one
further on, and `EVERY - 1` stories have met every write of one."""


@pytest.mark.parametrize("once", [True, False], ids=["once", "until freed"])
async def test_a_full_disk_at_any_write_of_a_turn_leaves_no_wrong_record(
    house: House, once: bool
) -> None:
    control, user, _ = house
    making_room = asyncio.create_task(freed(control))
    for first in range(EVERY - 1):
        control.writes.fail(first, EVERY, once=once)
        await story(house, f"{once}-{first}")
        assert control.writes.failed > 2
        control.writes.heal()
    making_room.cancel()
    listed = await user.ok("GET", "/sessions?limit=200")
    mine = sorted(one["title"] for one in listed["items"] if one["title"].startswith(f"{once}"))
    assert mine == [f"{once}-{first}" for first in range(EVERY - 1)]
