"""Locks tables of a PostgreSQL database against writing, for who takes it over, and says for whom
it waits.

What was cut off in the middle of a transaction keeps its locks until the database gives up on it,
which may be never. So whatever waits for a client that says nothing is ended after a while. Only
for who holds the database (`database_lock`): nobody else has work in it that counts.
"""

import asyncio
from typing import TYPE_CHECKING

import structlog

from trunkline.control.store import causes

if TYPE_CHECKING:
    import asyncpg

_log = structlog.get_logger(__name__)

_LOOK_S = 2.0
# A reader, such as a backup, is in nobody's way. Who may not see another one's state may not end
# it, either.
_WRITERS = (
    "SELECT held.pid, coalesce(activity.usename, '') AS username,"
    " coalesce(activity.application_name, '') AS program,"
    " coalesce(host(activity.client_addr), '') AS address, coalesce(activity.state, '') AS state,"
    " coalesce(activity.state LIKE 'idle in transaction%' OR activity.wait_event_type = 'Client',"
    " false) AS is_silent"
    " FROM pg_stat_activity AS activity JOIN (SELECT DISTINCT pid FROM pg_locks"
    " WHERE granted AND locktype = 'relation' AND mode <> 'AccessShareLock'"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND relation = ANY($1::text[]::regclass[]::oid[])) AS held ON held.pid = activity.pid"
    " WHERE held.pid <> pg_backend_pid() ORDER BY held.pid"
)


async def lock_tables(
    connection: "asyncpg.Connection", tables: tuple[str, ...], patience_s: float
) -> None:
    """Until the end of that connection's transaction. Waits for those who write, and lets nobody
    begin; who only reads goes on. `patience_s`: before silent ones are ended."""
    loop = asyncio.get_running_loop()
    until = loop.time() + patience_s
    told: list[int] = []
    while not await _locked(connection, tables, min(_LOOK_S, patience_s)):
        # What is known of others is otherwise kept as it was first seen in a transaction.
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        writers = await connection.fetch(_WRITERS, list(tables))
        pids = [one["pid"] for one in writers]
        if pids != told:
            told = pids
            _log.warning(
                "the start waits for transactions in the database",
                of=[{**one} for one in writers],
            )
        if loop.time() >= until:
            await _end(connection, [one["pid"] for one in writers if one["is_silent"]])


async def _locked(
    connection: "asyncpg.Connection", tables: tuple[str, ...], within_s: float
) -> bool:
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL lock_timeout = {max(1, int(within_s * 1000))}")
            await connection.execute(f"LOCK TABLE {', '.join(tables)} IN EXCLUSIVE MODE")
    except Exception as error:  # the driver is there only where it is used
        if causes.cause_of(error) == causes.LOCKED:
            return False
        raise
    return True


async def _end(connection: "asyncpg.Connection", pids: list[int]) -> None:
    for pid in pids:
        try:
            async with connection.transaction():
                is_ended = await connection.fetchval("SELECT pg_terminate_backend($1)", pid)
        except Exception as error:
            if getattr(error, "sqlstate", None) != "42501":  # somebody else's
                raise
            _log.warning("a silent transaction may not be ended by this user", pid=pid)
        else:
            if is_ended:
                _log.warning("ended a transaction whose client said nothing", pid=pid)
