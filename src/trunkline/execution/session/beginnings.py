"""With what a session begins that has a past: its state from elsewhere, or a copy of another's.

What cannot be had is no reason not to begin: a session without its past is better than none, and
the control plane keeps it.
"""

import structlog

from trunkline.execution.errors import CheckpointError
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.session import ipc
from trunkline.execution.session.session import Session

_log = structlog.get_logger(__name__)


async def restore(session: Session, snapshot: Json) -> None:
    try:
        await session.adapter.restore(snapshot)
    except Exception as error:
        _log.warning("snapshot not restored", session=session.id, problem=str(error))


async def fork(session: Session, of: ipc.Fork, home: Home) -> None:
    """Where the other's state is gone, or cannot be read, the copy goes by what the control plane
    knows of it."""
    try:
        await session.adapter.fork(home.session(of.session_id))
    except (OSError, ValueError, CheckpointError) as error:
        _log.warning("state not copied", session=session.id, problem=str(error))
