"""The control plane put together: which part gets which other part. No sockets yet."""

import asyncio
import contextlib
from pathlib import Path

from trunkline import limits
from trunkline.control.access.auth import Auth
from trunkline.control.access.keys import Keys
from trunkline.control.access.refusals import Refusals
from trunkline.control.clock import Clock, now_ms
from trunkline.control.edges.relay import Relay
from trunkline.control.errors import NotFound
from trunkline.control.groups.groups import Groups
from trunkline.control.log.log import Log
from trunkline.control.log.segments import SegmentStore, SqliteSegments, SqlSegments
from trunkline.control.machines.actions import Time
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.rows import SqlMachineRows
from trunkline.control.machines.secrets import MachineSecrets
from trunkline.control.machines.shell import Shell
from trunkline.control.machines.vms import Vms
from trunkline.control.metrics import Metrics
from trunkline.control.records import Records
from trunkline.control.services import Services
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.legacy import convert
from trunkline.control.sessions.projection import Projection
from trunkline.control.sessions.records import SessionRecords
from trunkline.control.sessions.rows import SqlRows
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.sessions.starting import Starting
from trunkline.control.sessions.turns import Turns
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store, sqlite_url
from trunkline.control.tasks import Tasks


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
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.store = store
        self.segments = segments
        self.keys = keys
        self.tasks = Tasks()
        self.auth = Auth(store, keys, admin, clock)
        self.records = Records(store, keys, self.auth, clock)
        self.services = Services(store, keys, settings, clock)
        self.log = Log(segments, clock)
        self.projection = Projection(SqlRows(store), self.log, self.tasks)
        self.turns = Turns(store, self.projection)
        self.approvals = Approvals(store, self.projection)
        self.session_records = SessionRecords(store, self.log, clock)
        self.starting = Starting(store, self.services)
        time = Time()
        shell = Shell(
            self.log,
            self.projection,
            self.session_records,
            self.turns,
            self.starting.build,
            self.tasks,
            clock,
            time,
        )
        self.machines = Machines(
            SqlMachineRows(store),
            self.log,
            self.projection,
            self.session_records,
            shell,
            clock,
            time,
            away_s=settings.machine_away_s,
            tasks=self.tasks,
        )
        self.metrics = Metrics(self.log, self.machines, self.services.methods.refused)
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
        self.relay = Relay()
        self.refusals = Refusals(store, self.services.audit, self.tasks, clock)
        self.machine_secrets = MachineSecrets(store, clock)
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
        )

    @classmethod
    async def open(cls, settings: Settings, admin_token: str, clock: Clock = now_ms) -> "Core":
        """Opens keys and databases, making them if this is the first start."""
        folder = settings.data_dir
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        keys = await asyncio.to_thread(Keys.open, folder / "keys")
        url = settings.database_url or sqlite_url(folder / "trunkline.db")
        store = await Store.open(url)
        try:
            segments = await _segments(settings, folder, url)
        except BaseException:
            await store.close()
            raise
        return cls(settings, store, segments, keys, admin_token, clock)

    async def recover(self) -> None:
        """At the start, before anybody is let in: the records catch up with the log, and machines
        with open turns are watched, whether anybody asks or not."""
        await convert(self.store, self.log)
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
        await self.settle(limits.DRAIN_WORK_S)
        await self.services.close()
        await self.segments.close()
        await self.store.close()


async def _segments(settings: Settings, folder: Path, url: str) -> SegmentStore:
    if settings.database_url is not None and not url.startswith("sqlite"):
        return await SqlSegments.open(url)
    return await SqliteSegments.open(folder / "log.db", full_sync=settings.log_sync == "full")
