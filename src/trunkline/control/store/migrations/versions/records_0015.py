"""Browsers that are sent messages by Web Push.

A new database has the table from `records_0001`.
"""

from alembic import op

from trunkline.control.store.service_schema import push_subscriptions

revision = "records_0015"
down_revision = "records_0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    push_subscriptions.create(op.get_bind(), checkfirst=True)
