"""Metrics (docs/protocols/semibot.md#metrics), and what an operator of this process needs.

Hot paths count in plain integers; Prometheus' objects are made when somebody asks. A label per
user or session exists while its line does.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from trunkline.control.signals import Signals
from trunkline.control.store import causes
from trunkline.wire.semibot.messages import SseEvent

if TYPE_CHECKING:
    from trunkline.control.disk_room import DiskWatch
    from trunkline.control.door.connections import Connections
    from trunkline.control.log.log import Log
    from trunkline.control.machines.machines import Machines
    from trunkline.control.services.audit import Audit
    from trunkline.control.storage import Storage
    from trunkline.control.surprises import Surprises


_LAG_EVERY_S = 0.5


def type_name(message: type) -> str:
    """A message class's name on the wire; a closed set, so that labels stay bounded."""
    config = getattr(message, "__struct_config__", None)
    return str(getattr(config, "tag", None) or "unknown")


class Metrics:
    """The counters."""

    def __init__(self, signals: Signals) -> None:
        self.sent: dict[type, int] = {}
        self.received: dict[type, int] = {}
        self.events_received = 0  # `sse_event` frames that took the short way
        self.malformed = 0
        self.reconnections = 0
        self.readers = 0
        self.readers_cut = 0
        self.lost_events = 0
        self.retention_events = 0
        self.retention_bytes = 0
        self.lag_s = 0.0
        self.request_seconds = Histogram(
            "ws_request_duration_seconds",
            "Time from a machine's request to its response",
            ["method"],
            registry=None,
        )
        self.commit_seconds = Histogram(
            "log_commit_duration_seconds",
            "Time from a batch of events to its commit",
            buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
            registry=None,
        )
        signals.commits.watch(self.commit_seconds.observe)

    async def watch_lag(self) -> None:
        """How late the event loop runs what is due: the first sign of overload."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _LAG_EVERY_S
            await asyncio.sleep(_LAG_EVERY_S)
            self.lag_s = max(0.0, loop.time() - due)


@dataclass(eq=False)
class Exposition(Collector):
    """What `/metrics` shows: turns the plain numbers into metric families at each scrape."""

    metrics: Metrics
    log: "Log"
    machines: "Machines"
    refused: Mapping[str, int]
    """Dropped reports, by method."""
    surprises: "Surprises"
    connections: "Connections"
    audit: "Audit"
    disk: "DiskWatch"
    storage: "Storage"

    def __post_init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        for one in (self.metrics.request_seconds, self.metrics.commit_seconds, self):
            self._registry.register(one)

    def render(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        yield from self._lines()
        yield from self._totals()

    def _lines(self) -> Iterable[Metric]:
        online = list(self.machines.online())
        yield GaugeMetricFamily(
            "ws_connections_active", "Machines with a live line", value=len(online)
        )
        per_user = GaugeMetricFamily(
            "ws_sessions_per_connection", "Sessions on a machine's line", labels=["user_id"]
        )
        buffers = GaugeMetricFamily(
            "sse_buffer_size", "Events in a session's replay ring", labels=["session_id"]
        )
        sessions: dict[str, int] = {}
        for machine in online:
            sessions[machine.user_id] = sessions.get(machine.user_id, 0) + len(machine.logs)
            for session_id, log in machine.logs.items():
                buffers.add_metric([session_id], len(log.ring))
        for user_id, count in sessions.items():
            per_user.add_metric([user_id], count)
        yield per_user
        yield buffers

    def _totals(self) -> Iterable[Metric]:
        metrics = self.metrics
        received = dict(metrics.received)
        received[SseEvent] = received.get(SseEvent, 0) + metrics.events_received
        for name, text, counts in (
            ("ws_messages_sent", "Messages to machines", metrics.sent),
            ("ws_messages_received", "Messages from machines", received),
        ):
            family = CounterMetricFamily(name, text, labels=["type"])
            for message, count in counts.items():
                family.add_metric([type_name(message)], count)
            yield family
        refused = CounterMetricFamily(
            "ws_reports_refused", "Reports that were dropped", labels=["method"]
        )
        for method, count in self.refused.items():
            refused.add_metric([method], count)
        yield refused
        unknown = CounterMetricFamily(
            "wire_unknown",
            "Messages, fields and routes that are not known here",
            labels=["wire", "kind"],
        )
        for (wire, kind), count in self.surprises.counts.items():
            unknown.add_metric([wire, kind], count)
        yield unknown
        for name, text, value in (
            ("ws_reconnections", "Lines that came back", metrics.reconnections),
            ("ws_malformed_messages", "Messages that could not be read", metrics.malformed),
            ("sse_events_forwarded", "Events written to session logs", self.log.events_total),
            ("sse_readers_cut", "Readers closed because they did not read", metrics.readers_cut),
            (
                "connections_cut",
                "Connections without a login that made room for others",
                self.connections.made_room,
            ),
            ("connections_refused", "Connections without room", self.connections.refused),
            ("machine_events_lost", "Gaps in what machines sent", metrics.lost_events),
            (
                "retention_events_cut",
                "Events that were older or more than is kept",
                metrics.retention_events,
            ),
            ("retention_bytes_cut", "What those took in the store", metrics.retention_bytes),
        ):
            yield CounterMetricFamily(name, text, value=value)
        not_written = GaugeMetricFamily(
            "storage_not_writable", "1: nothing can be written, for this cause", labels=["cause"]
        )
        for cause in causes.CAUSES:
            not_written.add_metric([cause], float(cause == self.storage.cause))
        yield not_written
        room = self.disk.last
        for name, text, level in (
            ("sse_readers_active", "Readers that follow a session", float(metrics.readers)),
            ("connections_open", "Connections of every kind", float(len(self.connections))),
            ("audit_broken", "1: the audit log takes no entries", float(self.audit.is_broken)),
            ("disk_free_bytes", "Room on the data folder's disk", float(room.free_bytes)),
            ("disk_total_bytes", "Size of that disk", float(room.total_bytes)),
            ("disk_low", "1: less is free than `low_disk_bytes`", float(room.is_low)),
            ("database_bytes", "What records and logs take", float(room.database_bytes or 0)),
            ("event_loop_lag_seconds", "How late the event loop runs", metrics.lag_s),
        ):
            yield GaugeMetricFamily(name, text, value=level)
