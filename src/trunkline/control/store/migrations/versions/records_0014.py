"""What lists of sessions show: pinned and archived, the newest activity, how the last turn ended;
where a turn's message and end stand in the log; sessions that were removed for good.

A new database has all of it from `records_0001`.
"""

import sqlalchemy as sa
from alembic import op

revision = "records_0014"
down_revision = "records_0013"
branch_labels = None
depends_on = None


def _columns() -> list[sa.Column[object]]:
    return [
        sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("last_activity_at", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("last_turn_status", sa.String(20)),
        sa.Column("last_turn_ended_at", sa.BigInteger),
    ]


_SESSIONS_TABLE = sa.table(
    "sessions",
    sa.column("id", sa.String),
    sa.column("shown", sa.JSON),
    sa.column("created_at", sa.BigInteger),
    *(sa.column(one.name, one.type) for one in _columns()),
)
_TURNS = sa.table(
    "turns",
    *(sa.column(name, sa.String) for name in ("id", "session_id", "state", "steers")),
    *(sa.column(name, sa.BigInteger) for name in ("created_at", "finished_at")),
)


def upgrade() -> None:
    inspected = sa.inspect(op.get_bind())
    known = {one["name"] for one in inspected.get_columns("sessions")}
    if "pinned" not in known:
        for column in _columns():
            op.add_column("sessions", column)
        _fill()
    if "said_id" not in {one["name"] for one in inspected.get_columns("turns")}:
        op.add_column("turns", sa.Column("said_id", sa.BigInteger))
        op.add_column("turns", sa.Column("ended_id", sa.BigInteger))
    if "sessions_listed" not in {one["name"] for one in inspected.get_indexes("sessions")}:
        op.create_index("sessions_listed", "sessions", ["pinned", "last_activity_at", "id"])
    if "erased_sessions" not in inspected.get_table_names():
        op.create_table(
            "erased_sessions",
            sa.Column("id", sa.String(36), primary_key=True),
            sa.Column(
                "machine_id",
                sa.String(36),
                sa.ForeignKey("machines.id", ondelete="CASCADE"),
                nullable=False,
                index=True,
            ),
            sa.Column("created_at", sa.BigInteger, nullable=False),
        )


def _fill() -> None:
    sessions, turns = _SESSIONS_TABLE, _TURNS
    own = turns.c.session_id == sessions.c.id
    newest = sa.select(sa.func.max(sa.func.coalesce(turns.c.finished_at, turns.c.created_at)))
    ended = turns.c.state.in_(("completed", "failed", "cancelled")), turns.c.steers.is_(None)

    def last(name: str) -> sa.ScalarSelect[object]:
        query = sa.select(turns.c[name]).where(own, *ended)
        return (
            query.order_by(turns.c.finished_at.desc(), turns.c.id.desc()).limit(1).scalar_subquery()
        )

    active = newest.where(own).scalar_subquery()
    connection = op.get_bind()
    connection.execute(
        sa.update(sessions).values(
            last_activity_at=sa.func.coalesce(active, sessions.c.created_at),
            last_turn_status=last("state"),
            last_turn_ended_at=last("finished_at"),
        )
    )
    for row in connection.execute(sa.select(sessions.c.id, sessions.c.shown)).all():
        if isinstance(row.shown, dict):
            kept = dict(row.shown)
            pinned, hidden = kept.pop("pinned", False), kept.pop("hidden", False)
            values = {"pinned": pinned is True, "archived": hidden is True, "shown": kept}
            connection.execute(sa.update(sessions).where(sessions.c.id == row.id).values(values))
