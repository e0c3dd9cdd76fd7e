"""Opens the record store: SQLite embedded, PostgreSQL through the same code.

Everything that reads or writes records goes through `Store.read` and `Store.write`.
"""

import asyncio
import sqlite3
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import aiosqlite
import msgspec
import structlog
from aiosqlite.core import _connection_worker_thread
from sqlalchemy import Delete, Executable, Insert, Row, Select, Update, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from trunkline import extras
from trunkline.control.errors import NoRoom, Overtaken, Unavailable
from trunkline.control.redaction import redact
from trunkline.control.store import causes, postgres, sqlite_vec
from trunkline.control.store.backup import sqlite_file
from trunkline.control.store.fence import NODE, overtaken
from trunkline.control.store.migrate import upgrade
from trunkline.log_form import one_line
from trunkline.private_files import NotPrivate, make_file

_log = structlog.get_logger(__name__)

_ROWS_AT_ONCE = 64
_REPORT_S = 2.0
_FIRST_ANSWER_S = 15.0  # of a database at the start
_REASON_CHARS = 200
_IS_OURS = text(
    f"SELECT 1 FROM nodes WHERE node = '{NODE}' AND epoch = :epoch FOR KEY SHARE"  # noqa: S608
)
# A connection has a thread, a page cache and prepared statements: half a MiB that stays. Of those
# that are kept the last used is used again, so that one more is rarely kept, and soon or never.
_STATEMENTS = 64  # kept prepared by each; requests use about so many
_SQLITE_POOL = {"pool_size": 3, "max_overflow": 12, "pool_use_lifo": True}

AnyRow = Row[*tuple[Any, ...]]


def sqlite_url(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"


class _Connection(aiosqlite.Connection):
    """aiosqlite's, which is told to stop once: where a pool cuts off a connection that closes,
    the second one to say so would wait for the answer of a thread that has ended."""

    def stop(self) -> "asyncio.Future[Any] | None":
        return super().stop() if self._running else None


def _serve(connection: "weakref.ref[_Connection]", tx: Any) -> None:
    """aiosqlite's thread, which outlives the event loop of those who asked: nobody waits for that
    answer any more, and it goes on until the connection is closed."""
    while True:
        try:
            _connection_worker_thread(tx)
            return
        except RuntimeError:  # of a loop that has ended
            opened = connection()
            if opened is None or opened._connection is None:
                return


async def connect(*place: Any, **options: Any) -> aiosqlite.Connection:
    """As `aiosqlite.connect`, wholly or not at all.

    aiosqlite has a thread for each connection. Cut off while it opens, that thread would go on by
    itself, past the end of the task, of the engine and of the event loop that it reports to. So
    when it is cancelled, this waits for what it began, and closes that.
    """
    connection = _Connection(partial(sqlite3.connect, *place, **options), _ROWS_AT_ONCE)
    connection._thread = Thread(
        target=_serve,
        args=(weakref.ref(connection), connection._tx),
        daemon=True,  # does not keep a process that could not drain in time
    )
    opening = asyncio.ensure_future(connection)
    cancelled: asyncio.CancelledError | None = None
    while not opening.done():
        try:
            await asyncio.wait([opening])
        except asyncio.CancelledError as error:
            cancelled = error
    if opening.cancelled():
        # The loop itself is ending, and has cancelled all that runs in it: it stays until the
        # thread has reported, but not for ever.
        if connection._thread.is_alive():
            connection._thread.join(_REPORT_S)
    elif cancelled is not None and opening.exception() is None:
        await connection.close()
    if cancelled is not None:
        raise cancelled
    return opening.result()


def open_engine(url: str) -> AsyncEngine:
    """An engine with this project's settings for that database."""
    parsed = _parsed(url)
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise Unavailable(f"database {backend!r} is not supported: use sqlite or postgresql")
    if backend == "postgresql" and parsed.drivername != "postgresql+asyncpg":
        parsed = parsed.set(drivername="postgresql+asyncpg")
    options: dict[str, Any] = {}
    if backend == "postgresql":
        options["pool_pre_ping"] = True  # a connection may have died while idle
    else:
        options["connect_args"] = {"async_creator_fn": connect, "cached_statements": _STATEMENTS}
        if sqlite_file(parsed) is not None:
            options |= _SQLITE_POOL
    try:
        engine = create_async_engine(
            parsed,
            json_serializer=_to_json,
            json_deserializer=msgspec.json.decode,
            **options,
        )
    except ModuleNotFoundError as missing:
        raise Unavailable(
            f"PostgreSQL needs {missing.name}, which is not installed: {extras.fix('postgres')}"
        ) from missing
    if backend == "postgresql":
        event.listen(engine.sync_engine, "connect", postgres.notice_silence)
    else:
        sqlite_vec.problem()  # before there is a connection that it is to be in
        event.listen(engine.sync_engine, "connect", _prepare)
    return engine


async def open_migrated(url: str, branch: str) -> AsyncEngine:
    """An engine on a database whose `branch` has the newest schema."""
    engine = open_engine(url)
    try:
        await check_answers(engine)
        await upgrade(engine, branch)
    except BaseException:
        await close_engine(engine)
        raise
    return engine


def shown(url: str) -> str:
    """A database's address as people may see it: no user, password or option."""
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        return f"SQLite at {parsed.database or 'memory'}"
    host = parsed.host or "localhost"
    port = "" if parsed.port is None else f":{parsed.port}"
    return f"{parsed.get_backend_name()}://{host}{port}/{parsed.database or ''}"


def reason(error: BaseException) -> str:
    """Why a database does not answer, in one line."""
    said = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
    return one_line(redact(said or type(error).__name__))[:_REASON_CHARS]


async def check_answers(engine: AsyncEngine) -> None:
    """Unavailable, with its address, for a database that does not."""
    url, file = engine.url.render_as_string(hide_password=True), sqlite_file(engine.url)
    try:
        # Made before SQLite makes it, which would leave it open to others; its other files get
        # the same permissions.
        if file is not None and await asyncio.to_thread(make_file, file):
            _log.warning("was open to other users, and is closed to them now", path=str(file))
        async with asyncio.timeout(_FIRST_ANSWER_S), engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except NotPrivate as error:
        raise Unavailable(str(error), code="NOT_PRIVATE") from error
    except Exception as error:  # each driver has errors of its own
        if file is not None and causes.cause_of(error, file.parent) == causes.DISK_FULL:
            raise NoRoom(f"the disk of {file} is full: make room, and start again") from error
        late = isinstance(error, TimeoutError)
        why = f"nothing came within {_FIRST_ANSWER_S:g} s" if late else reason(error)
        raise Unavailable(
            f"the database does not answer ({shown(url)}): {why}", code="DATABASE_UNREACHABLE"
        ) from error


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError) as error:  # whose text may hold the password
        raise Unavailable(
            "database_url is no address of a database; it looks like"
            " postgresql+asyncpg://user:password@host/name"
        ) from error


async def close_engine(engine: AsyncEngine) -> None:
    """Closes every connection: at once, or when its user returns it to the pool.

    A disposed pool would keep a connection that is returned later, and never close it.
    """
    event.listen(engine.sync_engine, "checkin", _close)
    await engine.dispose()


def _close(_connection: Any, record: ConnectionPoolEntry) -> None:
    record.invalidate()


def _to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _prepare(connection: Any, _record: Any) -> None:
    sqlite_vec.load(connection)
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "busy_timeout=10000",
        "cache_size=-256",  # KiB, for each connection; the rest is the system's to keep
        "temp_store=MEMORY",  # a full /tmp is not to end a transaction
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


class Store:
    """The records. One writer at a time on SQLite, which would refuse a second one anyway."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.is_sqlite = engine.dialect.name == "sqlite"
        self.trouble: str | None = None
        """Why the last change could not be written, if that is the disk's or the database's
        fault."""
        self._file = sqlite_file(engine.url)
        self._writing = asyncio.Lock()
        self._epoch: int | None = None

    @classmethod
    async def open(cls, url: str) -> "Store":
        return cls(await open_migrated(url, "records"))

    def fence(self, epoch: int) -> None:
        """The log is in this database, and has that epoch: once somebody else has raised it,
        nothing is written here either."""
        self._epoch = epoch

    async def fill(self) -> None:
        """Opens the connections that are kept, all at once: what they take is taken from the start
        on, and not when by chance three are needed, days later."""
        if self._file is not None:
            async with AsyncExitStack() as stack:
                for _ in range(_SQLITE_POOL["pool_size"]):
                    await stack.enter_async_context(self.read())

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self.engine.connect() as connection:
                yield connection
        except (DBAPIError, OSError) as error:
            if (cause := self._cause_of(error)) is None:
                raise
            raise causes.refusal(cause) from error

    def _cause_of(self, error: BaseException) -> str | None:
        return causes.cause_of(error, None if self._file is None else self._file.parent)

    async def all(self, query: Executable) -> Sequence[AnyRow]:
        async with self.read() as connection:
            return (await connection.execute(query)).all()

    async def first(self, query: Executable) -> AnyRow | None:
        async with self.read() as connection:
            return (await connection.execute(query)).first()

    async def scalars(self, query: Select[Any]) -> Sequence[Any]:
        """The first column of every row."""
        async with self.read() as connection:
            return (await connection.scalars(query)).all()

    async def scalar(self, query: Select[Any]) -> Any:
        """The first column of the first row; None without one."""
        async with self.read() as connection:
            return await connection.scalar(query)

    async def run(self, statement: Insert | Update | Delete) -> int:
        """One change in a transaction of its own; how many rows it changed."""
        async with self.write() as connection:
            return (await connection.execute(statement)).rowcount

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction: committed at the end of the block, rolled back if it raises. NoRoom or
        Unavailable where the disk or the database is the reason."""
        try:
            if self.is_sqlite:
                async with self._writing, self.engine.begin() as connection:
                    yield connection
            else:
                async with self.engine.begin() as connection:
                    await self._check(connection)
                    yield connection
        except (DBAPIError, OSError, Overtaken) as error:
            if (cause := self._cause_of(error)) is None:
                raise
            if cause != self.trouble:
                _log.error("records cannot be written", cause=cause, error=reason(error))
            self.trouble = cause
            if self.is_sqlite and cause == causes.DISK_FULL:
                await self._make_room()
            raise causes.refusal(cause) from error
        else:
            if self.trouble is not None:
                _log.warning("records are written again")
                self.trouble = None

    async def _check(self, connection: AsyncConnection) -> None:
        if self._epoch is None:
            return
        if await connection.scalar(_IS_OURS, {"epoch": self._epoch}) is None:
            raise overtaken()

    async def _make_room(self) -> None:
        """What is moved out of the write-ahead log now leaves its place to what comes."""
        with suppress(SQLAlchemyError):
            async with self.engine.connect() as connection:
                await connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    async def ping(self) -> None:
        """Returns if the database answers; raises what its driver raises if not."""
        async with self.read() as connection:
            await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        await close_engine(self.engine)
