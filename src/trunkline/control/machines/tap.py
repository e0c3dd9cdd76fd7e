"""What a machine's line brought, kept word for word while somebody looks at a session closely.

Lines ask once for each read of their socket whether their machine is tapped; where none is, that is
all it costs. Everything kept is bounded, and forgotten a while after the last look.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from trunkline.control.clock import Clock
from trunkline.control.log.session_log import SessionLog

if TYPE_CHECKING:
    from trunkline.control.machines.machine import Machine

FRAME_CHARS_MAX = 64 * 1024  # that are kept of one message
_FRAMES_MAX = 2_000  # of a session
_CHARS_MAX = 4 * 1024 * 1024  # of a session, all together
_SESSIONS_MAX = 20  # that are looked at so closely at once
_KEPT_MS = 5 * 60_000  # after the last look


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A message of the machine, and the events of the session that were made of it."""

    first_id: int
    last_id: int
    at: int
    size: int
    text: str


class Recording:
    """Of one session."""

    def __init__(self, log: SessionLog, since: int) -> None:
        self.log = log
        self.since = since
        self.until = 0
        self.frames: deque[Frame] = deque()
        self._chars = 0

    @property
    def end(self) -> int:
        """The newest event of its log, committed or not."""
        return self.log.tail_id + len(self.log.pending)

    def add(self, before: int, at: int, text: str) -> None:
        size = len(text.encode(errors="replace"))
        frame = Frame(before + 1, self.end, at, size, text[:FRAME_CHARS_MAX])
        self.frames.append(frame)
        self._chars += len(frame.text)
        while len(self.frames) > _FRAMES_MAX or self._chars > _CHARS_MAX:
            self._chars -= len(self.frames.popleft().text)


class Tap:
    """Of one machine: stands between its line and what the line does with its messages."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.recordings: dict[str, Recording] = {}

    def take(self, take_all: Callable[[list[str]], None], text: str) -> None:
        before = [(one, one.end) for one in self.recordings.values()]
        take_all([text])
        for one, end in before:
            if one.end > end:
                one.add(end, self._clock(), text)


class Taps:
    """Of all machines."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tapped: dict[str, Machine] = {}
        """By session, the one that was looked at longest ago first."""

    def record(self, machine: "Machine", session_id: str) -> Recording | None:
        """What was kept of that session; it is kept from now on, for a while. None: the machine
        does not have it."""
        log = machine.logs.get(session_id)
        if log is None:
            return None
        former = self._tapped.pop(session_id, None)
        if former is not None and former is not machine:
            _release(former, session_id)
        self._tapped[session_id] = machine
        now, tap = self._clock(), machine.open_tap(self._clock)
        recording = tap.recordings.setdefault(session_id, Recording(log, now))
        recording.until = now + _KEPT_MS
        while len(self._tapped) > _SESSIONS_MAX:
            oldest = next(iter(self._tapped))
            _release(self._tapped.pop(oldest), oldest)
        return recording

    def sweep(self) -> None:
        """Once a second: forgets what nobody has looked at for a while."""
        now = self._clock()
        for session_id, machine in list(self._tapped.items()):
            kept = None if machine.tap is None else machine.tap.recordings.get(session_id)
            if kept is None or kept.until < now:
                del self._tapped[session_id]
                _release(machine, session_id)


def _release(machine: "Machine", session_id: str) -> None:
    if machine.tap is not None:
        machine.tap.recordings.pop(session_id, None)
        if not machine.tap.recordings:
            machine.close_tap()
