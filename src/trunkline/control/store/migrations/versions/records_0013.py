"""What a model call cost, and in which money; null where nobody knows.

A new database has it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0013"
down_revision = "records_0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    known = {one["name"] for one in sa.inspect(op.get_bind()).get_columns("usage")}
    if "cost" not in known:
        op.add_column("usage", sa.Column("cost", sa.Float))
    if "currency" not in known:
        op.add_column("usage", sa.Column("currency", sa.String(3)))
