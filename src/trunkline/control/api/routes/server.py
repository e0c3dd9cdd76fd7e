"""The server itself, as it runs: for administrators, and for `trunkline doctor`."""

import os

import msgspec

from trunkline import __version__
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.operator import problem_of
from trunkline.control.core import Core
from trunkline.control.disk_room import DiskRoom
from trunkline.control.errors import Forbidden
from trunkline.control.pulse import Sample
from trunkline.control.quotas import NearQuota
from trunkline.control.records.credentials import from_environment
from trunkline.control.records.fields import Json
from trunkline.control.redaction import is_secret_name, redact
from trunkline.control.services.memory_index import MemoryIndexState
from trunkline.control.store.engine import shown

server = Routes("server")


class ServerState(msgspec.Struct, kw_only=True):
    """`settings`: as this server has them, secrets left out. `providers`: those whose keys are in
    its environment. `problem`: why it cannot serve requests now. `is_audit_broken`: the audit log
    takes no more entries (`AUDIT_BROKEN`). `memory_search`: by which model memories are found.
    `near_quotas`: users and organisations that have nine tenths of what they may have."""

    version: str
    pid: int
    url: str
    data: str
    database: str
    settings: Json
    providers: list[str]
    problem: str | None
    is_audit_broken: bool
    disk: DiskRoom
    memory_search: MemoryIndexState
    near_quotas: list[NearQuota]


@server.get("/server")
async def get_server(core: Core, who: Principal) -> ServerState:
    """Show how this server runs.

    Only admins may.
    """
    if not who.is_admin:
        raise Forbidden("only an administrator may see how the server runs")
    settings = core.settings
    return ServerState(
        version=__version__,
        pid=os.getpid(),
        url=core.presence.url,
        data=str(settings.data_dir.absolute()),
        database="SQLite in the data folder"
        if settings.database_url is None
        else shown(settings.database_url),
        settings=_shown_settings(msgspec.structs.asdict(settings)),
        providers=[one.provider for one in from_environment(os.environ)],
        problem=await problem_of(core),
        is_audit_broken=core.services.audit.is_broken,
        disk=await core.disk.look(),
        memory_search=await core.services.memories.index.state(),
        near_quotas=await core.quotas.near(),
    )


class SystemHealth(msgspec.Struct, kw_only=True):
    """How this server does. `problem`: why it cannot serve requests now. `readers`: open streams of
    every kind, `streams` of them of browsers. `log_stalls`: how often the log could not be written
    for a while. `sessions_running`: those with an open turn, on machines that are online. `recent`:
    the last minute, the newest last. Counts are since `started_at` (Unix ms)."""

    version: str
    started_at: int
    now: int
    problem: str | None
    is_log_stalled: bool
    is_audit_broken: bool
    log_stalls: int
    events_total: int
    events_lost: int
    readers: int
    streams: int
    readers_cut: int
    connections: int
    machines_online: int
    machine_reconnections: int
    sessions_held: int
    sessions_running: int
    disk: DiskRoom
    recent: list[Sample]


@server.get("/health")
async def get_health(core: Core, who: Principal) -> SystemHealth:
    """Show how the server does: load, lag, room on its disk.

    Only admins may.
    """
    if not who.is_admin:
        raise Forbidden("only an administrator may see how the server does")
    online = list(core.machines.online())
    running = sum(one.core.is_working(name) for one in online for name in one.logs)
    metrics, pulse = core.metrics, core.pulse
    return SystemHealth(
        version=__version__,
        started_at=pulse.started_at,
        now=core.clock(),
        problem=await problem_of(core),
        is_log_stalled=core.log.stalled is not None,
        is_audit_broken=core.services.audit.is_broken,
        log_stalls=pulse.stalls,
        events_total=core.log.events_total,
        events_lost=metrics.lost_events,
        readers=metrics.readers,
        streams=len(core.streams),
        readers_cut=metrics.readers_cut,
        connections=len(core.connections),
        machines_online=len(online),
        machine_reconnections=metrics.reconnections,
        sessions_held=sum(len(one.logs) for one in online),
        sessions_running=running,
        disk=await core.disk.look(),
        recent=list(pulse.samples),
    )


def _shown_settings(values: Json) -> Json:
    kept = {name: one for name, one in values.items() if not is_secret_name(name)}
    kept.pop("database_url", None)  # its address is shown apart, without the password
    return {name: redact(one) if isinstance(one, str) else one for name, one in kept.items()}
