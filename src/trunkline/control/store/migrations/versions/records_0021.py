"""Quotas that differ from the server's, what of a session was imported, and sessions that are being
removed for good, with the machines that may have something of them still.

A new database has them from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

from trunkline.control.store import schema

revision = "records_0021"
down_revision = "records_0020"
branch_labels = None
depends_on = None

_BEFORE = "erased_sessions"


def upgrade() -> None:
    inspected = sa.inspect(op.get_bind())
    for table in ("orgs", "users"):
        if "quotas" not in {one["name"] for one in inspected.get_columns(table)}:
            op.add_column(table, sa.Column("quotas", sa.JSON(none_as_null=True)))
    if "imported_id" not in {one["name"] for one in inspected.get_columns("sessions")}:
        op.add_column("sessions", sa.Column("imported_id", sa.BigInteger))
    for made in (schema.erasures, schema.erased_copies):
        made.create(op.get_bind(), checkfirst=True)
    if _BEFORE in inspected.get_table_names():
        op.execute(
            "INSERT INTO erased_copies (session_id, machine_id, created_at)"
            " SELECT id, machine_id, created_at FROM erased_sessions"
        )
        op.drop_table(_BEFORE)
