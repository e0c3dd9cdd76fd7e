"""The journal; a row that says where each log begins and ends; events and notes can be packed."""

import time

import structlog
from alembic import context, op
from sqlalchemy import Column, Connection, Table, func, insert, inspect, select

from trunkline.control.store.log_schema import journal, logs, notes, segments

revision = "log_0003"
down_revision = "log_0002"
branch_labels = None
depends_on = None

_log = structlog.get_logger(__name__)


def upgrade() -> None:
    connection = op.get_bind()
    logs.create(connection, checkfirst=True)
    journal.create(connection, checkfirst=True)
    if connection.dialect.name == "postgresql":
        # Its bodies are compressed already, or too small to be.
        op.execute("ALTER TABLE journal ALTER COLUMN body SET STORAGE EXTERNAL")
    _widen(connection, segments, "codec", "times", "size")
    _widen(connection, notes, "packed")
    _fill(connection)


def _widen(connection: Connection, table: Table, *names: str) -> None:
    # A new database got them with the table.
    there = {column["name"] for column in inspect(connection).get_columns(table.name)}
    for name in names:
        if name not in there:
            op.add_column(table.name, Column(name, table.c[name].type))


def _fill(connection: Connection) -> None:
    sessions = select(segments.c.session_id).union(select(notes.c.session_id))
    ids = list(connection.scalars(sessions))
    told, tell_s = time.monotonic(), context.config.attributes["tell_s"]
    for done, session_id in enumerate(ids):
        if time.monotonic() - told >= tell_s:
            told = time.monotonic()
            _log.info("the log is upgraded", sessions=len(ids), percent=100 * done // len(ids))
        connection.execute(insert(logs).values(**_row(connection, session_id)))


def _row(connection: Connection, session_id: str) -> dict[str, object]:
    of_it = segments.c.session_id == session_id
    has_events = segments.c.last_id >= segments.c.first_id
    newest = connection.execute(
        select(segments.c.last_id, segments.c.machine_seq)
        .where(of_it)
        .order_by(segments.c.last_id.desc())
        .limit(1)
    ).first()
    first_id = connection.scalar(select(func.min(segments.c.first_id)).where(of_it, has_events))
    size = connection.scalar(select(func.sum(func.length(segments.c.body))).where(of_it))
    note, more = connection.execute(
        select(func.max(notes.c.number), func.sum(func.length(notes.c.body))).where(
            notes.c.session_id == session_id
        )
    ).one()
    return {
        "session_id": session_id,
        "first_id": first_id or 1,
        "last_id": newest.last_id if newest is not None else 0,
        "machine_seq": newest.machine_seq if newest is not None else None,
        "note": note or 0,
        "bytes": int(size or 0) + int(more or 0),
    }
