"""What lets a machine repeat itself: results kept for `resume`, reports that count once.

A result outlives the line on which it was asked for, and this process: see
docs/protocols/semibot.md#resume. A report's name is kept in the transaction of its effect, so that
both are there or neither is, also long after the results are gone.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.records.fields import checked_text
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import reports, results
from trunkline.wire.semibot.fitting import TOO_LARGE

# Leaves room for the envelope of `resume_response` in one frame.
_RESPONSE_BYTES_MAX = limits.FRAME_BYTES_MAX - 64 * 1024
_ID_CHARS_MAX = 200
_REPORT_ID_CHARS_MAX = 100

Once = Callable[[AsyncConnection], Awaitable[None]]
"""Called first in a report's transaction; raises Repeated when the report was recorded before."""


class Repeated(Exception):
    """A report of this name was recorded before."""


async def always(_connection: AsyncConnection) -> None:
    """For a report without a name."""


class Reports:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def once(self, session_id: str, report_id: str | None) -> Once:
        """What makes this report count once in its session."""
        if report_id is None:
            return always
        name = checked_text(report_id, "report_id", _REPORT_ID_CHARS_MAX)
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
        return await self._store.run(delete(reports).where(reports.c.created_at <= oldest))


class Results:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def keep(self, user_id: str, request_id: str, entry: dict[str, Any]) -> None:
        """`entry`: as it stands in `resume_response`, `completed` with `data` or `failed` with the
        `error` that the response carries."""
        if not _is_request_id(request_id):
            return  # nothing that `fetch` would ever look for
        body = msgspec.json.encode(entry)
        if len(body) > limits.FRAME_BYTES_MAX:
            body = msgspec.json.encode(_too_large())
        row = {
            "user_id": user_id,
            "request_id": request_id,
            "body": body,
            "finished_at": self._clock(),
        }
        same = (results.c.user_id == user_id, results.c.request_id == request_id)
        async with self._store.write() as connection:
            await connection.execute(delete(results).where(*same))
            await connection.execute(insert(results).values(row))

    async def fetch(self, user_id: str, request_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The `results` of `resume_response`: an entry for every id that was asked for."""
        ids = list(dict.fromkeys(request_ids))[: limits.RESUME_IDS_MAX]
        query = (
            select(results.c.request_id, results.c.body)
            .where(
                results.c.user_id == user_id,
                among(results.c.request_id, [i for i in ids if _is_request_id(i)]),
                results.c.finished_at > self._oldest(),
            )
            .order_by(results.c.finished_at)
        )
        found: dict[str, dict[str, Any]] = {i: {"status": "not_found"} for i in ids}
        room = _RESPONSE_BYTES_MAX
        async with self._store.read() as connection:
            async for request_id, body in await connection.stream(query):
                room -= len(body)
                found[request_id] = msgspec.json.decode(body) if room > 0 else _too_large()
        return found

    async def purge(self) -> int:
        """Forgets what nobody asked for in time; returns how many."""
        return await self._store.run(delete(results).where(results.c.finished_at <= self._oldest()))

    def _oldest(self) -> int:
        return self._clock() - int(limits.RESUME_WINDOW_S * 1000)


def _is_request_id(text: str) -> bool:
    return 0 < len(text) <= _ID_CHARS_MAX and "\x00" not in text and text.isprintable()


def _too_large() -> dict[str, Any]:
    return {"status": "failed", "error": msgspec.to_builtins(TOO_LARGE)}
