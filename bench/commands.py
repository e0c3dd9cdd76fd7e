"""What the suite tells the generator and what it answers, one JSON object per line.

Both ends import this module, and it imports nothing of the suite.
Times are in the unit that ends the name; an answer is a struct of its own or `Failed`.
"""

from typing import Final

import msgspec

MARK: Final = b"~"
"""Ends the content of every event and occurs nowhere else in a stream: one byte to count."""

EVENT_HEAD: Final = '{"type":"text_chunk","content":"'
EVENT_TAIL: Final = '"}'
TOKEN: Final = "Hello"  # the document's own example; about what a model sends at a time


class LineSpec(msgspec.Struct):
    """A WebSocket on which events go in."""

    path: str
    hello: list[str] = []
    """Text frames to send first."""
    awaits: str = ""
    """Text that the server must have sent before the line counts as open."""
    heartbeat: str = ""
    masked: bool = True
    """False: the mask key is zero, so that a peer that forwards raw bytes forwards the text."""


class StreamSpec(msgspec.Struct):
    """A session: frames of it go in on one line, readers of it get them as SSE."""

    line: int
    frame_head: str
    frame_tail: str
    path: str
    headers: dict[str, str] = {}


class Command(msgspec.Struct, tag=True):
    """Base of all commands."""


class OpenLines(Command):
    port: int
    lines: list[LineSpec]


class Heartbeat(Command):
    """Send this on the line now, and again every ten seconds."""

    line: int
    text: str


class OpenStreams(Command):
    port: int
    streams: list[StreamSpec]
    readers_per_stream: int


class Verify(Command):
    """Every reader must get every event, unchanged and in order."""

    events_per_stream: int
    timeout_s: float


class Load(Command):
    """Send as fast as the window allows; count what arrives."""

    window_events: int
    warm_s: float
    measure_s: float
    drain_quiet_s: float
    """After the measurement: how long nothing may arrive before the rest counts as lost."""
    server_pids: list[int]
    """Whose processor time is taken over exactly the measured span."""


class Latency(Command):
    events_per_s: int
    warm_s: float
    measure_s: float
    window_s: float


class Replay(Command):
    """Publish on stream 0, then read the last `events` again and again on new connections."""

    port: int
    path: str
    """`{after}` stands for the id to replay from."""
    headers: dict[str, str]
    publish: int
    events: int
    times: int


class StillOpen(Command):
    """Fail unless the server has kept every line and reader."""


class CloseAll(Command):
    """Close every line and reader."""


class Done(msgspec.Struct, tag=True):
    lines: int
    readers: int


class LoadResult(msgspec.Struct, tag=True):
    deliveries_per_s: float
    lost: int
    """Sent but not delivered, to any reader, when the drain was over."""
    generator_busy: float
    """Share of the measured time in which the generator used its core."""
    server_busy: float


class LatencyResult(msgspec.Struct, tag=True):
    samples: int
    p50_ms: float
    p99_ms: float
    typical_p99_ms: float
    """The median of the p99 of short windows: what the host takes away at times is left out."""
    max_ms: float


class ReplayResult(msgspec.Struct, tag=True):
    times_ms: list[float]


class Failed(msgspec.Struct, tag=True):
    reason: str


AnyCommand = (
    OpenLines | Heartbeat | OpenStreams | Verify | Load | Latency | Replay | StillOpen | CloseAll
)
AnyResult = Done | LoadResult | LatencyResult | ReplayResult | Failed
