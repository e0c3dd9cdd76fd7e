"""Reports to the control plane: usage, audit entries, evolutions, memories.

A queue on disk, sent one after the other. Each has an id, so that one that is sent twice counts
once. With `seq` they travel as requests that are answered; a control plane that does not know that
is trusted to have them once they are written to the line.
"""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.errors import NO_SUCH_METHOD
from trunkline.execution.ws import messages
from trunkline.execution.ws.disk_queue import SHRINK_TO, DiskQueue, Journal
from trunkline.wire.semibot.messages import Response

_log = structlog.get_logger(__name__)

REPORTS_MAX = 10_000  # that wait for the control plane
REPORTS_BYTES_MAX = 16 * limits.MIB
REPORT_BYTES_MAX = 1 * limits.MIB
REPORT_RETRY_S = 1.0  # after the control plane said that it is busy


class Report(msgspec.Struct, kw_only=True):
    """Also a line of the file."""

    report_id: str
    session_id: str
    method: str
    params: dict[str, Any]


class _Done(msgspec.Struct):
    done: str


class _Entry(msgspec.Struct):
    seq: int
    report: Report
    size: int
    is_kept: bool = False


_encode = msgspec.json.Encoder().encode
_decode_report = msgspec.json.Decoder(Report).decode
_decode_done = msgspec.json.Decoder(_Done).decode


def _decode(line: bytes) -> Report | _Done:
    try:
        return _decode_report(line)
    except msgspec.ValidationError:
        return _decode_done(line)


class Reports:
    """First in, first out; the first leaves when it is done with."""

    METHODS = frozenset(("usage_report", "audit_log", "evolution_submit", "memory_write"))

    def __init__(
        self,
        journal: Journal,
        *,
        count_max: int = REPORTS_MAX,
        bytes_max: int = REPORTS_BYTES_MAX,
    ) -> None:
        self._journal = journal
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._queue: DiskQueue[_Entry] = DiskQueue(journal, lambda entry: _encode(entry.report))
        self._load()

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def first(self) -> Report | None:
        return self._queue.waiting[0].report if self._queue.waiting else None

    def add(self, session_id: str, method: str, params: dict[str, Any]) -> None:
        report = Report(report_id=uuid4().hex, session_id=session_id, method=method, params=params)
        line = _encode(report)
        if len(line) > REPORT_BYTES_MAX:
            _log.error("a report is too large", method=method, session=session_id, bytes=len(line))
            return
        self._queue.catch_up()
        self._journal.append(line)
        self._queue.put(_Entry(self._queue.last + 1, report, len(line)))
        if self._is_over(1.0):
            lost = self._queue.shrink(lambda: self._is_over(SHRINK_TO))
            _log.error("too many reports wait for the line: the oldest are lost", lost=len(lost))

    def done(self, report_id: str) -> None:
        """The first one is settled."""
        if not self._queue.waiting or self._queue.waiting[0].report.report_id != report_id:
            return
        self._queue.drop_until(self._queue.waiting[0].seq)
        if self._queue.is_empty:
            self._journal.clear()
        else:
            self._journal.mark(_encode(_Done(report_id)))
            self._queue.tidy()

    def settle(self) -> None:
        self._queue.settle()

    def close(self) -> None:
        self._queue.close()

    def _is_over(self, part: float) -> bool:
        return len(self) > self._count_max * part or self._queue.bytes > self._bytes_max * part

    def _load(self) -> None:
        left: dict[str, tuple[Report, int]] = {}
        for line, size in self._journal.entries(_decode):
            if isinstance(line, Report):
                left[line.report_id] = (line, size)
            else:
                left.pop(line.done, None)
        for number, (report, size) in enumerate(left.values(), 1):
            self._queue.put(_Entry(number, report, size))


class ReportSender:
    """The state of one line's reports."""

    def __init__(self, reports: Reports, clock: Callable[[], float]) -> None:
        self._reports = reports
        self._clock = clock
        self._is_answered = False
        self._asked: str | None = None
        self._not_before = 0.0
        """Of asking again for the same: after an answer that never came, or a busy one."""

    def line_up(self, *, is_answered: bool) -> None:
        """What was not answered on the line before is sent again, under its own id."""
        self._is_answered = is_answered
        self._asked = None
        self._not_before = 0.0

    @property
    def is_ready(self) -> bool:
        """There is a report to send now."""
        report = self._reports.first
        if report is None:
            return False
        return self._asked != report.report_id or self._clock() >= self._not_before

    def frame(self) -> bytes:
        """The next report as it travels; `sent` says that it did."""
        report = self._reports.first
        assert report is not None
        if not self._is_answered:
            return messages.fire_and_forget(report.session_id, report.method, report.params)
        self._asked = report.report_id
        self._not_before = self._clock() + 2 * limits.REQUEST_TIMEOUT_S
        params = {**report.params, "report_id": report.report_id}
        return messages.request(report.session_id, report.report_id, report.method, params)

    def sent(self) -> None:
        report = self._reports.first
        if report is not None and self._asked is None:
            self._reports.done(report.report_id)

    def answered(self, response: Response) -> bool:
        """Whether this was the answer to a report."""
        report = self._reports.first
        if report is None or response.id != self._asked:
            return False
        error = response.error
        if error is not None and error.code == "TOO_MANY_REQUESTS":
            self._not_before = self._clock() + REPORT_RETRY_S
            return True
        self._asked = None
        if error is not None and error.code in NO_SUCH_METHOD:
            self._is_answered = False
        else:
            if error is not None:
                _log.error(
                    "the control plane refused a report",
                    method=report.method,
                    session=report.session_id,
                    code=error.code,
                    problem=error.message,
                )
            self._reports.done(report.report_id)
        return True
