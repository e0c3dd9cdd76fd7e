"""The group chats that a Yeaft agent runs itself.

A new database has it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0023"
down_revision = "records_0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {one["name"] for one in sa.inspect(op.get_bind()).get_columns("machines")}
    if "group_chats" not in columns:
        op.add_column("machines", sa.Column("group_chats", sa.JSON(none_as_null=True)))
