"""Codes with which a machine fetches its own credentials.

A new database has them from `records_0001`.
"""

from alembic import op

from trunkline.control.store import schema

revision = "records_0019"
down_revision = "records_0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    schema.join_codes.create(op.get_bind(), checkfirst=True)
