"""A condition on a list of any length, which is one parameter.

With a parameter for each value, as `in_` has them, every length is a statement of its own: the
database prepares each anew, and every connection keeps it, a hundred KiB for five hundred values.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine


def among(column: sa.ColumnElement[Any], values: Iterable[Any]) -> sa.ColumnElement[bool]:
    """Whether the column has one of these values. For those that are known in the code, and always
    as many, `in_` does."""
    return _Among(column, sa.bindparam(None, list(values), _Values(column.type), unique=True))


class _Values(TypeDecorator[Sequence[Any]]):
    """An array in PostgreSQL, its JSON in SQLite."""

    impl = sa.String
    cache_ok = True

    def __init__(self, of: TypeEngine[Any]) -> None:
        super().__init__()
        self.of = of

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        is_array = dialect.name == "postgresql"
        return dialect.type_descriptor(sa.ARRAY(self.of) if is_array else sa.String())

    def process_bind_param(self, value: Sequence[Any] | None, dialect: Dialect) -> Any:
        return value if dialect.name == "postgresql" else msgspec.json.encode(value).decode()


class _Among(FunctionElement[bool]):
    """Without a type: SQLite would be asked whether a boolean is 1, and not look in its index."""

    inherit_cache = True


@compiles(_Among)
def _in_array(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(one, **options) for one in element.clauses)
    return f"{column} = ANY ({values})"


@compiles(_Among, "sqlite")
def _in_json(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(one, **options) for one in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608
