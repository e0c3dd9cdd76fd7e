"""The running control plane: opens the core, listens on the one port, drains at the end."""

import asyncio
import contextlib
import gc
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import structlog
import uvloop
from sqlalchemy import delete
from sqlalchemy.exc import SQLAlchemyError

from trunkline import limits
from trunkline.control import data_folder
from trunkline.control.access.keys import admin_token
from trunkline.control.api.http import HttpServer
from trunkline.control.backup import restored as restoring
from trunkline.control.core import Core
from trunkline.control.door.connections import raise_descriptor_limit
from trunkline.control.door.door import Door, Visitor
from trunkline.control.edges.sse.host import SseHost
from trunkline.control.edges.wires import Edge, wires_of
from trunkline.control.errors import NoRoom, Overtaken, TrunklineError, Unavailable
from trunkline.control.files import log_file, store_url
from trunkline.control.records.credentials import from_environment
from trunkline.control.settings import Settings
from trunkline.control.store import causes, database_lock, fence, schema

_log = structlog.get_logger(__name__)

_TIDY_EVERY_SWEEPS = 60
# A commit of a thousand sessions makes some thousand objects that are gone when it is delivered:
# with Python's own 700 each would be looked at several times, and all connections with them.
_GC_THRESHOLDS = (8_000, 5, 10)
_STALLED_S = 2.0  # at the end, for a log that cannot be written


class ServerInfo(msgspec.Struct, frozen=True):
    """Where a started server is, and how its first user gets in."""

    url: str
    login_url: str


class Server:
    """One control plane in this process. The core is its own from `start` on: `stop` closes it."""

    def __init__(self, core: Core, lost: Callable[[str], None] | None = None) -> None:
        """`lost`: told, again and again, that another one writes the database."""
        self.core = core
        self._lost = lost
        self._settings = core.settings
        self._http: HttpServer
        self._door: Door
        self._edges: list[Edge] = []
        self._listener: asyncio.Server
        self._watchers: list[asyncio.Task[None]] = []

    async def start(self) -> ServerInfo:
        try:
            return await self._start(self.core)
        except BaseException:
            self.core.presence.withdraw()
            await self.core.close()
            raise

    async def _start(self, core: Core) -> ServerInfo:
        settings = self._settings
        owner = await core.auth.load_first_user()
        await core.services.audit.start()
        restored = await asyncio.to_thread(restoring.read, settings.data_dir)
        await core.recover(restored)
        if restored is not None:
            _log.warning("the first start after a restore; ids go on far ahead")
            await core.trail.own("system.restored", msgspec.structs.asdict(restored), owner)
            await asyncio.to_thread(restoring.remove, settings.data_dir)
        await core.groups.start()
        await self._open_door()
        url = self._url()
        core.presence.announce(self._local_url())
        core.records.credentials.lend(owner.user_id, from_environment(os.environ))
        await core.vms.start(self._local_url())
        if settings.local_machine and (made := await core.vms.keep_one_for(owner)) is not None:
            local = {"vm_id": made, "provider": "local"}
            await core.trail.own("machine.scheduled", local, owner)
        await core.disk.look()
        self._watchers = [
            asyncio.create_task(self._sweep_for_ever(), name="sweep"),
            asyncio.create_task(core.metrics.watch_lag(), name="event loop lag"),
            asyncio.create_task(core.services.memories.index.keep(), name="memory index"),
        ]
        code, _ = await core.auth.issue(owner.user_id, "login", life_s=limits.LOGIN_LINK_LIFE_S)
        await core.trail.own("login_link.made", {"by": "the start of the server"}, owner)
        return ServerInfo(url, f"{url}/login?code={code}")

    async def _open_door(self) -> None:
        core, settings = self.core, self._settings
        wires, stream = wires_of(core), SseHost(core)
        self._edges = [*wires, stream]
        sockets = {wire.path: wire.accept for wire in wires}
        parts = core.connections, core.handshakes, core.surprises
        self._door = Door(settings, sockets, stream, *parts, core.tuning.head_timeout_s)
        self._http = HttpServer(core, self._door.take_back)
        visitor = partial(Visitor, self._door, await self._http.start())
        loop = asyncio.get_running_loop()
        try:
            self._listener = await loop.create_server(
                visitor, settings.host, settings.port, backlog=4096
            )
        except OSError as error:
            raise Unavailable(
                f"cannot listen on {settings.host}:{settings.port}: {error.strerror}"
            ) from error

    def _url(self) -> str:
        """Where people find this server."""
        return self._settings.public_url or self._local_url()

    def _local_url(self) -> str:
        """Where this host finds it."""
        host, port = self._listener.sockets[0].getsockname()[:2]
        # A socket on `::` takes no IPv4: at 127.0.0.1 somebody else may listen.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared only
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def sweep(self) -> None:
        """Everything that is due by the clock, at once."""
        for _ in self._sweeping():
            pass

    def _sweeping(self) -> Iterator[None]:
        core = self.core
        # First: where anything else fails each time, it stops all the same.
        if self._lost is not None and core.storage.cause == causes.TAKEN:
            self._lost(fence.overtaken().message)
        yield from core.machines.sweep()
        for sweep in (
            *(core.auth.sweep, core.trail.sweep, core.taps.sweep, core.connections.sweep),
            *(core.pulse.sweep, core.storage.sweep, core.push.sweep, core.handshakes.sweep),
            *(edge.sweep for edge in self._edges),
        ):
            yield
            sweep()

    async def _sweep_for_ever(self) -> None:
        sweeps = 0
        tidying: asyncio.Task[None] | None = None
        while True:
            await asyncio.sleep(self.core.tuning.sweep_s)
            sweeps += 1
            try:
                for _ in self._sweeping():
                    await asyncio.sleep(0)  # in steps: who has something to say says it between
                if sweeps % _TIDY_EVERY_SWEEPS == 0 and (tidying is None or tidying.done()):
                    tidying = self.core.tasks.spawn(self._tidy(), "tidy")
            except Exception:
                _log.exception("the sweep failed")

    async def _tidy(self) -> None:
        """Removes what has expired."""
        core = self.core
        now = core.clock()
        core.log.tidy()
        core.uploads.tidy()
        await core.services.results.purge()
        await core.services.reports.purge()
        core.services.memories.index.wake()
        await core.auth.save_uses()
        await core.services.audit.anchor()
        await core.machines.save_all()
        for one in await core.join_codes.tidy():
            core.news.gone("machine", one.machine_id, (one.org_id, one.user_id))
        await core.sweeper.sweep()
        await core.disk.look()
        async with core.store.write() as connection:
            for table in (schema.tickets, schema.tokens):
                await connection.execute(delete(table).where(table.c.expires_at < now))

    async def stop(self) -> None:
        """Drains: no new work, machines and readers are told, what was taken is on disk."""
        core = self.core
        core.presence.withdraw()
        self._listener.close()
        for watcher in self._watchers:
            watcher.cancel()
        for visitor in list(self._door.waiting):
            visitor.abort()
        core.trail.settle()
        for save in (core.machines.save_all, core.auth.save_uses):
            try:
                await save()
            except TrunklineError as error:  # machines and readers are told all the same
                _log.error("not saved at the end", code=error.code, error=error.message)
        for edge in self._edges:
            if edge.is_machines:
                edge.say_goodbye()
        await self._flushed()
        for edge in self._edges:
            if not edge.is_machines:
                edge.say_goodbye()
        await asyncio.gather(core.vms.stop(), self._http.stop())
        await self._flushed()
        with contextlib.suppress(TrunklineError):  # it is noted at the next start
            await core.services.audit.anchor(always=True)
        await core.close()

    async def _flushed(self) -> None:
        """However long it takes; but a disk that is full may stay so, and what is not on it the
        machines still have."""
        log = self.core.log
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if log.stalled is None else _STALLED_S):
                await log.flushed()


async def serve(settings: Settings, ready: Callable[[ServerInfo], None]) -> None:
    """Runs until SIGTERM or SIGINT, then drains within its limit. Overtaken, when it ended because
    another control plane has its database."""
    stop = asyncio.Event()
    taken: list[str] = []
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    raise_descriptor_limit(settings)

    def lost(why: str) -> None:
        if not taken:
            _log.error("the database is no longer this server's, which stops", why=why)
        taken.append(why)
        stop.set()

    with data_folder.held(settings):
        async with _database_held(settings, lost):
            await _serve(settings, ready, stop, lost)
    if taken:
        raise Overtaken(taken[0])


def _database_held(
    settings: Settings, lost: Callable[[str], None]
) -> contextlib.AbstractAsyncContextManager[None]:
    if log_file(settings) is not None:
        return contextlib.nullcontext()  # it is in the data folder
    return database_lock.held(store_url(settings), lost)


async def _serve(
    settings: Settings,
    ready: Callable[[ServerInfo], None],
    stop: asyncio.Event,
    lost: Callable[[str], None],
) -> None:
    server = Server(await Core.open(settings, admin_token(settings)), lost)
    info = await server.start()
    await server.core.store.fill()
    # As good as all that is here now stays; the collector need not look at it.
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()
    _log.info("listening", url=info.url)
    ready(info)
    await stop.wait()
    _log.info("draining")
    try:
        await asyncio.wait_for(server.stop(), limits.DRAIN_TIMEOUT_S - 1)
    except TimeoutError:
        _log.warning("not everything could be drained in time")
    _log.info("stopped")


def run(settings: Settings, *, ready: Callable[[ServerInfo], None]) -> None:
    """Blocks until the control plane has stopped."""
    try:
        uvloop.run(serve(settings, ready))
    except (OSError, sqlite3.Error, SQLAlchemyError) as error:
        if causes.cause_of(error, settings.data_dir) != causes.DISK_FULL:
            raise
        folder = settings.data_dir
        raise NoRoom(f"the disk of {folder} is full: make room, and start again") from error
