"""The control plane put together: which part gets which other part. No sockets yet."""

import asyncio
import contextlib
import time
from pathlib import Path

from sqlalchemy.engine import make_url

from trunkline.control import data_folder
from trunkline.control.access.attempts import Attempts
from trunkline.control.access.auth import Auth
from trunkline.control.access.keys import Keys, digest
from trunkline.control.access.passwords import Passwords
from trunkline.control.access.refusals import Refusals
from trunkline.control.access.trail import Trail
from trunkline.control.access.user_secrets import UserSecrets
from trunkline.control.clock import Clock, Seconds, now_ms
from trunkline.control.door.connections import Connections
from trunkline.control.edges.relay import Relay
from trunkline.control.errors import NotFound
from trunkline.control.groups.groups import Groups
from trunkline.control.log.log import Log
from trunkline.control.log.segments import SegmentStore, SqliteSegments, SqlSegments
from trunkline.control.machines.actions import Time
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.queries import Queries
from trunkline.control.machines.rows import SqlMachineRows
from trunkline.control.machines.secrets import MachineSecrets
from trunkline.control.machines.shell import Shell
from trunkline.control.machines.vms import Vms
from trunkline.control.metrics import Live, Metrics
from trunkline.control.presence import Presence
from trunkline.control.records import Records
from trunkline.control.services import Services
from trunkline.control.services.audit_heads import AuditHeads
from trunkline.control.services.uploads import Uploads
from trunkline.control.sessions.adopting import Adopting
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.compacting import Compacting
from trunkline.control.sessions.foreign import Foreign
from trunkline.control.sessions.forking import Forking
from trunkline.control.sessions.histories import Histories
from trunkline.control.sessions.legacy import convert
from trunkline.control.sessions.projection import Projection
from trunkline.control.sessions.records import SessionRecords
from trunkline.control.sessions.rows import SqlRows
from trunkline.control.sessions.ruling import Ruling
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.sessions.shown import Shown
from trunkline.control.sessions.starting import Starting
from trunkline.control.sessions.transcript import Transcripts
from trunkline.control.sessions.turns import Turns
from trunkline.control.sessions.work import Work
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store, sqlite_url
from trunkline.control.surprises import Surprises
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import DEFAULT, Tuning


class Core:
    """Every part that is not an edge."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        segments: SegmentStore,
        keys: Keys,
        admin: str,
        clock: Clock = now_ms,
        tuning: Tuning = DEFAULT,
        now: Seconds = time.monotonic,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.now = now
        self.tuning = tuning
        self.store = store
        self.segments = segments
        self.keys = keys
        self.tasks = Tasks()
        self.connections = Connections(settings, now)
        self.metrics = Metrics()
        self.surprises = Surprises()
        self.presence = Presence(settings.data_dir)
        self.auth = Auth(store, keys, admin, clock)
        self.user_secrets = UserSecrets(store, keys)
        self.passwords = Passwords(store)
        self.attempts = Attempts(clock)
        self.uploads = Uploads(clock)
        self.records = Records(store, keys, self.auth, clock, tuning)
        heads = AuditHeads(heads_file(settings))
        self.services = Services(store, keys, settings, clock, tuning, heads)
        self.log = Log(segments, clock, tuning)
        self.services.methods.offer("get_conversation", Transcripts(self.log).asked)
        self.projection = Projection(
            SqlRows(store, self.services.audit), self.log, self.tasks, tuning
        )
        self.turns = Turns(store, self.projection)
        self.approvals = Approvals(store, self.projection)
        self.session_records = SessionRecords(store, self.log, clock, tuning.sessions_per_user_max)
        self.shown = Shown(store, clock)
        self.starting = Starting(store, self.services, self.log)
        told = Time()
        shell = Shell(
            self.log,
            self.projection,
            self.session_records,
            self.turns,
            self.starting.build,
            self.tasks,
            clock,
            told,
            now,
            tuning,
        )
        self.machines = Machines(
            SqlMachineRows(store),
            self.log,
            self.projection,
            self.session_records,
            shell,
            clock,
            told,
            away_s=settings.machine_away_s,
            tasks=self.tasks,
            tuning=tuning,
        )
        self.queries = Queries(self.machines, tuning.query_s)
        self.metrics.follow(
            Live(
                self.metrics,
                self.log,
                self.machines,
                self.services.methods.refused,
                self.surprises,
                self.connections,
                self.services.audit,
            )
        )
        self.sessions = Sessions(
            store,
            self.log,
            self.machines,
            self.services,
            self.session_records,
            self.projection,
            self.turns,
            self.approvals,
            self.starting,
            clock,
        )
        self.ruling = Ruling(self.services.rules, self.machines, self.tasks)
        self.histories = Histories(
            self.sessions,
            self.session_records,
            self.machines,
            self.log,
            self.projection,
            self.tasks,
        )
        self.adopting = Adopting(
            self.sessions,
            self.session_records,
            Foreign(self.queries),
            self.histories,
            self.services,
            clock,
        )
        self.forking = Forking(self.sessions, self.session_records, self.histories, self.log, clock)
        self.compacting = Compacting(self.sessions, self.machines, self.queries)
        self.work = Work(self.sessions, self.machines, self.queries, self.services)
        self.relay = Relay()
        self.trail = Trail(self.services.audit, self.tasks, clock, tuning.refused_logins_max)
        self.refusals = Refusals(store, self.services.audit, self.tasks, clock, tuning.refusals_max)
        self.machine_secrets = MachineSecrets(store, clock, audit=self.services.audit)
        self.vms = Vms(store, self.auth, settings, self.machines, clock)
        self.groups = Groups(
            store,
            self.records.users,
            self.sessions,
            self.machines,
            self.turns,
            self.approvals,
            self.log,
            self.tasks,
            self.vms,
            clock,
            tuning=tuning,
        )

    @classmethod
    async def open(cls, settings: Settings, admin_token: str, tuning: Tuning = DEFAULT) -> "Core":
        """Opens keys and databases, making them if this is the first start."""
        await asyncio.to_thread(data_folder.prepare, settings)
        keys = await asyncio.to_thread(Keys.open, settings.keys_dir)
        store = await Store.open(store_url(settings))
        try:
            segments = await open_segments(settings, tuning)
        except BaseException:
            await store.close()
            raise
        return cls(settings, store, segments, keys, admin_token, tuning=tuning)

    async def recover(self) -> None:
        """At the start, before anybody is let in: the records catch up with the log, and machines
        with open turns are watched, whether anybody asks or not."""
        await convert(self.store, self.log)
        await self.histories.clear()
        for machine_id in await self.projection.recover():
            with contextlib.suppress(NotFound):  # it was removed
                await self.machines.get(machine_id)

    async def settle(self, timeout_s: float) -> None:
        """Waits until nothing is at work, but not for ever: the rest is ended."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.log.flushed()
                while self.tasks:  # may log, and what is committed then may start others
                    await self.tasks.done()
                    await self.log.flushed()
        await self.tasks.cancel()

    async def close(self) -> None:
        """Ends the work, then closes what it works with."""
        await self.settle(self.tuning.drain_work_s)
        await self.services.close()
        await self.segments.close()
        await self.store.close()


def store_url(settings: Settings) -> str:
    return settings.database_url or sqlite_url(settings.data_dir / "trunkline.db")


def heads_file(settings: Settings) -> Path:
    """Where heads of the audit log are noted. Another database has another log."""
    if settings.database_url is None:
        return settings.data_dir / "audit-heads"
    place = make_url(settings.database_url).set(password=None).render_as_string()
    return settings.data_dir / f"audit-heads-{digest(place)[:8]}"


async def open_segments(settings: Settings, tuning: Tuning = DEFAULT) -> SegmentStore:
    """The log's store, in the database that the settings name."""
    page_bytes_max, url = tuning.events_page_bytes_max, settings.database_url
    if url is not None and not url.startswith("sqlite"):
        return await SqlSegments.open(url, page_bytes_max=page_bytes_max)
    return await SqliteSegments.open(
        settings.data_dir / "log.db",
        full_sync=settings.log_sync == "full",
        page_bytes_max=page_bytes_max,
    )
