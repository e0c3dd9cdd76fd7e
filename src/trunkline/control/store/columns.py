"""What the tables of a database are made of: their metadata and the columns that recur."""

from sqlalchemy import BigInteger, Column, ForeignKey, MetaData, String

records = MetaData()
log = MetaData()


def id_column() -> Column[str]:
    return Column("id", String(36), primary_key=True)


def ref(name: str, target: str, *, nullable: bool = False, cascade: bool = True) -> Column[str]:
    rule = "CASCADE" if cascade else "SET NULL"
    key = ForeignKey(f"{target}.id", ondelete=rule)
    return Column(name, String(36), key, nullable=nullable or not cascade, index=True)


def created() -> Column[int]:
    return Column("created_at", BigInteger, nullable=False)
