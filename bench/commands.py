"""What the suite tells the generator and what it answers, one JSON object per line.

Both ends import this module, and it imports nothing of the suite.
Times are in the unit that ends the name; an answer is a struct of its own or `Failed`.
"""

import re
from typing import Final

import msgspec

MARK: Final = b"|"
"""Ends the content of every event and occurs nowhere else in a stream: one byte to count. Not
`~`, which stands in the head of every larger WebSocket frame."""

EVENT_HEAD: Final = '{"type":"text_chunk","content":"'
EVENT_TAIL: Final = '"}'
TOKEN: Final = "Hello"  # the document's own example; about what a model sends at a time
CONTENT: Final = "<content>"
"""Stands for an event's content in what its readers must get."""
PLAIN_EVENT: Final = re.escape(EVENT_HEAD) + CONTENT + re.escape(EVENT_TAIL)

NEW_ID_HEAD: Final = "@@@@@@@@"
NEW_ID: Final = f"{NEW_ID_HEAD}-0000-4000-8000-000000000000"
"""In a frame: an id that no other event has. At the same place in all frames of a line."""


NEW_SEQ: Final = "$seq$"
"""In an event of a batch: its number in its session."""


class Step(msgspec.Struct):
    """One exchange on a WebSocket: wait for what the server says, then answer."""

    awaits: str = ""
    """A pattern that must be found in what the server has said on this connection so far."""
    says: str = ""
    """A text frame; `$1` in it is what the pattern's group found."""


class LineSpec(msgspec.Struct):
    """A WebSocket on which events go in."""

    path: str
    handshake: list[Step] = []
    """What must have happened before the line counts as open."""
    heartbeat: str = ""
    masked: bool = True
    """False: the mask key is zero, so that a peer that forwards raw bytes forwards the text."""
    batch_rows: int = 0
    """Given: events go in batches of so many rows, each one event of every session."""
    gap_s: float = 0.0
    """Between two batches."""


class StreamSpec(msgspec.Struct):
    """A session: frames of it go in on one line, readers of it get them, mostly as SSE."""

    line: int
    frame_head: str
    frame_tail: str
    path: str
    headers: dict[str, str] = {}
    handshake: list[Step] | None = None
    """Given: the readers have a WebSocket instead, and begin with this."""
    event: str = PLAIN_EVENT
    """A pattern of what a reader must get for an event, `CONTENT` in the place of its content."""


class Command(msgspec.Struct, tag=True):
    """Base of all commands."""


class OpenLines(Command):
    port: int
    lines: list[LineSpec]


class Heartbeat(Command):
    """Send this on the line now, and again every ten seconds."""

    line: int
    text: str


class Exchange(Command):
    """These steps on a line that is open, one after the other."""

    line: int
    steps: list[Step]


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


class OneEach(Command):
    """One event under way on every line, each line with one session and one reader: the next goes
    out when the reader has the last."""

    warm_s: float
    measure_s: float
    drain_quiet_s: float
    server_pids: list[int]


class Herd(Command):
    """All of these connections at once, and how long it takes until each is where it was."""

    port: int
    lines: list[LineSpec]
    streams: list[StreamSpec]
    readers_per_stream: int
    missed_events: int
    """That every reader must be given before it counts as back."""
    server_pids: list[int]
    seconds_max: float = 45.0


class Latency(Command):
    events_per_s: int
    warm_s: float
    measure_s: float
    window_s: float


class Replay(Command):
    """Publish on stream 0 (or nothing more), then read the last `events` again and again on new
    connections."""

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
    events_per_s: float
    """What the generator sent; less than it was told where it could not keep up."""


class HerdResult(msgspec.Struct, tag=True):
    lines_s: float
    """Until the last line was back."""
    readers_s: float
    generator_busy: float
    server_busy: float


class ReplayResult(msgspec.Struct, tag=True):
    times_ms: list[float]


class Failed(msgspec.Struct, tag=True):
    reason: str


AnyCommand = (
    OpenLines
    | Heartbeat
    | Exchange
    | OpenStreams
    | Verify
    | Load
    | OneEach
    | Herd
    | Latency
    | Replay
    | StillOpen
    | CloseAll
)
AnyResult = Done | LoadResult | LatencyResult | HerdResult | ReplayResult | Failed
