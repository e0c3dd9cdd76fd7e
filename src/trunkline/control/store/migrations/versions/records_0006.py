"""Secrets of users, scopes of tokens, dialects of machines, what a page keeps of a session and who
made it, whose word an audit entry is.

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
    ("tokens", sa.Column("login_until", sa.BigInteger)),
    ("tokens", sa.Column("ends_with", sa.String(36))),
    ("machines", sa.Column("dialect", sa.String(20))),
    ("machines", sa.Column("instance", sa.String(200))),
    ("machines", sa.Column("tokens_from", sa.BigInteger)),
    ("sessions", sa.Column("shown", sa.JSON)),
    ("snapshots", sa.Column("bytes", sa.BigInteger, nullable=False, server_default="0")),
    ("sessions", sa.Column("created_by", sa.String(36))),
    ("audit", sa.Column("source", sa.String(20))),
    ("persons", sa.Column("confirm", sa.String(20), nullable=False, server_default="dangerous")),
)
_OLD = (("orgs", "auto_approve_evolutions"),)
_SUM = ("session_id", "bytes")
_INSTANCE = ("user_id", "kind", "instance")


def upgrade() -> None:
    connection = op.get_bind()
    schema.user_secrets.create(connection, checkfirst=True)

    def columns_of(table: str) -> set[str]:
        return {one["name"] for one in sa.inspect(connection).get_columns(table)}

    for table, column in _NEW:
        if column.name not in columns_of(table):
            op.add_column(table, column)
    for table, name in _OLD:
        if name in columns_of(table):
            op.drop_column(table, name)

    def indexes_of(table: str) -> set[str | None]:
        return {one["name"] for one in sa.inspect(connection).get_indexes(table)}

    if "machines_instance" not in indexes_of("machines"):
        op.create_index("machines_instance", "machines", _INSTANCE, unique=True)
    if "snapshots_bytes" not in indexes_of("snapshots"):
        op.create_index("snapshots_bytes", "snapshots", _SUM)
