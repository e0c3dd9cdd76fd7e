"""A log that has lived: its front was cut off, and after a restore it went on far ahead."""

from trunkline.control.clock import now_ms
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.log.store import SegmentStore

GAP = 2**30
CUT = 4
"""The last event that is gone."""
LAST = 10
"""The last one before the gap."""
AHEAD = LAST + GAP
"""Where it went on."""
END = AHEAD + 5
IDS = [*range(CUT + 1, LAST + 1), *range(AHEAD + 1, END + 1)]

_LARGE = (CUT, LAST, AHEAD + 3, END)
"""So large that what is kept together ends with them: there a log can be cut."""
_REPEATED = 30_000

POSITIONS: dict[str, tuple[int, bool]] = {
    "the beginning, which is gone": (0, False),
    "in what is gone": (CUT - 1, False),
    "right before the first that is kept": (CUT, True),
    "the first that is kept": (CUT + 1, True),
    "the last before the gap": (LAST, True),
    "right behind it, in the gap": (LAST + 1, False),
    "deep in the gap": (LAST + GAP // 2, False),
    "the last of the gap but one": (AHEAD - 1, False),
    "where it went on": (AHEAD, True),
    "behind the gap": (AHEAD + 2, True),
    "the end": (END, True),
    "never given out": (END + 1, False),
    "another log's": (2**53 - 1, False),
}
"""With whether the log holds all that came after."""


async def wear(store: SegmentStore, session_id: str = "s", *, warm: bool) -> tuple[Log, SessionLog]:
    """The log and its session. `warm`: what came behind the gap is in memory, too."""
    log = Log(store, now_ms)
    await say(store, log, await log.open(session_id), 1, LAST)
    assert await log.cut(session_id, CUT) == CUT + 1
    await store.skip(GAP)
    log = Log(store, now_ms)
    await say(store, log, await log.open(session_id), AHEAD + 1, END)
    if not warm:
        log = Log(store, now_ms)
    return log, await log.open(session_id)


async def say(store: SegmentStore, log: Log, session: SessionLog, first: int, last: int) -> None:
    for number in range(first, last + 1):
        log.append(session, line_of(number))
        await log.committed(session)
        assert session.last_id == number
        if number in _LARGE:
            await store.fold(all=True)


def line_of(number: int) -> str:
    text = f"e{number} " * (_REPEATED if number in _LARGE else 1)
    return f'{{"type":"text_chunk","content":"{text}"}}'
