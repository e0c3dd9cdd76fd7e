"""Which conversation of another program a session goes on with: at most one open session each.

A new database has it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0008"
down_revision = "records_0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    inspected = sa.inspect(op.get_bind())
    if "adopted" not in {one["name"] for one in inspected.get_columns("sessions")}:
        op.add_column("sessions", sa.Column("adopted", sa.String(500)))
    if "sessions_adopted" not in {one["name"] for one in inspected.get_indexes("sessions")}:
        is_open = sa.text("status = 'active'")
        op.create_index(
            "sessions_adopted",
            "sessions",
            ["adopted"],
            unique=True,
            sqlite_where=is_open,
            postgresql_where=is_open,
        )
