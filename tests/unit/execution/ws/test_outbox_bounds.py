"""An outbox that fills up: what goes, what stays, and how it shows."""

import json
import os
from pathlib import Path

import structlog

from tests.unit.execution.ws.machine import event, text
from trunkline import limits
from trunkline.execution.ws.events import Event
from trunkline.execution.ws.outbox import Outbox
from trunkline.execution.ws.session_queue import Outgoing

KB = "x" * 1000


def full(folder: Path, **bounds: int) -> Outbox:
    outbox = Outbox(folder, **bounds)
    outbox.line_up({})
    return outbox


def sent(outbox: Outbox, session_id: str = "s-1") -> list[Outgoing]:
    everything = outbox.take(10**6, 10**9)
    return [one for one in everything if one.session_id == session_id]


def kinds(outgoing: list[Outgoing]) -> list[str]:
    return [json.loads(one.data)["type"] for one in outgoing]


def open_files(folder: Path) -> set[Path]:
    files = {Path(os.path.realpath(link)) for link in Path("/proc/self/fd").iterdir()}
    return {file for file in files if file.is_relative_to(folder)}


def test_text_costs_little_more_than_its_letters(tmp_path: Path) -> None:
    outbox = full(tmp_path)
    for _ in range(2_000):
        outbox.append("s-1", Event(text("word ")))
    assert [json.loads(one.data)["content"] for one in sent(outbox)] == ["word " * 2_000]


def test_the_oldest_events_that_nobody_waits_for_go_first_and_leave_a_gap(tmp_path: Path) -> None:
    outbox = full(tmp_path, session_bytes_max=10_000)
    outbox.append("s-1", Event(event("execution_complete", turn_id="t-1")))
    outbox.append("s-1", Event(event("approval_request", request_id="r-1")))
    for _ in range(30):
        outbox.append("s-1", Event(event("tool_call_complete", result=KB)))
    outbox.append("s-1", Event(event("execution_error", turn_id="t-2")))
    left = sent(outbox)
    assert kinds(left)[:2] == ["execution_complete", "approval_request"]
    assert kinds(left)[-1] == "execution_error"
    numbers = [one.seq for one in left]
    assert numbers[:2] == [1, 2]
    assert numbers[2] > 3
    assert numbers[2:] == list(range(numbers[2], 34))
    assert sum(one.size for one in left) <= 10_000
    assert outbox.bytes == sum(one.size for one in left)


def test_ends_and_questions_stay_whatever_the_bound(tmp_path: Path) -> None:
    outbox = full(tmp_path, session_bytes_max=5_000, bytes_max=8_000)
    for number in range(50):
        kind = "execution_complete" if number % 2 else "approval_request"
        outbox.append("s-1", Event(event(kind, content=KB, turn_id=f"t-{number}")))
    assert [one.seq for one in sent(outbox)] == list(range(1, 51))


def test_of_all_sessions_the_largest_loses(tmp_path: Path) -> None:
    outbox = full(tmp_path, bytes_max=20_000)
    outbox.append("s-1", Event(event("tool_call_complete", result=KB)))
    for _ in range(40):
        outbox.append("s-2", Event(event("tool_call_complete", result=KB)))
    assert outbox.bytes <= 20_000
    assert [one.seq for one in outbox.take(1, 10**9)] == [1]
    assert [one.seq for one in sent(outbox, "s-2")][-1] == 40


def test_a_loss_is_said_in_the_log(tmp_path: Path) -> None:
    outbox = full(tmp_path, session_bytes_max=5_000)
    with structlog.testing.capture_logs() as logs:
        for _ in range(6):
            outbox.append("s-1", Event(event("tool_call_complete", result=KB)))
    assert logs[0]["session"] == "s-1"
    assert logs[0]["lost"] > 0


def test_the_files_are_bounded_too(tmp_path: Path) -> None:
    outbox = full(tmp_path, session_bytes_max=50_000)
    for _ in range(1_000):
        outbox.append("s-1", Event(event("tool_call_complete", result=KB)))
    size = (tmp_path / "events" / "s-1.jsonl").stat().st_size
    assert size <= 50_000 + limits.OUTBOX_COMPACT_BYTES
    outbox.close()
    assert [one.seq for one in sent(full(tmp_path))][-1] == 1_000


def test_a_bound_holds_for_what_is_found_on_disk(tmp_path: Path) -> None:
    first = full(tmp_path)
    for _ in range(100):
        first.append("s-1", Event(event("tool_call_complete", result=KB)))
    first.close()
    assert full(tmp_path, session_bytes_max=10_000).bytes <= 10_000


def test_an_event_too_large_for_the_line_is_cut_and_an_end_stays_an_end(tmp_path: Path) -> None:
    outbox = full(tmp_path)
    huge = '"' * limits.EVENT_BYTES_MAX
    outbox.append("s-1", Event(event("execution_complete", content=huge, turn_id="t-1")))
    (left,) = sent(outbox)
    assert left.size < limits.EVENT_BYTES_MAX
    assert json.loads(left.data)["turn_id"] == "t-1"
    assert json.loads(left.data)["truncated"] is True
    assert outbox.turns() == {"t-1"}


def test_of_a_huge_event_that_is_no_json_only_the_gap_remains(tmp_path: Path) -> None:
    outbox = full(tmp_path)
    outbox.append("s-1", Event("x" * (limits.EVENT_BYTES_MAX + 1)))
    outbox.append("s-1", Event(event("usage")))
    assert [one.seq for one in sent(outbox)] == [2]


def test_an_event_with_a_huge_name_loses_that_and_nothing_else(tmp_path: Path) -> None:
    outbox = full(tmp_path)
    huge = {"n" * (limits.EVENT_BYTES_MAX + 1): 1, "turn_id": "t-1"}
    outbox.append("s-1", Event(event("execution_complete", **huge)))
    outbox.append("s-1", Event(event("usage")))
    left = sent(outbox)
    assert [one.seq for one in left] == [1, 2]
    assert json.loads(left[0].data) == {
        "type": "execution_complete",
        "turn_id": "t-1",
        "truncated": True,
    }


def test_sessions_that_owe_nothing_hold_no_file_open(tmp_path: Path) -> None:
    outbox = full(tmp_path)
    before = open_files(tmp_path)
    for number in range(20):
        outbox.append(f"s-{number}", Event(event("usage")))
    assert len(open_files(tmp_path) - before) == 20
    taken = outbox.take(10, 10**9)
    outbox.delivered(taken[:5])
    outbox.acked({one.session_id: one.seq for one in taken[5:]})
    assert len(open_files(tmp_path) - before) == 10
    outbox.append("s-0", Event(event("usage")))
    assert [one.seq for one in sent(outbox, "s-0")] == [2]


def test_only_the_newest_ended_sessions_are_remembered(tmp_path: Path) -> None:
    outbox = full(tmp_path)
    for number in range(1_200):
        session_id = f"s-{number}"
        outbox.append(session_id, Event(event("usage")))
        outbox.take(1, 10**9)
        outbox.close_session(session_id)
        outbox.acked({session_id: 1})
        if number % 100 == 0:
            outbox.open_session("s-0")  # it goes on, and is no ended session any more
    outbox.append("s-owed", Event(event("usage")))
    outbox.close_session("s-owed")
    for session_id in ("s-0", "s-owed", "s-200", "s-1199"):
        outbox.append(session_id, Event(event("execution_complete")))
        assert sent(outbox, session_id)[-1].seq == 2
    for session_id in ("s-1", "s-199"):  # these begin anew
        outbox.append(session_id, Event(event("execution_complete")))
        assert sent(outbox, session_id)[-1].seq == 1


def test_a_new_line_does_not_bring_ended_sessions_back(tmp_path: Path) -> None:
    outbox = full(tmp_path)
    outbox.append("s-1", Event(event("usage")))
    outbox.close_session("s-1")
    outbox.line_up({"s-1": 1})
    assert list((tmp_path / "events").iterdir()) == []
    for number in range(2, 1_002):  # it is the oldest of those that are remembered
        outbox.append(f"s-{number}", Event(event("usage")))
        outbox.close_session(f"s-{number}")
        outbox.acked({f"s-{number}": 1})
    outbox.append("s-1", Event(event("usage")))
    assert [one.seq for one in sent(outbox, "s-1")] == [1]
