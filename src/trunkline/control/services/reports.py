"""Reports that machines may send more than once, and whose effect comes once.

The machine names a report; the name is kept in the transaction of the effect. So both are there
or neither is, also after a crash, and long after the results kept for `resume` are gone.
"""

from collections.abc import Awaitable, Callable

from sqlalchemy import delete, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.services.checks import checked_text
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import reports

Once = Callable[[AsyncConnection], Awaitable[None]]
"""Called first in the transaction of an effect; raises Repeated when it was made before."""


class Repeated(Exception):
    """This report was taken before."""


async def always(_connection: AsyncConnection) -> None:
    """For an effect that nobody names."""


class Reports:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def once(self, session_id: str, report_id: str | None) -> Once:
        """What makes the effect of this report happen once in its session."""
        if report_id is None:
            return always
        name = checked_text(report_id, "report_id", limits.REPORT_ID_CHARS_MAX)
        row = {"session_id": session_id, "report_id": name, "created_at": self._clock()}

        async def once(connection: AsyncConnection) -> None:
            try:
                await connection.execute(insert(reports).values(row))
            except IntegrityError as error:
                raise Repeated(name) from error

        return once

    async def purge(self) -> int:
        """Forgets names that no machine will use again; returns how many."""
        oldest = self._clock() - int(limits.REPORT_IDS_KEPT_S * 1000)
        async with self._store.write() as connection:
            gone = await connection.execute(delete(reports).where(reports.c.created_at <= oldest))
        return gone.rowcount
