"""The records of one session, as the tests of projections read them."""

from typing import Any

from sqlalchemy import select

from trunkline.control.sessions import state as states
from trunkline.control.sessions.projection import Position, Step
from trunkline.control.sessions.rows import SqlRows
from trunkline.control.sessions.state import Change, SessionState
from trunkline.control.store import schema
from trunkline.control.store.columns import records
from trunkline.control.store.engine import Store

Json = dict[str, Any]


class Records:
    """One session's rows."""

    def __init__(self, store: Store, session: str) -> None:
        self.store = store
        self.session = session
        self.rows = SqlRows(store)
        self._written = 0

    async def write(self, *changes: Change, at: int = 5) -> None:
        state = SessionState("m").encode()
        self._written += 1
        await self.rows.write([Step(self.session, Position(self._written), at, changes, state)])

    async def of(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        table = records.tables[name]
        query = select(*(table.c[one] for one in columns)).order_by(table.c.id)
        async with self.store.read() as connection:
            found: Any = await connection.execute(query)
            return [tuple(row) for row in found]

    async def everything(self) -> Json:
        found: Json = {}
        async with self.store.read() as connection:
            for table in (schema.turns, schema.approvals, schema.sessions):
                rows: Any = await connection.execute(select(table).order_by(table.c.id))
                found[table.name] = [dict(row) for row in rows.mappings()]
        return found


OPENED = states.TurnOpened("t", "hello", "c")
