"""Rules of what sessions may do, an agent's mode, and which MCP servers are taken at their word.

A new database has all of it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

from trunkline.control.store.service_schema import rules

revision = "records_0009"
down_revision = "records_0008"
branch_labels = None
depends_on = None

_NEW = (
    ("agents", sa.Column("permission_mode", sa.String(20))),
    (
        "mcp_servers",
        sa.Column("trust_hints", sa.Boolean, nullable=False, server_default=sa.false()),
    ),
)


def upgrade() -> None:
    connection = op.get_bind()
    for table, column in _NEW:
        if column.name not in {one["name"] for one in sa.inspect(connection).get_columns(table)}:
            op.add_column(table, column)
    rules.create(connection, checkfirst=True)
