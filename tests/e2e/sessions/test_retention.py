"""What is older, or more, than is kept goes: with its turns, never under anybody's hands."""

from random import Random
from typing import Any

import pytest

from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser
from tests.support.eventually import eventually
from tests.support.metrics import metric
from tests.support.told import said
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")

DAY_S = 24 * 3600
LARGE = Random(16).randbytes(60_000).hex()
"""More than is kept in one piece, and not to be made much smaller."""


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


async def turn(user: TestUser, vm: ScriptedVm, session: str, word: str) -> None:
    """One that has ended, with an answer that has its own place in the store."""
    await user.say(session, word)
    await vm.expect(
        "user_message", lambda one: (one["session_id"], one["data"]["message"]) == (session, word)
    )
    await vm.text(session, LARGE)
    await vm.event(session, type="execution_complete", content=f"answer to {word}")
    await eventually(
        lambda: user.ok("GET", f"/sessions/{session}/snapshot"),
        lambda found: all(one["state"] == "completed" for one in found["turns"]),
    )


async def sweep(control: LocalControl) -> None:
    await control.core.log.flushed()
    await control.core.segments.fold(all=True)
    await control.core.sweeper.sweep()


async def page(user: TestUser, session: str, **query: Any) -> Any:
    given = "&".join(f"{name}={value}" for name, value in query.items())
    return await user.ok("GET", f"/sessions/{session}/events?limit=1000&{given}")


async def keep(user: TestUser, session: str, **bounds: Any) -> Any:
    return await user.ok("PUT", f"/sessions/{session}/retention", bounds)


async def test_what_is_old_goes_with_its_turns_and_readers_are_told(
    control: LocalControl, user: TestUser, vm: ScriptedVm, clock: FakeClock
) -> None:
    session, kept = await user.session(), await user.session()
    for one in (session, kept):
        await turn(user, vm, one, "kumquat")
    me = await user.ok("GET", "/me")
    await user.ok("PUT", f"/orgs/{me['org']['id']}/retention", {"days": 30})
    clock.advance(20 * DAY_S)
    await sweep(control)
    before = await page(user, session)
    assert before["first_id"] == 1
    await turn(user, vm, kept, "lychee")
    clock.advance(20 * DAY_S)
    await sweep(control)

    gone = await page(user, session)
    assert (gone["items"], gone["next_after"]) == ([], None)
    last = before["items"][-1]["id"]
    assert gone["first_id"] == last + 1
    assert (await user.ok("GET", f"/sessions/{session}/snapshot"))["turns"] == []
    rest = await page(user, kept)
    assert 1 < rest["first_id"] == rest["items"][0]["id"]
    assert rest["items"][-1]["event"]["content"] == "answer to lychee"
    older = await page(user, kept, before=rest["first_id"])
    assert (older["items"], older["next_before"]) == ([], None)
    hits = await user.ok("GET", "/sessions/search?q=kumquat")
    said_there = [one for one in hits["items"] if one["session_id"] == session]
    assert {one["where"] for one in said_there} == {"title"}
    assert (await page(user, session, after=1))["resync"] is True

    reader = await user.reader(session, last_event_id=1).open()
    await turn(user, vm, session, "mango")
    await reader.until_text(LARGE)
    await reader.leave()
    assert [one.id for one in reader.events][:2] == [None, last + 1]
    assert await metric(control, "retention_events_cut_total") > 0
    assert await metric(control, "retention_bytes_cut_total") > 0


async def test_a_turn_under_way_and_a_question_that_waits_stay(
    control: LocalControl, user: TestUser, vm: ScriptedVm, clock: FakeClock
) -> None:
    busy, asked = await user.session(), await user.session()
    for one in (busy, asked):
        await keep(user, one, days=1, size_bytes=64 * 1024)
        await turn(user, vm, one, "first")
        clock.advance(1)
    await user.say(busy, "second")
    await said(vm, "second")
    await vm.text(busy, LARGE, LARGE)
    await vm.event(asked, type="approval_request", request_id="q", message="May I?")
    await vm.text(asked, LARGE)
    await eventually(
        lambda: user.ok("GET", f"/approvals?session_id={asked}"), lambda found: found["items"]
    )
    clock.advance(10 * DAY_S)
    await sweep(control)
    found = await page(user, busy)
    assert found["first_id"] > 1
    shown = [one["event"].get("content") for one in found["items"]]
    assert (shown.count("second"), shown.count(LARGE)) == (1, 2)
    turns = (await user.ok("GET", f"/sessions/{busy}/snapshot"))["turns"]
    assert turns[-1]["message"] == "second"
    found = await page(user, asked)
    assert found["first_id"] > 1
    kinds = [one["event"]["type"] for one in found["items"]]
    assert kinds.count("approval_request") == 1
    assert (await user.ok("GET", f"/approvals?session_id={asked}"))["items"]


async def test_more_than_is_kept_of_a_session_goes_from_its_front(
    control: LocalControl, user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    await turn(user, vm, session, "one")
    for number in range(4):
        await turn(user, vm, session, f"more {number}")
    await control.core.segments.fold(all=True)
    whole = (await user.ok("GET", f"/sessions/{session}/retention"))["stored_bytes"]
    await keep(user, session, size_bytes=whole // 2)
    await sweep(control)
    kept = await user.ok("GET", f"/sessions/{session}/retention")
    assert kept["stored_bytes"] <= whole // 2
    assert kept["first_event_id"] > 1
    assert (await page(user, session))["items"][-1]["event"]["content"] == "answer to more 3"


async def test_what_is_not_packed_yet_counts_as_if_it_were(
    control: LocalControl, user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    await keep(user, session, size_bytes=64 * 1024)
    for _ in range(4):
        await vm.text(session, "again and again " * 10_000)
    await eventually(
        lambda: user.ok("GET", f"/sessions/{session}"), lambda one: one["last_event_id"] >= 4
    )
    await control.core.sweeper.sweep()
    assert (await user.ok("GET", f"/sessions/{session}/retention"))["first_event_id"] == 1


async def test_what_is_cut_in_two_steps_is_cut_after_a_fault_between_them(
    control: LocalControl, user: TestUser, vm: ScriptedVm, clock: FakeClock
) -> None:
    session = await user.session()
    await turn(user, vm, session, "one")
    await keep(user, session, days=1)
    clock.advance(2 * DAY_S)
    log = await control.core.log.open(session)
    log.reads += 1  # as somebody who reads page by page
    await sweep(control)
    assert log.first_id == 1
    log.reads -= 1
    await sweep(control)
    assert (await page(user, session))["items"] == []


BAD: list[tuple[dict[str, Any], int]] = [
    ({"days": 0}, 400),
    ({"days": -1}, 400),
    ({"days": 36_501}, 400),
    ({"days": 1.5}, 400),
    ({"days": "1"}, 400),
    ({"days": True}, 400),
    ({"days": 2**64}, 400),
    ({"size_bytes": 1}, 400),
    ({"size_bytes": 2**60}, 400),
    ({"size_bytes": "64 KiB"}, 400),
    ({"hours": 1}, 400),
    ({"days": 8}, 400),  # the organisation keeps seven
    ({"size_bytes": 10_000_001}, 400),
    ({"days": 7, "size_bytes": 10_000_000}, 200),
    ({}, 200),
]


async def test_bounds_are_checked_and_a_session_keeps_no_more_than_its_organisation(
    control: LocalControl, user: TestUser, eve: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    org = (await user.ok("GET", "/me"))["org"]["id"]
    await user.ok("PUT", f"/orgs/{org}/retention", {"days": 7, "size_bytes": 10_000_000})
    for body, status in BAD:
        answer = await user.call("PUT", f"/sessions/{session}/retention", body)
        assert answer[0] == status, (body, answer)
    for body, status in BAD[:11]:
        assert (await user.call("PUT", f"/orgs/{org}/retention", body))[0] == status, body
    more = await user.call("PUT", f"/sessions/{session}/retention", {"days": 8})
    assert more[1]["error"]["code"] == "RETENTION_LIMIT"
    await keep(user, session, days=3)
    await user.ok("PUT", f"/orgs/{org}/retention", {"days": 2})
    found = await user.ok("GET", f"/sessions/{session}/retention")
    assert (found["own"]["days"], found["org"]["days"], found["effective"]["days"]) == (3, 2, 2)
    for path in (f"/sessions/{session}/retention", f"/orgs/{org}/retention"):
        assert (await eve.call("GET", path))[0] == 404
        assert (await eve.call("PUT", path, {"days": 1}))[0] == 404
    entries = await user.ok("GET", "/audit?limit=100")
    names = [one["event"] for one in entries["items"]]
    assert names.count("org.retention_changed") == 2
    assert names.count("session.retention_changed") == 3
