"""The record tables."""

from alembic import op

# A table is known to the metadata once its module is imported.
from trunkline.control.store import schema, service_schema  # noqa: F401
from trunkline.control.store.columns import records

revision = "records_0001"
down_revision = None
branch_labels = ("records",)
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    records.create_all(connection)
    op.execute("INSERT INTO audit_head (id, seq) VALUES (1, 0)")
    if connection.dialect.name == "sqlite":
        # Trigrams find parts of words and Chinese, which has no spaces between words.
        op.execute(
            "CREATE VIRTUAL TABLE memories_fts USING fts5"
            "(content, memory_id UNINDEXED, tokenize='trigram')"
        )
        # Triggers also see what a deleted user or org takes along.
        op.execute(
            "CREATE TRIGGER memories_fts_insert AFTER INSERT ON memories BEGIN"
            " INSERT INTO memories_fts (rowid, content, memory_id)"
            " VALUES (new.fts_rowid, new.content, new.id); END"
        )
        op.execute(
            "CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories BEGIN"
            " DELETE FROM memories_fts WHERE rowid = old.fts_rowid; END"
        )
    else:
        op.execute(
            "CREATE INDEX memories_fts ON memories USING gin (to_tsvector('simple', content))"
        )
