"""One event at a time into a log."""

from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog


async def commit(log: Log, session: SessionLog, line: str) -> int:
    """Adds an event, waits until it is committed and delivered, and returns its id."""
    log.append(session, line)
    await log.committed(session)
    return session.last_id
