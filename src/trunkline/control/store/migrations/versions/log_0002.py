"""Notes: facts among the events that readers are not shown."""

from alembic import op

from trunkline.control.store.log_schema import notes

revision = "log_0002"
down_revision = "log_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    notes.create(op.get_bind(), checkfirst=True)
