"""Reports: owed in order, answered once, whatever the control plane can do."""

import json
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.support.clock import Clock
from trunkline import limits
from trunkline.execution.ws.disk_queue import Journal
from trunkline.execution.ws.reports import REPORT_BYTES_MAX, REPORT_RETRY_S, Reports, ReportSender
from trunkline.wire.semibot.messages import ErrorBody, Response


def open_reports(tmp_path: Path, **bounds: int) -> Reports:
    return Reports(Journal(tmp_path / "reports.jsonl"), **bounds)


def add(reports: Reports, *numbers: int) -> None:
    for number in numbers:
        reports.add("s-1", "usage_report", {"n": number})


def drain(reports: Reports) -> list[int]:
    found = []
    while (report := reports.first) is not None:
        found.append(report.params["n"])
        reports.done(report.report_id)
    return found


def frame_of(sender: ReportSender) -> dict[str, Any]:
    assert sender.is_ready
    frame: dict[str, Any] = json.loads(sender.frame())
    sender.sent()
    return frame


def error(request_id: str, code: str) -> Response:
    return Response(id=request_id, error=ErrorBody(code=code, message="no"))


@pytest.mark.proves("004-10-usage")
def test_reports_survive_a_restart_and_those_that_are_done_do_not_come_back(
    tmp_path: Path,
) -> None:
    first = open_reports(tmp_path)
    add(first, 1, 2, 3)
    ids = [first.first.report_id] if first.first else []
    first.done(ids[0])
    first.close()
    again = open_reports(tmp_path)
    assert len(again) == 2
    assert drain(again) == [2, 3]
    assert (tmp_path / "reports.jsonl").read_bytes() == b""


def test_only_the_first_report_can_be_done(tmp_path: Path) -> None:
    reports = open_reports(tmp_path)
    add(reports, 1)
    reports.done("another")
    assert len(reports) == 1


def test_a_torn_or_foreign_line_costs_only_itself(tmp_path: Path) -> None:
    first = open_reports(tmp_path)
    add(first, 1, 2)
    first.close()
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b'{"x":1}\n\xff\n' + path.read_bytes() + b'{"report_id":"r","ses')
    again = open_reports(tmp_path)
    add(again, 3)
    again.close()
    assert drain(open_reports(tmp_path)) == [1, 2, 3]


def test_the_oldest_reports_go_when_there_are_too_many(tmp_path: Path) -> None:
    reports = open_reports(tmp_path, count_max=100)
    with structlog.testing.capture_logs() as logs:
        add(reports, *range(101))
    assert logs[0]["log_level"] == "error"
    left = drain(reports)
    assert left == list(range(101 - len(left), 101))
    assert len(left) <= 100


def test_reports_are_bounded_in_bytes(tmp_path: Path) -> None:
    reports = open_reports(tmp_path, bytes_max=50_000)
    for _ in range(100):
        reports.add("s-1", "audit_log", {"event": "x", "details": {"text": "y" * 2_000}})
    assert len(reports) < 30
    reports.close()
    assert (tmp_path / "reports.jsonl").stat().st_size < 110_000


def test_a_report_too_large_for_the_line_is_refused_here(tmp_path: Path) -> None:
    reports = open_reports(tmp_path)
    with structlog.testing.capture_logs() as logs:
        reports.add("s-1", "audit_log", {"details": "x" * REPORT_BYTES_MAX})
    assert logs[0]["log_level"] == "error"
    assert len(reports) == 0


def test_a_long_backlog_does_not_grow_the_file(tmp_path: Path) -> None:
    reports = open_reports(tmp_path)
    padding = {"pad": "x" * 5_000}
    for _ in range(5):
        reports.add("s-1", "audit_log", padding)
    for _ in range(500):
        reports.add("s-1", "audit_log", padding)
        assert reports.first is not None
        reports.done(reports.first.report_id)
    assert (tmp_path / "reports.jsonl").stat().st_size < 2 * limits.OUTBOX_COMPACT_BYTES


def test_with_answers_one_report_at_a_time_is_a_request_with_its_own_id(tmp_path: Path) -> None:
    reports = open_reports(tmp_path)
    add(reports, 1, 2)
    sender = ReportSender(reports, Clock())
    sender.line_up(is_answered=True)
    frame = frame_of(sender)
    assert frame["type"] == "request"
    assert frame["method"] == "usage_report"
    assert frame["params"] == {"n": 1, "report_id": frame["id"]}
    assert not sender.is_ready
    assert not sender.answered(Response(id="another", result={}))
    assert sender.answered(Response(id=frame["id"], result={}))
    assert frame_of(sender)["params"]["n"] == 2


def test_a_report_without_an_answer_is_sent_again_under_the_same_id(tmp_path: Path) -> None:
    reports, clock = open_reports(tmp_path), Clock()
    add(reports, 1)
    sender = ReportSender(reports, clock)
    sender.line_up(is_answered=True)
    first = frame_of(sender)
    sender.line_up(is_answered=True)
    assert frame_of(sender) == first
    clock.now += 2 * limits.REQUEST_TIMEOUT_S
    assert frame_of(sender) == first


def test_a_refused_report_is_logged_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    reports = open_reports(tmp_path)
    add(reports, 1, 2)
    sender = ReportSender(reports, Clock())
    sender.line_up(is_answered=True)
    with structlog.testing.capture_logs() as logs:
        sender.answered(error(frame_of(sender)["id"], "INVALID_PARAMS"))
    assert logs[0]["code"] == "INVALID_PARAMS"
    assert frame_of(sender)["params"]["n"] == 2


def test_a_busy_control_plane_gets_the_report_again_a_little_later(tmp_path: Path) -> None:
    reports, clock = open_reports(tmp_path), Clock()
    add(reports, 1)
    sender = ReportSender(reports, clock)
    sender.line_up(is_answered=True)
    first = frame_of(sender)
    sender.answered(error(first["id"], "TOO_MANY_REQUESTS"))
    assert not sender.is_ready
    clock.now += REPORT_RETRY_S
    assert frame_of(sender) == first


@pytest.mark.proves("notes-1-server-unsupported-method")
@pytest.mark.parametrize("code", ["METHOD_NOT_FOUND", "UNSUPPORTED_METHOD"])
def test_a_control_plane_that_does_not_answer_reports_gets_them_as_documented(
    tmp_path: Path, code: str
) -> None:
    reports = open_reports(tmp_path)
    add(reports, 1, 2)
    sender = ReportSender(reports, Clock())
    sender.line_up(is_answered=True)
    sender.answered(error(frame_of(sender)["id"], code))
    expected = {"type": "fire_and_forget", "session_id": "s-1", "method": "usage_report"}
    assert frame_of(sender) == {**expected, "params": {"n": 1}}
    assert frame_of(sender) == {**expected, "params": {"n": 2}}
    assert len(reports) == 0
