"""AGP and session events: the two pure functions and the state that each needs."""

from trunkline.wire.agp.inward import CallBounds, Inward, Logged, read_logged, to_events
from trunkline.wire.agp.outward import Outward, from_events

__all__ = ["CallBounds", "Inward", "Logged", "Outward", "from_events", "read_logged", "to_events"]
