"""Memories are indexed by terms that are the same for both databases; vectors leave the records.

Vectors are in an index of their own, which the running server makes: it needs an extension that a
migration cannot count on. A new database has the columns from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

from trunkline.control.services.memory_terms import indexed

revision = "records_0010"
down_revision = "records_0009"
branch_labels = None
depends_on = None

_ROWS = 500  # at a time


def upgrade() -> None:
    connection = op.get_bind()
    present = {one["name"] for one in sa.inspect(connection).get_columns("memories")}
    is_sqlite = connection.dialect.name == "sqlite"
    if is_sqlite:
        for trigger in ("memories_fts_insert", "memories_fts_delete"):
            op.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        op.execute("DROP TABLE IF EXISTS memories_fts")
    else:
        op.execute("DROP INDEX IF EXISTS memories_fts")
    if "embedding" in present:
        op.drop_column("memories", "embedding")
    if "terms" not in present:
        op.add_column("memories", sa.Column("terms", sa.Text, nullable=False, server_default=""))
        op.add_column("memories", sa.Column("embedded_by", sa.String(32)))
        op.create_index("ix_memories_embedded_by", "memories", ["embedded_by"])
        _find_terms(connection)
    if is_sqlite:
        _index_in_sqlite()
    else:
        op.execute("ALTER TABLE memories ALTER COLUMN terms DROP DEFAULT")
        op.execute(
            "CREATE INDEX memories_fts ON memories USING gin (to_tsvector('english', terms))"
        )


def _find_terms(connection: sa.Connection) -> None:
    memories = sa.table("memories", sa.column("id"), sa.column("content"), sa.column("terms"))
    after = ""
    while rows := connection.execute(
        sa.select(memories.c.id, memories.c.content)
        .where(memories.c.id > after)
        .order_by(memories.c.id)
        .limit(_ROWS)
    ).all():
        for row in rows:
            found = sa.update(memories).where(memories.c.id == row.id)
            connection.execute(found.values(terms=indexed(row.content)))
        after = rows[-1].id


def _index_in_sqlite() -> None:
    op.execute(
        "CREATE VIRTUAL TABLE memories_fts USING fts5(terms, content='memories',"
        " content_rowid='fts_rowid', tokenize='porter unicode61')"
    )
    op.execute("INSERT INTO memories_fts (memories_fts) VALUES ('rebuild')")
    # An index of vectors cannot be reached by a trigger: where its extension is missing, nothing
    # could be deleted any more. Whoever keeps it looks here.
    op.execute("CREATE TABLE IF NOT EXISTS memories_fts_gone (fts_rowid INTEGER PRIMARY KEY)")
    # Triggers also see what a deleted user or org takes along.
    op.execute(
        "CREATE TRIGGER memories_fts_insert AFTER INSERT ON memories BEGIN"
        " INSERT INTO memories_fts (rowid, terms) VALUES (new.fts_rowid, new.terms); END"
    )
    op.execute(
        "CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories BEGIN"
        " INSERT INTO memories_fts (memories_fts, rowid, terms)"
        " VALUES ('delete', old.fts_rowid, old.terms);"
        " INSERT INTO memories_fts_gone (fts_rowid)"
        " SELECT old.fts_rowid WHERE old.embedded_by IS NOT NULL; END"
    )
