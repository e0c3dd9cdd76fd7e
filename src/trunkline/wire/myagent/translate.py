"""MyAgent messages to session events and back: the two pure functions and their state."""

from trunkline.wire.myagent.inward import Inward, to_events
from trunkline.wire.myagent.outward import Outward, from_events

__all__ = ["Inward", "Outward", "from_events", "to_events"]
