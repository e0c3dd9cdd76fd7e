"""What the tables of the records share: their one metadata, and the columns that recur."""

import sqlalchemy as sa

records = sa.MetaData()


def own_id() -> sa.Column[str]:
    return sa.Column("id", sa.String(36), primary_key=True)


def key(name: str, target: str, *, index: bool = False) -> sa.Column[str]:
    """Part of the primary key, and gone with what it refers to."""
    rule = sa.ForeignKey(f"{target}.id", ondelete="CASCADE")
    return sa.Column(name, sa.String(36), rule, primary_key=True, index=index)


def ref(name: str, target: str, *, nullable: bool = False, cascade: bool = True) -> sa.Column[str]:
    """Refers to another record; without `cascade` it outlives what it refers to."""
    rule = sa.ForeignKey(f"{target}.id", ondelete="CASCADE" if cascade else "SET NULL")
    return sa.Column(name, sa.String(36), rule, nullable=nullable or not cascade, index=True)


def unique_where(table: sa.Table, name: str, columns: str, where: str) -> None:
    """An index over some of the rows, the same on both databases. Not as `sa.Index`: its conditions
    are options of dialects, and to name PostgreSQL's loads all of it."""
    statement = f"CREATE UNIQUE INDEX {name} ON {table.name} ({columns}) WHERE {where}"

    def make(_table: sa.Table, connection: sa.Connection, **_options: object) -> None:
        connection.exec_driver_sql(statement)

    sa.event.listen(table, "after_create", make)


def created() -> sa.Column[int]:
    return sa.Column("created_at", sa.BigInteger, nullable=False)
