"""How reports reach the control plane: one after the other, and once.

With `seq` as requests that are answered; a control plane that does not know that gets them as the
document says, and is trusted to have them once they are written.
"""

from collections.abc import Callable

import structlog

from trunkline import limits
from trunkline.execution.ws import frames
from trunkline.execution.ws.reports import Reports
from trunkline.wire.semibot.messages import Response

_log = structlog.get_logger(__name__)


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
            return frames.fire_and_forget(report.session_id, report.method, report.params)
        self._asked = report.report_id
        self._not_before = self._clock() + 2 * limits.REQUEST_TIMEOUT_S
        params = {**report.params, "report_id": report.report_id}
        return frames.request(report.session_id, report.report_id, report.method, params)

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
            self._not_before = self._clock() + limits.REPORT_RETRY_S
            return True
        self._asked = None
        if error is not None and error.code == "METHOD_NOT_FOUND":
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
