"""How long and how much of each log is kept, by organisation and by session.

A new database has them from `records_0001`.
"""

from alembic import op

from trunkline.control.store import schema

revision = "records_0020"
down_revision = "records_0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in (schema.org_retention, schema.session_retention):
        table.create(op.get_bind(), checkfirst=True)
