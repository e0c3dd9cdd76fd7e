"""MyAgent messages to session events and back: the two pure functions and their state."""

from trunkline.wire.myagent.inward import Inward, to_events
from trunkline.wire.myagent.outward import from_events, unshown
from trunkline.wire.myagent.outward_state import Outward

__all__ = ["Inward", "Outward", "from_events", "to_events", "unshown"]
