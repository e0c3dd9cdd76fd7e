"""The log's tables, as SQLAlchemy Core: where each log begins and ends, its events and notes."""

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
)

log = MetaData()

# One row a commit: what all sessions said since the last one. It becomes segments and goes.
journal = Table(
    "journal",
    log,
    # SQLite's own number of a row, and so no index beside the table.
    Column(
        "seq",
        BigInteger().with_variant(Integer, "sqlite"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("node", String(64), nullable=False),  # that wrote it
    Column("epoch", BigInteger, nullable=False),  # of that node, when it did
    Column("at", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

# One row a node: the number of its last start, without which nobody writes (`fence`).
nodes = Table(
    "nodes",
    log,
    Column("node", String(64), primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# One row a session. It outlives the events: what was cut off or skipped is never given out again.
logs = Table(
    "logs",
    log,
    Column("session_id", String(36), primary_key=True),
    Column("first_id", BigInteger, nullable=False),  # of the oldest event that is kept
    Column("last_id", BigInteger, nullable=False),
    Column("machine_seq", BigInteger),  # the machine's number of its newest event, when it counts
    Column("note", BigInteger, nullable=False),  # the number of the newest note
    Column("bytes", BigInteger, nullable=False),  # that its events and notes take
    sqlite_with_rowid=False,
)

segments = Table(
    "segments",
    log,
    Column("session_id", String(36), primary_key=True),
    Column("last_id", BigInteger, primary_key=True),
    Column("first_id", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),  # of the newest event
    Column("machine_seq", BigInteger),  # written by versions without the table `logs`
    Column("body", LargeBinary, nullable=False),  # one event a line, UTF-8
    Column("codec", SmallInteger),  # how the body is compressed; none: not at all
    Column("times", LargeBinary),  # runs of events of one time; none: all are of the time `at`
    Column("size", Integer),  # of the lines; none: they are the body
    sqlite_with_rowid=False,  # one B-tree instead of two: half the pages a commit writes
)

# Facts among the events that readers are not shown, each committed with the events around it.
notes = Table(
    "notes",
    log,
    Column("session_id", String(36), primary_key=True),
    Column("number", BigInteger, primary_key=True),  # of several: the last
    Column("after_id", BigInteger, nullable=False),  # the event that it stands behind
    Column("at", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("packed", LargeBinary),  # several of them, and then there is nothing in `body`
    sqlite_with_rowid=False,
)
