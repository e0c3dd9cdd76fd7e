"""A PostgreSQL database is one control plane's at a time, as a data folder is (`data_folder`).

The lock belongs to a connection that is kept open for it: the database lets it go when that closes,
however the process ended. Where the connection breaks while the server runs, it is taken again; a
server that finds another in its place has to stop. A connection that is dead without a word is
found by asking it, and sooner than the database can have given up on it. Should that come too late
all the same, `fence` keeps the one of before from writing.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from socket import gethostname
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from trunkline.control.errors import Conflict
from trunkline.control.store.engine import check_answers, close_engine, open_engine, reason, shown
from trunkline.control.store.postgres import answers_within
from trunkline.log_form import one_line

if TYPE_CHECKING:
    import asyncpg

_log = structlog.get_logger(__name__)

_LOCK = 0x74_72_6B_6C
"""Of the database's numbers for locks, ours; the second one is the schema's."""
_SCHEMA = "hashtext(coalesce(current_schema(), '')) & 2147483647"
_TAKE = text(f"SELECT pg_try_advisory_lock({_LOCK}, {_SCHEMA})")
_HOLDER = text(
    "SELECT coalesce(activity.application_name, '') FROM pg_locks AS held"  # noqa: S608
    " LEFT JOIN pg_stat_activity AS activity ON activity.pid = held.pid"
    " WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 2"
    " AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    f" AND held.classid = {_LOCK} AND held.objid::bigint = {_SCHEMA}"
)
_NAME = text("SELECT set_config('application_name', :name, false)")
_PROBE_S, _ANSWER_S = 15.0, 10.0
"""Together less than the minute after which the database gives up on one (`postgres`)."""
_TRIES = 20  # a process that was killed is still being cleaned up after
_PAUSE_S = 0.1
_NAME_CHARS_MAX = 63  # PostgreSQL cuts off the rest


@asynccontextmanager
async def held(
    url: str,
    lost: Callable[[str], None],
    retry_s: float = 1.0,
    probe_s: float = _PROBE_S,
    answer_s: float = _ANSWER_S,
) -> AsyncIterator[None]:
    """Holds that database. Conflict, which names the other, when one has it; `lost` is told the
    same when another has it later on."""
    engine = open_engine(url)
    try:
        await check_answers(engine)
        lock = _Lock(engine, answer_s)
        tries = 0
        while (holder := await lock.take()) is not None:
            tries += 1
            if tries == _TRIES:
                raise Conflict(_in_use(url, holder), code="DATABASE_IN_USE")
            await asyncio.sleep(_PAUSE_S)
        keeping = asyncio.create_task(
            _keep(lock, url, lost, retry_s, probe_s), name="database lock"
        )
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])
            await lock.let_go()
    finally:
        await close_engine(engine)


async def _keep(
    lock: "_Lock", url: str, lost: Callable[[str], None], retry_s: float, probe_s: float
) -> None:
    while True:
        await lock.until_broken(probe_s)
        _log.warning("the connection that holds the database broke; it is held again soon")
        while True:
            try:
                holder = await lock.take()
            except Exception as error:  # each driver has errors of its own
                _log.debug("the database cannot be held yet", error=reason(error))
                holder = lock.name
            if holder is None:
                _log.warning("the database is held again")
                break
            if holder != lock.name:  # ours is let go when the database learns that it is broken
                lost(_in_use(url, holder))
                return
            await asyncio.sleep(retry_s)


class _Lock:
    def __init__(self, engine: AsyncEngine, answer_s: float) -> None:
        self.name = f"trunkline {secrets.token_hex(4)} process {os.getpid()} on {gethostname()}"
        self.name = self.name.encode("ascii", "replace").decode()[:_NAME_CHARS_MAX]
        self._broken = asyncio.Event()
        self._engine = engine
        self._answer_s = answer_s
        self._kept: AsyncConnection | None = None

    async def take(self) -> str | None:
        """None when it is ours now, else the name of who has it."""
        await self.let_go()
        async with asyncio.timeout(self._answer_s):
            connection = await self._engine.connect()
        try:
            driver = await _driver_of(connection)
            with answers_within(driver, self._answer_s):
                holder = await self._try(connection)
        except BaseException:
            await connection.invalidate()
            raise
        if holder is None:
            self._broken.clear()
            self._kept = connection
            driver.add_termination_listener(lambda _connection: self._broken.set())
        else:
            await connection.close()
        return holder

    async def _try(self, connection: AsyncConnection) -> str | None:
        await connection.execute(_NAME, {"name": self.name})
        while not await connection.scalar(_TAKE):
            if (holder := await connection.scalar(_HOLDER)) is not None:  # else it just let go
                return str(holder)
        await connection.commit()
        return None

    async def until_broken(self, probe_s: float) -> None:
        while not self._broken.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(probe_s):
                    await self._broken.wait()
                    return
            await self._probe()

    async def _probe(self) -> None:
        if self._kept is None:
            return
        with suppress(Exception):  # each driver has errors of its own, and the connection is ended
            driver = await _driver_of(self._kept)
            with answers_within(driver, self._answer_s):
                await driver.fetchval("SELECT 1")

    async def let_go(self) -> None:
        """A connection that is merely returned to its pool would keep it."""
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.invalidate()
            await kept.close()


async def _driver_of(connection: AsyncConnection) -> "asyncpg.Connection":
    return (await connection.get_raw_connection()).driver_connection


def _in_use(url: str, holder: str) -> str:
    who = f" ({one_line(holder)})" if holder else ""
    return (
        f"another control plane{who} uses the database {shown(url)}: stop it, or name another"
        " database"
    )
