"""Everything that goes up shares one line: who waits for whom, and what is on disk when."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.clock import Clock
from tests.unit.execution.ws.machine import event, text
from trunkline.execution.ws.connection import Socket
from trunkline.execution.ws.events import Event
from trunkline.execution.ws.messages import request
from trunkline.execution.ws.outbox import Outbox
from trunkline.execution.ws.uplink import Pace, Uplink


class Frames:
    """The types of the frames that were sent."""

    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()

    async def send(self, frame: bytes) -> None:
        self.sent[json.loads(frame)["type"]] += 1


def make_uplink(folder: Path, clock: Clock) -> Uplink:
    return Uplink(Outbox(folder), Pace(clock), clock)


def report(uplink: Uplink) -> None:
    usage: dict[str, Any] = {"model": "m", "tokens_in": 1, "tokens_out": 1}
    uplink.outbox.reports.add("s-1", "usage_report", usage)


async def stream(uplink: Uplink, clock: Clock, frames: Frames, data: str) -> None:
    """Two minutes of events every 10 ms and two reports a second."""
    uplink.line_up({}, frozenset(("batch",)))
    for number in range(12_000):
        uplink.event("s-1", data)
        if number % 50 == 0:
            report(uplink)
        await uplink.send_some(cast(Socket, frames))
        clock.now += 0.01
    uplink.spill()


async def test_reports_arrive_while_events_stream(tmp_path: Path) -> None:
    clock, frames = Clock(), Frames()
    uplink = make_uplink(tmp_path, clock)
    await stream(uplink, clock, frames, text("x"))
    assert frames.sent["fire_and_forget"] >= 238
    assert frames.sent["batch"] + frames.sent["sse_event"] > 600


async def test_reports_arrive_while_nothing_but_ends_of_turns_stream(tmp_path: Path) -> None:
    clock, frames = Clock(), Frames()
    uplink = make_uplink(tmp_path, clock)
    await stream(uplink, clock, frames, event("execution_complete", turn_id="t-1"))
    assert frames.sent["fire_and_forget"] > 100


@pytest.mark.parametrize("data", [text("x"), event("execution_complete", turn_id="t-1")])
async def test_requests_and_events_share_a_line_that_is_too_slow_for_both(
    tmp_path: Path, data: str
) -> None:
    """Two minutes with an event and a request every 10 ms, ten times what the pace allows."""
    clock, frames = Clock(), Frames()
    uplink = make_uplink(tmp_path, clock)
    uplink.line_up({}, frozenset(("batch",)))
    for number in range(12_000):
        uplink.event("s-1", data)
        uplink.frame(request("s-1", f"r-{number}", "memory_search", {}))
        await uplink.send_some(cast(Socket, frames))
        clock.now += 0.01
    uplink.spill()
    events = frames.sent["batch"] + frames.sent["sse_event"]
    assert frames.sent["request"] > 500
    assert events > 500


async def test_a_backlog_of_reports_leaves_events_most_of_a_busy_line(tmp_path: Path) -> None:
    clock, frames = Clock(), Frames()
    uplink = make_uplink(tmp_path, clock)
    for _ in range(2_000):
        report(uplink)
    await stream(uplink, clock, frames, text("x"))
    events = frames.sent["batch"] + frames.sent["sse_event"]
    assert events > frames.sent["fire_and_forget"] > 200


async def test_an_end_and_a_question_are_on_disk_at_once_with_what_came_before(
    tmp_path: Path,
) -> None:
    uplink = make_uplink(tmp_path, Clock())
    uplink.line_up({}, frozenset(("seq",)))
    for number, kind in enumerate(("execution_complete", "approval_request")):
        uplink.event("s-1", text("before"))
        uplink.event("s-1", event(kind, turn_id=f"t-{number}"))
        assert len((tmp_path / "events" / "s-1.jsonl").read_bytes().splitlines()) == 2 * number + 2
    uplink.line_up({}, frozenset(("seq",)))
    assert uplink.outbox.turns() == {"t-0", "t-1"}


async def test_an_end_that_is_on_disk_is_still_urgent(tmp_path: Path) -> None:
    """The clock stands still: what is not urgent waits behind the frame before it."""
    frames = Frames()
    uplink = make_uplink(tmp_path, Clock())
    uplink.line_up({}, frozenset(("seq",)))
    for data in (text("a"), text("b"), event("execution_complete", turn_id="t-1")):
        uplink.event("s-1", data)
        await uplink.send_some(cast(Socket, frames))
    assert frames.sent["sse_event"] == 2
    assert not await uplink.send_some(cast(Socket, frames))


async def test_a_bad_event_costs_nobody_elses(tmp_path: Path) -> None:
    class Broken(Event):
        @property
        def text(self) -> str:
            raise RecursionError

    uplink = make_uplink(tmp_path, Clock())
    uplink.line_up({}, frozenset(("seq",)))
    uplink.event("s-1", text("a"))
    uplink.spill()
    uplink.outbox.append("s-1", Broken("{}"))
    uplink.event("s-1", event("usage"))
    uplink.event("s-2", text("b"))
    uplink.spill()
    sent = uplink.outbox.take(10, 10_000)
    assert [(one.session_id, one.seq) for one in sent] == [("s-1", 1), ("s-1", 2), ("s-2", 1)]
