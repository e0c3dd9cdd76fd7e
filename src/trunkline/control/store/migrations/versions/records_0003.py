"""The machines that a session was moved away from. A new database has them from `records_0001`."""

import sqlalchemy as sa
from alembic import op

revision = "records_0003"
down_revision = "records_0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("sessions")}
    if "left_machines" not in columns:
        op.add_column("sessions", sa.Column("left_machines", sa.JSON))
