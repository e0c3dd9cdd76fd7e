"""The log's tables, as SQLAlchemy Core: rows of events, and the notes among them."""

from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, String, Table, Text

log = MetaData()

segments = Table(
    "segments",
    log,
    Column("session_id", String(36), primary_key=True),
    Column("last_id", BigInteger, primary_key=True),
    Column("first_id", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("machine_seq", BigInteger),  # the machine's number of the last event, when it counts
    Column("body", LargeBinary, nullable=False),  # one event a line, UTF-8
    sqlite_with_rowid=False,  # one B-tree instead of two: half the pages a commit writes
)

# Facts among the events that readers are not shown, each committed with the events around it.
notes = Table(
    "notes",
    log,
    Column("session_id", String(36), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("after_id", BigInteger, nullable=False),  # the event that it stands behind
    Column("at", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)
