"""What can be typed behind a slash on a Yeaft agent.

A new database has it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0022"
down_revision = "records_0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {one["name"] for one in sa.inspect(op.get_bind()).get_columns("machines")}
    if "slash_commands" not in columns:
        op.add_column("machines", sa.Column("slash_commands", sa.JSON(none_as_null=True)))
