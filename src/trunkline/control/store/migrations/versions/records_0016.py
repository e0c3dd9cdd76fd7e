"""Machines that are given no new sessions; the model that a user has chosen as the default.

A new database has both from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0016"
down_revision = "records_0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    inspected = sa.inspect(op.get_bind())
    if "default_model" not in {one["name"] for one in inspected.get_columns("credentials")}:
        op.add_column("credentials", sa.Column("default_model", sa.String(200)))
    if "draining" not in {one["name"] for one in inspected.get_columns("machines")}:
        draining = sa.Column("draining", sa.Boolean, nullable=False, server_default=sa.false())
        op.add_column("machines", draining)
