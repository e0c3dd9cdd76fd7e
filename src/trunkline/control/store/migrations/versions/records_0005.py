"""Records of turns and approvals become projections of the log, each with its position.

A new database has all of it from `records_0001`; the states of old sessions are made at the next
start (`sessions/legacy.py`).
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0005"
down_revision = "records_0004"
branch_labels = None
depends_on = None

_NEW = (
    sa.Column("state", sa.LargeBinary),
    sa.Column("folded_id", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("folded_note", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("unsettled", sa.Boolean, nullable=False, server_default=sa.false()),
)
_OLD = (("turns", "owed"), ("sessions", "started_at"))


def upgrade() -> None:
    connection = op.get_bind()

    def columns_of(table: str) -> set[str]:
        return {one["name"] for one in sa.inspect(connection).get_columns(table)}

    present = columns_of("sessions")
    for column in _NEW:
        if column.name not in present:
            op.add_column("sessions", column)
    for table, name in _OLD:
        if name in columns_of(table):
            op.drop_column(table, name)
