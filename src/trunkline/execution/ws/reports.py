"""Reports that the control plane is owed: usage, audit entries, evolutions, memories.

A queue in memory and in a file. Each has an id, so that one that is sent twice counts once.
"""

from collections import deque
from typing import Any
from uuid import uuid4

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.ws.journal import Journal

_log = structlog.get_logger(__name__)


class Report(msgspec.Struct, kw_only=True):
    report_id: str
    session_id: str
    method: str
    params: dict[str, Any]


class _Done(msgspec.Struct):
    done: str


_encode = msgspec.json.Encoder().encode
_decode_report = msgspec.json.Decoder(Report).decode
_decode_done = msgspec.json.Decoder(_Done).decode


class Reports:
    """First in, first out; the first leaves when it is done with."""

    METHODS = frozenset(("usage_report", "audit_log", "evolution_submit", "memory_write"))

    def __init__(
        self,
        journal: Journal,
        *,
        count_max: int = limits.REPORTS_MAX,
        bytes_max: int = limits.REPORTS_BYTES_MAX,
    ) -> None:
        self._journal = journal
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._bytes = 0
        self._queue: deque[tuple[Report, int]] = deque()
        self._load()

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def first(self) -> Report | None:
        return self._queue[0][0] if self._queue else None

    def add(self, session_id: str, method: str, params: dict[str, Any]) -> None:
        report = Report(report_id=uuid4().hex, session_id=session_id, method=method, params=params)
        line = _encode(report)
        if len(line) > limits.REPORT_BYTES_MAX:
            _log.error("a report is too large", method=method, session=session_id, bytes=len(line))
            return
        self._journal.append(line)
        self._queue.append((report, len(line)))
        self._bytes += len(line)
        if len(self._queue) > self._count_max or self._bytes > self._bytes_max:
            self._make_room()

    def done(self, report_id: str) -> None:
        """The first one is settled."""
        if not self._queue or self._queue[0][0].report_id != report_id:
            return
        self._bytes -= self._queue.popleft()[1]
        if not self._queue:
            self._journal.clear()
        else:
            self._journal.append(_encode(_Done(report_id)))
            self._tidy()

    def close(self) -> None:
        if self._queue:
            self._journal.close()
        else:
            self._journal.remove()

    def _make_room(self) -> None:
        lost = 0
        while self._queue and (
            len(self._queue) > self._count_max * 3 // 4 or self._bytes > self._bytes_max * 3 // 4
        ):
            self._bytes -= self._queue.popleft()[1]
            lost += 1
        _log.error("too many reports wait for the line: the oldest are lost", lost=lost)
        self._journal.rewrite(_encode(report) for report, _ in self._queue)

    def _tidy(self) -> None:
        size = self._journal.bytes
        if size > limits.OUTBOX_COMPACT_BYTES and size > 2 * self._bytes:
            self._journal.rewrite(_encode(report) for report, _ in self._queue)

    def _load(self) -> None:
        left: dict[str, tuple[Report, int]] = {}
        for line in self._journal.read():
            try:
                report = _decode_report(line)
                left[report.report_id] = (report, len(line))
            except (msgspec.DecodeError, UnicodeError):
                try:
                    left.pop(_decode_done(line).done, None)
                except (msgspec.DecodeError, UnicodeError):
                    _log.warning("a report in the outbox is unreadable")
        self._queue.extend(left.values())
        self._bytes = sum(size for _, size in left.values())
