"""What a machine's core knows of one session there, besides the session itself."""

from enum import Enum

import msgspec

from trunkline.control.sessions.core import SessionCore
from trunkline.wire.commands import Configure, Say


class Place(Enum):
    """Where a session is on its machine, as far as we know."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


class Hosted(msgspec.Struct):
    """One session of the machine. All but the session itself is forgotten in a restart."""

    session: SessionCore
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
