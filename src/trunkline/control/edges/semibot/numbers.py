"""A machine's own numbers of its events: each is taken once, and what it skips is told. No I/O."""

from collections.abc import Callable

from trunkline.control.log import events
from trunkline.control.log.session_log import SessionLog

Lost = Callable[[SessionLog, int, int], None]


def is_new(log: SessionLog, seq: int, lost: Lost) -> bool:
    """Keeps count; False for an event that we have already. `lost` is called with the number before
    a gap and the one behind it."""
    known = log.machine_seq or 0
    if seq <= known:
        return False  # sent again after a reconnect
    if seq > known + 1:
        lost(log, known, seq)
    log.numbered(seq)
    return True


def told_of(known: int, seq: int, now_ms: int) -> str:
    """What whoever reads the log sees at that place."""
    count = seq - known - 1
    return events.make("session_status", now_ms, machine="online", lost_events=count)
