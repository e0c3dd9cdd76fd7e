"""An MCP server can be switched off without forgetting its address and headers.

A new database has it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0017"
down_revision = "records_0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    known = {one["name"] for one in sa.inspect(op.get_bind()).get_columns("mcp_servers")}
    if "enabled" not in known:
        op.add_column(
            "mcp_servers",
            sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
        )
