"""Secrets of users, scopes of tokens, dialects of machines, what a page keeps of a session.

A new database has all of it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

from trunkline.control.store import schema

revision = "records_0006"
down_revision = "records_0005"
branch_labels = None
depends_on = None

_NEW = (
    ("tokens", sa.Column("scopes", sa.JSON)),
    ("tokens", sa.Column("last_used_at", sa.BigInteger)),
    ("machines", sa.Column("dialect", sa.String(20))),
    ("machines", sa.Column("instance", sa.String(200))),
    ("machines", sa.Column("tokens_from", sa.BigInteger)),
    ("sessions", sa.Column("shown", sa.JSON)),
    ("snapshots", sa.Column("bytes", sa.BigInteger, nullable=False, server_default="0")),
    ("persons", sa.Column("confirm", sa.String(20), nullable=False, server_default="dangerous")),
)
_INSTANCE = ("user_id", "kind", "instance")


def upgrade() -> None:
    connection = op.get_bind()
    schema.user_secrets.create(connection, checkfirst=True)
    for table, column in _NEW:
        present = {one["name"] for one in sa.inspect(connection).get_columns(table)}
        if column.name not in present:
            op.add_column(table, column)
    unique = sa.inspect(connection).get_indexes("machines")
    if "machines_instance" not in {one["name"] for one in unique}:
        op.create_index("machines_instance", "machines", _INSTANCE, unique=True)
