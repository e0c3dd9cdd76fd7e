"""Who may write: the number of each node's last start."""

from alembic import op

from trunkline.control.store.log_schema import nodes

revision = "log_0004"
down_revision = "log_0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    nodes.create(op.get_bind(), checkfirst=True)
