"""Whose word a session's title is, an index of titles, and the machine that a user prefers.

A new database has them from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0018"
down_revision = "records_0017"
branch_labels = None
depends_on = None

_INDEX = "sessions_named"


def upgrade() -> None:
    inspected = sa.inspect(op.get_bind())
    if "titled_by" not in {one["name"] for one in inspected.get_columns("sessions")}:
        op.add_column("sessions", sa.Column("titled_by", sa.String(10)))
    if _INDEX not in {one["name"] for one in inspected.get_indexes("sessions")}:
        op.create_index(_INDEX, "sessions", ["org_id", "user_id", "title", "id"])
    if "default_machine_id" not in {one["name"] for one in inspected.get_columns("users")}:
        op.add_column("users", sa.Column("default_machine_id", sa.String(36)))
