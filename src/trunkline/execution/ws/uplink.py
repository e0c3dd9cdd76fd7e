"""Everything that goes up: events through the coalescer and the outbox, reports, and frames that
cannot wait. One task per line sends it all, within the line's messages per minute.

A frame leaves at once on a quiet line. Under load events gather until the pace allows the next
frame, so that load makes frames larger and not more.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from trunkline import limits
from trunkline.execution.ws import messages
from trunkline.execution.ws.connection import Socket
from trunkline.execution.ws.events import Coalescer, Event
from trunkline.execution.ws.outbox import Outbox
from trunkline.execution.ws.reports import ReportSender

PACE_FRAMES_PER_S = 9.0  # with the burst 880 a minute: room for frames that a network held back
PACE_BURST_FRAMES = 340.0
PACE_GAP_S_MIN = 0.015  # between frames that nobody waits for
PACE_RESERVE = 0.4  # of the burst, kept for requests and the first words of a quiet session
REPORT_GAP_S = 0.25  # a report this long after the last one does not wait behind events


class Pace:
    """The budget of frames, which lives on when the line is opened again. No sleep: it says how
    long to wait.

    Full after a quiet while, so that frames follow each other closely; the emptier it is, the more
    distance they keep, and grow instead.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._per_s = PACE_FRAMES_PER_S
        self._burst = PACE_BURST_FRAMES
        self._left = self._burst
        self._at = clock()
        self._sent_at = float("-inf")

    def take(self, *, urgent: bool) -> bool:
        """Uses the budget for one frame; False when there is none left. What is not urgent
        leaves a reserve for what is."""
        if self.wait_s(urgent=urgent) > 0:
            return False
        self._left -= 1
        self._sent_at = self._at
        return True

    def wait_s(self, *, urgent: bool) -> float:
        """How long until `take` says yes."""
        self._refill()
        if urgent:
            return max(0.0, (1.0 - self._left) / self._per_s)
        budget_s = (1.0 + self._burst * PACE_RESERVE - self._left) / self._per_s
        distance_s = self._sent_at + self._gap_s() - self._at
        return max(0.0, budget_s, distance_s)

    def slow_down(self) -> None:
        """The control plane found us too fast (4029)."""
        self._refill()
        self._per_s = max(1.0, self._per_s / 2)
        self._burst = max(4.0, self._burst / 2)
        self._left = min(self._left, self._burst)

    def recover(self) -> None:
        self._per_s, self._burst = PACE_FRAMES_PER_S, PACE_BURST_FRAMES

    def _gap_s(self) -> float:
        """From hardly any, when nothing was said for a while, to what can be kept up for ever."""
        used = 1 - self._left / self._burst
        return max(PACE_GAP_S_MIN, used / self._per_s)

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
        self._at = now


class Uplink:
    """Lives as long as the machine; lines come and go."""

    def __init__(self, outbox: Outbox, pace: Pace, clock: Callable[[], float]) -> None:
        self.outbox = outbox
        self.reports = ReportSender(outbox.reports, clock)
        self._pace = pace
        self._clock = clock
        self._coalescer = Coalescer(clock, self._keep)
        self._frames: deque[bytes] = deque()
        self._heartbeat: bytes | None = None
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._reported_at = float("-inf")
        self._is_urgent = False
        """Somebody waits for what is in the outbox."""
        self._is_frames_turn = False
        """Of events and frames, the ones that were sent last come second."""
        self._has_seq = False
        self._has_batch = False

    def event(self, session_id: str, data: str) -> None:
        if self._coalescer.add(session_id, data):
            self.spill()  # an end or a question outlives whatever happens next
        self.wake()

    def frame(self, frame: bytes) -> None:
        """Something that cannot wait, and is of no use on another line."""
        self._frames.append(frame)
        self.wake()

    def heartbeat(self, frame: bytes) -> None:
        """Goes after all events: a session that it does not list any more may have ended
        just now. Once; the next one does not wait behind a long backlog."""
        if self._heartbeat is None:
            self._heartbeat = frame
        else:
            self._frames.append(frame)
        self.wake()

    def wake(self) -> None:
        self._idle.clear()
        self._work.set()

    def spill(self) -> None:
        """What is held is numbered and written down, whether there is a line or not."""
        self._coalescer.spill()

    def _keep(self, session_id: str, event: Event) -> None:
        self._is_urgent = self._is_urgent or self._coalescer.is_urgent
        self.outbox.append(session_id, event)

    def session_ended(self, session_id: str) -> None:
        self.spill()
        self._coalescer.forget(session_id)
        self.outbox.close_session(session_id)

    def line_up(self, acked: dict[str, int], capabilities: frozenset[str]) -> None:
        """A new line: everything that was not acknowledged is sent again."""
        self._has_seq = "seq" in capabilities
        self._has_batch = "batch" in capabilities
        self._frames.clear()  # requests among them come back by `resume`
        self._heartbeat = None
        self.outbox.line_up(acked)
        self.reports.line_up(is_answered=self._has_seq)
        self.wake()

    async def pump(self, line: Socket) -> None:
        """Sends until the line breaks. Raises ConnectionError then."""
        while True:
            self._work.clear()
            if not await self.send_some(line):
                await self._pause()

    async def flushed(self) -> None:
        """Returns when nothing waits to be sent."""
        self.wake()
        await self._idle.wait()

    async def send_some(self, line: Socket) -> bool:
        """At most one frame of each sort, so that none waits for all of another.

        Where the pace allows one alone, they take turns; and a report that is due need not wait
        behind either: however many there are, reports move, and leave more than half of what a
        line can carry.
        """
        did = False
        if self.reports.is_ready and self._report_due_s <= 0 and self._pace.take(urgent=True):
            await self._send_report(line)
            did = True
        both = (self._send_events, self._send_frame)
        for send in reversed(both) if self._is_frames_turn else both:
            did |= await send(line)
        if self._heartbeat is not None and not self._has_events and self._pace.take(urgent=True):
            frame, self._heartbeat = self._heartbeat, None
            await line.send(frame)
            did = True
        if self.reports.is_ready and self._pace.take(urgent=False):
            await self._send_report(line)
            did = True
        return did

    async def _pause(self) -> None:
        """Until there is something new to send, or the pace allows what is there."""
        urgent = bool(self._frames) or self._are_events_urgent
        if not (urgent or self._has_events or self.reports.is_ready):
            self._idle.set()
            await self._work.wait()
            return
        wait_s = self._pace.wait_s(urgent=urgent)
        if self.reports.is_ready:
            wait_s = min(wait_s, max(self._report_due_s, self._pace.wait_s(urgent=True)))
        timer = asyncio.get_running_loop().call_later(wait_s, self._work.set)
        await self._work.wait()
        timer.cancel()

    @property
    def _has_events(self) -> bool:
        return bool(self._coalescer) or self.outbox.has_waiting

    @property
    def _are_events_urgent(self) -> bool:
        is_awaited = self._is_urgent and self.outbox.has_waiting
        return is_awaited or self._coalescer.is_urgent or self._heartbeat is not None

    @property
    def _report_due_s(self) -> float:
        return self._reported_at + REPORT_GAP_S - self._clock()

    async def _send_report(self, line: Socket) -> None:
        self._reported_at = self._clock()
        await line.send(self.reports.frame())
        self.reports.sent()

    async def _send_frame(self, line: Socket) -> bool:
        if not self._frames or not self._pace.take(urgent=True):
            return False
        self._is_frames_turn = False
        await line.send(self._frames.popleft())
        return True

    async def _send_events(self, line: Socket) -> bool:
        is_their_turn = bool(self._frames) and not self._is_frames_turn
        is_urgent = self._are_events_urgent or is_their_turn
        if not self._has_events or not self._pace.take(urgent=is_urgent):
            return False
        self._is_frames_turn = True
        self.spill()
        self._is_urgent = False
        count = limits.BATCH_EVENTS_MAX if self._has_batch else 1
        events = self.outbox.take(count, limits.BATCH_BYTES_MAX)
        if events:
            await line.send(messages.events(events, numbered=self._has_seq))
            if not self._has_seq:
                self.outbox.delivered(events)
        return True
