"""Which handshakes were refused, and why: where to look first when a program does not get through.

Whoever answers a refusal says it here. Anybody can be refused as often as they like, so each wire
has so many lines a minute; at its end one line says how many more there were.
"""

import time
from collections import Counter

import structlog

from trunkline.control.clock import Seconds
from trunkline.control.errors import TrunklineError
from trunkline.log_form import one_line

_log = structlog.get_logger(__name__)

LINES_PER_MINUTE_MAX = 20  # of one wire
_MINUTE_S = 60.0
_CHARS_MAX = 200  # of what the other side has chosen: a path, and what a reason quotes


class HandshakeLog:
    def __init__(self, now: Seconds = time.monotonic) -> None:
        self._now = now
        self._began_at = now()
        self._counts: Counter[str] = Counter()
        """Of the present minute, by wire."""

    def refused(self, wire: str, path: str, error: TrunklineError) -> None:
        """`wire` is one of a few names, never what the other side calls it. `path`: without its
        query, where tokens are."""
        self.sweep()
        self._counts[wire] += 1
        if self._counts[wire] <= LINES_PER_MINUTE_MAX:
            _log.warning(
                "a client was not let in",
                wire=wire,
                path=one_line(path)[:_CHARS_MAX],
                code=error.code,
                reason=one_line(error.message)[:_CHARS_MAX],
            )

    def sweep(self) -> None:
        """Once a second: a minute may be over."""
        if self._now() - self._began_at < _MINUTE_S:
            return
        self._began_at = self._now()
        counts, self._counts = self._counts, Counter()
        for wire, count in counts.items():
            if count > LINES_PER_MINUTE_MAX:
                more = count - LINES_PER_MINUTE_MAX
                _log.warning("more clients were not let in", wire=wire, count=more)
