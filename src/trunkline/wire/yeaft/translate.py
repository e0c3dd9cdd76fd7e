"""Yeaft and session events: the two pure functions and the state that each needs."""

from trunkline.wire.yeaft.inward import settle, to_events
from trunkline.wire.yeaft.outward import Out, Outward, from_events
from trunkline.wire.yeaft.stream import Inward

__all__ = ["Inward", "Out", "Outward", "from_events", "settle", "to_events"]
