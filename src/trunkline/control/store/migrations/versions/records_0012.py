"""Messages to running turns; which session and turn a session is a copy of, and copies that are
being made.

A new database has all of it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0012"
down_revision = "records_0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    inspected = sa.inspect(op.get_bind())
    if "steers" not in {one["name"] for one in inspected.get_columns("turns")}:
        op.add_column("turns", sa.Column("steers", sa.String(36)))
    if "forked_from" not in {one["name"] for one in inspected.get_columns("sessions")}:
        op.add_column("sessions", sa.Column("forked_from", sa.JSON))
    if "drafts" not in inspected.get_table_names():
        op.create_table(
            "drafts",
            sa.Column("id", sa.String(36), primary_key=True),
            sa.Column("created_at", sa.BigInteger, nullable=False),
        )
