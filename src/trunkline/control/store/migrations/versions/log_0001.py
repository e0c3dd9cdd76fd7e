"""The session log: rows of consecutive events."""

from alembic import op

from trunkline.control.store.log_schema import log

revision = "log_0001"
down_revision = None
branch_labels = ("log",)
depends_on = None


def upgrade() -> None:
    log.create_all(op.get_bind())
