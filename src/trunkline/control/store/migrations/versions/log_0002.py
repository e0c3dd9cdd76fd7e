"""Notes: facts among the events that readers are not shown."""

from alembic import op

from trunkline.control.store import schema

revision = "log_0002"
down_revision = "log_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    schema.notes.create(op.get_bind(), checkfirst=True)
