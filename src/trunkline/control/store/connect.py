"""Opens SQLite's connections for the engine: wholly, or not at all.

aiosqlite has a thread for each. Cut off while it opens, that thread would go on by itself, past the
end of the task, of the engine and of the event loop that it reports to.
"""

import asyncio
from typing import Any

import aiosqlite

_REPORT_S = 2.0


async def connect(*place: Any, **options: Any) -> aiosqlite.Connection:
    """As `aiosqlite.connect`. Cancelled, it waits for what it began, and closes that."""
    connection = aiosqlite.connect(*place, **options)
    connection._thread.daemon = True  # does not keep a process that could not drain in time
    opening = asyncio.ensure_future(connection)
    cancelled: asyncio.CancelledError | None = None
    while not opening.done():
        try:
            await asyncio.wait([opening])
        except asyncio.CancelledError as error:
            cancelled = error
    if opening.cancelled():
        # The loop itself is ending, and has cancelled all that runs in it: it stays until the
        # thread has reported, but not for ever.
        if connection._thread.is_alive():
            connection._thread.join(_REPORT_S)
    elif cancelled is not None and opening.exception() is None:
        await connection.close()
    if cancelled is not None:
        raise cancelled
    return opening.result()
