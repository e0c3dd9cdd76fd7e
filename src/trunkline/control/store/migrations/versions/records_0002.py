"""Ends that machines had not sent yet, and reports that were taken.

A new database has both from `records_0001`, which makes the tables as the code has them now.
"""

import sqlalchemy as sa
from alembic import op

from trunkline.control.store.service_schema import reports

revision = "records_0002"
down_revision = "records_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    columns = {column["name"] for column in sa.inspect(connection).get_columns("turns")}
    if "owed" not in columns:
        owed = sa.Column("owed", sa.Boolean, nullable=False, server_default=sa.false())
        op.add_column("turns", owed)
    reports.create(connection, checkfirst=True)
