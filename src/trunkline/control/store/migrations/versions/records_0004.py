"""Devices and agents, groups of persons, positions of MyAgent connections.

A new database has all of it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

from trunkline.control.store import schema

revision = "records_0004"
down_revision = "records_0003"
branch_labels = None
depends_on = None

_TABLES = (
    schema.machine_secrets,
    schema.persons,
    schema.group_members,
    schema.group_seats,
    schema.myagent_runs,
)


def upgrade() -> None:
    connection = op.get_bind()
    for name, column in (
        ("sessions", sa.Column("remote", sa.JSON)),
        ("agents", sa.Column("agent_app", sa.String(60))),
    ):
        columns = {one["name"] for one in sa.inspect(connection).get_columns(name)}
        if column.name not in columns:
            op.add_column(name, column)
    for table in _TABLES:
        table.create(connection, checkfirst=True)
