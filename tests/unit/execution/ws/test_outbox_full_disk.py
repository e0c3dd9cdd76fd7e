"""An outbox whose disk is full at any byte: what is in the file has no gap and no wrong text, and
with room again everything is in it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.small_files import files_up_to
from trunkline.execution.ws.events import Event
from trunkline.execution.ws.outbox import Outbox

Unacked = list[tuple[int, str]]


def event(kind: str, **fields: str) -> Event:
    return Event(json.dumps({"type": kind, **fields}))


def say(outbox: Outbox, *texts: str) -> None:
    for text in texts:
        outbox.append("s-1", event("text_chunk", content=text))


def written(outbox: Outbox) -> None:
    """Pieces of text that become one event, a question, more of them, an acknowledgement, an end;
    and a report, of which one is done with."""
    say(outbox, "a", "b", "c")
    outbox.append("s-1", event("approval_request", request_id="q-1"))
    say(outbox, "d", "e")
    outbox.take(2, 10**6)
    outbox.reports.add("s-1", "usage_report", {"n": 1})
    outbox.acked({"s-1": 1})
    say(outbox, "f", "g")
    outbox.reports.add("s-1", "usage_report", {"n": 2})
    first = outbox.reports.first
    assert first is not None
    outbox.reports.done(first.report_id)


def held(outbox: Outbox) -> Unacked:
    """What it still has to send, as a control plane that has none of it would get it."""
    outbox.line_up({})
    return [(one.seq, one.data) for one in outbox.take(10**6, 10**9)]


def left(folder: Path, tmp_path: Path) -> tuple[Unacked, list[int]]:
    """What a daemon finds that is started now, after the one before was killed."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    outbox = Outbox(copy)
    found = held(outbox)
    reports: list[int] = []
    while (report := outbox.reports.first) is not None:
        reports.append(report.params["n"])
        outbox.reports.done(report.report_id)
    outbox.close()
    shutil.rmtree(copy)
    return found, reports


def texts(events: Unacked) -> str:
    return "".join(json.loads(data).get("content", "?") for _, data in events)


def test_a_disk_that_is_full_at_any_byte_leaves_no_gap_and_catches_up(tmp_path: Path) -> None:
    dry = Outbox(tmp_path / "dry")
    dry.line_up({})
    written(dry)
    size = max(path.stat().st_size for path in (tmp_path / "dry").rglob("*.jsonl"))
    dry.close()
    assert size > 200
    for number in range(0, size + 1, 5):
        folder = tmp_path / f"{number}"
        outbox = Outbox(folder)
        outbox.line_up({})
        with files_up_to(number):
            written(outbox)
            # Killed now, the rest is lost, and nothing else.
        found, _ = left(folder, tmp_path)
        first = found[0][0] if found else 1
        whole = "abc?defg" if first == 1 else "?defg"  # without what is acknowledged
        assert whole.startswith(texts(found))
        assert [seq for seq, _ in found] == list(range(first, first + len(found)))
        outbox.settle()
        say(outbox, "h")
        found, reports = left(folder, tmp_path)
        unacked = [one for one in found if one[0] > 1]
        assert texts(unacked) == "?defgh"
        assert unacked == held(outbox)
        assert reports == [2]
        outbox.close()
        shutil.rmtree(folder)


@pytest.mark.parametrize("size", [0, 60, 120, 200])
def test_what_was_delivered_is_not_sent_again_though_that_cannot_be_noted(
    tmp_path: Path, size: int
) -> None:
    """To a control plane that acknowledges nothing."""
    outbox = Outbox(tmp_path / "outbox")
    outbox.line_up({})
    with files_up_to(size):
        say(outbox, "a")
        sent = outbox.take(1, 10**6)
        say(outbox, "b")
        outbox.delivered(sent)
        found, _ = left(tmp_path / "outbox", tmp_path)
        assert "a" not in texts(found)
    outbox.settle()
    found, _ = left(tmp_path / "outbox", tmp_path)
    assert texts(found) == "b"
    outbox.close()
