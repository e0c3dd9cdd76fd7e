"""What is known of a machine: its line, and the sessions there. A value, which can be saved, loaded
and compared; `MachineCore` is the only one that changes it."""

from enum import Enum

import msgspec

from trunkline.control.machines.traits import Traits
from trunkline.control.sessions.state import SessionState
from trunkline.wire.commands import Configure, Forward, Say

NO_TURNS: frozenset[str] = frozenset()


class Place(Enum):
    """Where a session is on its machine, as far as we know."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


class Hosted(msgspec.Struct):
    """One session of the machine. All but the session itself is forgotten in a restart."""

    id: str
    session: SessionState
    place: Place = Place.UNKNOWN
    is_wanted: bool = False
    """It is to be started there, whether or not anybody says something."""
    is_fetching: bool = False
    is_loading: bool = False
    started_on: int = 0
    """The line on which it was told to start; 0: in another life of this process."""
    is_carried: bool = False
    """It was told to start on an earlier line: perhaps the machine never heard it."""
    deadline_s: float | None = None
    """When it must have started, or stopped."""
    silence_s: float | None = None
    """Turns of it were open when the line broke, and the machine cannot say what it has of them:
    when they are given up, unless it speaks."""
    stop_reason: str = "user_closed"
    waiting: dict[str, Say | Configure] = {}
    """What was said and changed, in its order. A queued turn that is not here is loaded."""
    steering: dict[str, Say] = {}
    """What was said to running turns and did not go out yet. One that is not here is loaded."""
    steered: set[str] = set()
    """What of it went out on the present line."""
    told: set[str] = set()
    """The turns that went out on the present line."""
    cancelled: set[str] = set()
    """Those whose cancel went out on it."""
    answered: set[str] = set()
    """The questions whose answer did."""

    @property
    def is_timed(self) -> bool:
        return self.deadline_s is not None or self.silence_s is not None


class MachineState(msgspec.Struct, kw_only=True):
    """One machine, whether its line is up or not."""

    id: str
    own_traits: Traits
    """Those of its kind."""
    traits: Traits
    """The same, or those of its line while it has one."""
    status: str = "pending"  # pending | online | offline | gone | failed | terminated
    last_seen_ms: int = 0
    is_up: bool = False
    line_number: int = 0
    """Grows with each line: what was begun for an earlier one is void."""
    was_there: bool = False
    """It may run what it ran on an earlier line."""
    sessions: dict[str, Hosted] = {}
    awaited_since_ms: int = 0
    """Since when somebody waits for a machine that never came."""
    is_held: bool = False
    """Nothing is sent before the machine has said `resume`, or a moment has passed."""
    resume_s: float = 0.0
    learn_s: float | None = None
    """Until when the machine may list what it runs before the records are believed."""
    has_listed: bool = False
    kept: frozenset[str] = NO_TURNS
    """The turns that it said it has."""
    timed: dict[str, None] = {}
    """The sessions with a deadline."""
    sizes: dict[str, int] = {}
    """What each waiting message holds in memory, by its turn."""
    forwards: list[Forward] = []
    patches: int = 0

    def encode(self) -> bytes:
        return _encoder.encode(self)


_encoder = msgspec.json.Encoder()  # takes numbers of any size, as the log does
decode = msgspec.json.Decoder(MachineState).decode
