"""Events as our own daemon sends them: numbered, thousands to a frame, frames with a gap between.

The generator's other way, one frame an event, is in `load.py`.
"""

import time
from dataclasses import dataclass, field

from bench.commands import MARK, NEW_SEQ, TOKEN, StreamSpec
from bench.generator.links import Line

_HEAD, _TAIL = '{"type":"batch","events":[', "]}"


def batch_frame(line: Line, streams: list[StreamSpec], content: str, seq: int) -> bytes:
    """One event with this content and number for each session."""
    return line.frame(_row(streams, content).replace(NEW_SEQ, str(seq)).join((_HEAD, _TAIL)))


def _row(streams: list[StreamSpec], content: str) -> str:
    said = content + MARK.decode()
    return ",".join(f"{spec.frame_head}{said}{spec.frame_tail}" for spec in streams)


@dataclass
class BatchFeed:
    """What one line sends: frames of so many rows of one event of each of its sessions."""

    line: Line
    streams: list[StreamSpec]
    first_reader: int
    end_reader: int
    sent_rows: int = 0
    _unsent: memoryview = field(default_factory=lambda: memoryview(b""))
    _next_at: float = 0.0

    def __post_init__(self) -> None:
        row = _row(self.streams, TOKEN).replace("%", "%%").replace(NEW_SEQ, "%d")
        self._template = ",".join([row] * self.line.batch_rows).join((_HEAD, _TAIL))

    def top_up(self, received: list[int], window: int, _least: int) -> None:
        """Frames up to the window, as soon as the gap after the last one is over."""
        under_way = self.sent_rows - min(received[self.first_reader : self.end_reader])
        if not self.finish_row():
            return
        if under_way + self.line.batch_rows <= window and time.perf_counter() >= self._next_at:
            self._unsent = memoryview(self._frame())
            self._next_at = time.perf_counter() + self.line.gap_s
            self.finish_row()

    def finish_row(self) -> bool:
        """Sends the rest of a frame; false while the socket is full."""
        while self._unsent:
            try:
                self._unsent = self._unsent[self.line.sock.send(self._unsent) :]
            except BlockingIOError:
                return False
        return True

    def _frame(self) -> bytes:
        """The next one, with the numbers of its events put in at once."""
        first = self.sent_rows + 1
        self.sent_rows += self.line.batch_rows
        numbers = (seq for seq in range(first, self.sent_rows + 1) for _ in self.streams)
        return self.line.frame(self._template % tuple(numbers))
