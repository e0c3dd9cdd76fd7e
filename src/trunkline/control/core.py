"""The control plane put together: which part gets which other part. No sockets yet."""

import asyncio
import contextlib
import time

from sqlalchemy import delete

from trunkline.control import data_folder
from trunkline.control.access.attempts import Attempts
from trunkline.control.access.auth import Auth
from trunkline.control.access.keys import Keys
from trunkline.control.access.passwords import Passwords
from trunkline.control.access.refusals import Refusals
from trunkline.control.access.trail import Trail
from trunkline.control.access.user_secrets import UserSecrets
from trunkline.control.backup.restored import RESTORE_GAP, RESTORED, Restored
from trunkline.control.clock import Clock, Seconds, now_ms
from trunkline.control.disk_room import DiskWatch
from trunkline.control.door.connections import Connections
from trunkline.control.door.handshake_log import HandshakeLog
from trunkline.control.edges.relay import Relay
from trunkline.control.errors import NotFound
from trunkline.control.files import heads_file, log_file, store_url
from trunkline.control.groups.groups import Groups
from trunkline.control.log.journal import Journal
from trunkline.control.log.log import Log
from trunkline.control.log.postgres_segments import PostgresSegments
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import SegmentStore
from trunkline.control.machines.actions import Time
from trunkline.control.machines.joining import JoinCodes
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.online import Online
from trunkline.control.machines.queries import Queries
from trunkline.control.machines.rows import SqlMachineRows
from trunkline.control.machines.runtimes import usable
from trunkline.control.machines.secrets import MachineSecrets
from trunkline.control.machines.shell import Shell
from trunkline.control.machines.tap import Taps
from trunkline.control.machines.vms import Vms
from trunkline.control.metrics import Exposition, Metrics
from trunkline.control.news import News
from trunkline.control.presence import Presence
from trunkline.control.pulse import Pulse
from trunkline.control.push.push import Push
from trunkline.control.quotas import Quotas
from trunkline.control.records import Records
from trunkline.control.retention.policy import RetentionPolicy
from trunkline.control.retention.sweeper import Sweeper
from trunkline.control.services import Services
from trunkline.control.services.audit_heads import AuditHeads
from trunkline.control.services.methods import Offered
from trunkline.control.services.model_lists import ModelLists
from trunkline.control.services.uploads import Uploads
from trunkline.control.sessions.adopting import Adopting
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.compacting import Compacting
from trunkline.control.sessions.drafts import Drafts
from trunkline.control.sessions.erasing import Erasing
from trunkline.control.sessions.exporting import Export
from trunkline.control.sessions.foreign import Foreign
from trunkline.control.sessions.forking import Forking
from trunkline.control.sessions.histories import Histories
from trunkline.control.sessions.importing import Importing
from trunkline.control.sessions.legacy import convert
from trunkline.control.sessions.listing import SessionList
from trunkline.control.sessions.placement import Placement
from trunkline.control.sessions.projection import Projection
from trunkline.control.sessions.records import SessionRecords
from trunkline.control.sessions.rows import SqlRows
from trunkline.control.sessions.ruling import Ruling
from trunkline.control.sessions.searching import Search
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.sessions.shown import Shown
from trunkline.control.sessions.starting import Starting
from trunkline.control.sessions.titles import Titles
from trunkline.control.sessions.transcript import Transcripts
from trunkline.control.sessions.turns import Turns
from trunkline.control.sessions.work import Work
from trunkline.control.settings import Settings
from trunkline.control.signals import Signals
from trunkline.control.storage import Storage
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import myagent_runs
from trunkline.control.streams import Streams
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
        self.signals = signals = Signals()
        self.connections = Connections(settings, now)
        self.handshakes = HandshakeLog(now)
        self.metrics = Metrics(signals)
        self.surprises = Surprises()
        self.presence = Presence(settings.data_dir)
        signals.machines.watch(lambda one: self.presence.can_run(one.id, usable(one.runtimes)))
        self.auth = Auth(store, keys, admin, clock, signals.revoked)
        self.user_secrets = UserSecrets(store, keys)
        self.passwords = Passwords(store)
        self.attempts = Attempts(clock)
        self.join_attempts = Attempts(clock)
        self.uploads = Uploads(clock)
        self.quotas = Quotas(store, settings, segments.sizes)
        signals.erased.watch(lambda one: self.quotas.stored.forget(one.user_id))
        self.records = Records(store, keys, self.auth, clock, tuning, self.quotas, signals.keys)
        folder = settings.data_dir if store.is_sqlite else None
        self.log = Log(segments, clock, tuning, folder, signals.commits, signals.stalls)
        self.storage = Storage(self.log, store, folder)
        self.titles = Titles(store, clock, signals.titles)
        heads = AuditHeads(heads_file(settings))
        offered: dict[str, Offered] = {
            "get_conversation": Transcripts(self.log).asked,
            "set_title": self.titles.told,
        }
        reveal = self.records.credentials.reveal
        lists = ModelLists(settings.mcp_allowed_hosts, reveal=reveal)
        signals.keys.watch(lists.forget)
        self.services = Services(store, keys, settings, clock, heads, self.quotas, offered, lists)
        rows = SqlRows(store, self.services.audit, signals.titles.tell)
        self.projection = Projection(rows, self.log, self.tasks, tuning, signals.records)
        self.push = Push(store, keys, settings, self.log, clock, tuning, signals.records)
        self.turns = Turns(store, self.projection)
        self.approvals = Approvals(store, self.projection)
        online = Online()
        self.session_records = SessionRecords(
            store, self.log, clock, self.quotas, online, signals.sessions
        )
        self.session_list = SessionList(self.session_records, online)
        self.search = Search(store, now)
        self.placement = Placement(store)
        self.shown = Shown(store, clock, signals.sessions)
        self.starting = Starting(store, self.services, self.log, model_titles=settings.model_titles)
        told = Time()
        shell = Shell(
            self.log,
            self.projection,
            self.placement,
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
            self.placement,
            shell,
            clock,
            told,
            away_s=settings.machine_away_s,
            tasks=self.tasks,
            tuning=tuning,
            online=online,
            signals=signals,
        )
        self.taps = Taps(clock)
        self.queries = Queries(signals.machines, tuning.query_s)
        self.disk = DiskWatch(settings, store)
        self.exposition = Exposition(
            self.metrics,
            self.log,
            self.machines,
            self.services.methods.refused,
            self.surprises,
            self.connections,
            self.services.audit,
            self.disk,
            self.storage,
        )
        self.retention = RetentionPolicy(store)
        self.sweeper = Sweeper(store, self.log, self.projection, self.metrics, clock)
        self.pulse = Pulse(self.log, self.metrics, signals, clock, now)
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
            self.titles,
            self.storage,
            clock,
        )
        self.drafts = Drafts(store, self.log, clock)
        self.erasing = Erasing(
            store,
            self.sessions,
            self.drafts,
            self.machines,
            self.log,
            self.services.audit,
            self.storage,
            self.tasks,
            clock,
            signals,
        )
        self.export = Export(self.log, clock)
        self.ruling = Ruling(self.services.rules, self.machines, self.tasks)
        self.histories = Histories(
            self.sessions,
            self.session_records,
            self.drafts,
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
            self.storage,
            clock,
        )
        self.forking = Forking(
            self.sessions, self.session_records, self.histories, self.log, self.storage, clock
        )
        self.importing = Importing(
            store,
            self.log,
            self.sessions,
            self.histories,
            self.storage,
            self.quotas,
            self.tasks,
            clock,
            settings.data_dir,
        )
        self.compacting = Compacting(self.sessions, self.machines, self.queries)
        self.work = Work(self.sessions, self.machines, self.queries, self.services, self.log, clock)
        self.relay = Relay()
        self.streams = Streams()
        self.news = News(self.session_records, self.approvals, self.tasks, signals, tuning.retry_s)
        self.trail = Trail(self.services.audit, self.tasks, clock, tuning.refused_logins_max)
        self.refusals = Refusals(store, self.services.audit, self.tasks, clock, tuning.refusals_max)
        self.machine_secrets = MachineSecrets(store, clock, audit=self.services.audit)
        self.vms = Vms(store, self.auth, settings, self.machines, clock)
        self.join_codes = JoinCodes(store, self.vms, self.machine_secrets, clock)
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
        keys = await asyncio.to_thread(Keys.open, settings.keys_place)
        store = await Store.open(store_url(settings))
        try:
            segments = await open_segments(settings, tuning)
        except BaseException:
            await store.close()
            raise
        if not store.is_sqlite:
            store.fence(segments.epoch)
        return cls(settings, store, segments, keys, admin_token, tuning=tuning)

    async def recover(self, restored: Restored | None = None) -> None:
        """At the start, before anybody is let in: the records catch up with the log, and machines
        with open turns are watched, whether anybody asks or not. `restored`: this is the first
        start of a system that was restored."""
        if restored is not None:
            # Before any log is opened; also of sessions that have said nothing yet.
            await self.segments.skip(RESTORE_GAP, await self.session_records.ids_of())
            await self.store.run(delete(myagent_runs))  # whose numbers went on, too
        await convert(self.store, self.log)
        await self.drafts.clear()
        await self.erasing.recover()
        for machine_id in await self.projection.recover():
            with contextlib.suppress(NotFound):  # it was removed
                machine = await self.machines.get(machine_id)
                if restored is not None:
                    with machine.input() as core:
                        core.restored(RESTORED, restored.why)
        await self.log.flushed()

    async def settle(self, timeout_s: float) -> None:
        """Waits until nothing runs, but not for ever: the rest is ended."""
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
        await self.push.close()
        await self.services.close()
        await self.segments.close()
        await self.store.close()


async def open_segments(settings: Settings, tuning: Tuning = DEFAULT) -> Journal:
    """The log's store, in the database that the settings name."""
    if (file := log_file(settings)) is None:
        return await PostgresSegments.open(store_url(settings), tuning=tuning)
    return await SqliteSegments.open(
        file,
        full_sync=settings.log_sync == "full",
        tuning=tuning,
    )
