"""Where an agent works and which ACP program it is; what a machine can run.

A new database has all of it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0007"
down_revision = "records_0006"
branch_labels = None
depends_on = None

_NEW = (
    ("agents", sa.Column("workspace", sa.Text)),
    ("agents", sa.Column("acp", sa.JSON)),
    ("machines", sa.Column("runtimes", sa.JSON)),
)


def upgrade() -> None:
    connection = op.get_bind()
    for table, column in _NEW:
        if column.name not in {one["name"] for one in sa.inspect(connection).get_columns(table)}:
            op.add_column(table, column)
