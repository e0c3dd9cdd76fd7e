"""Routes of a session's context: what its model reads."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core

context = Routes("sessions")


@context.post("/sessions/{session_id}/compact", status=202, scope="talk", audit="session.compacted")
async def compact_session(core: Core, who: Principal, session_id: str) -> None:
    """Shorten a session's conversation for its model: it sums up what was before.

    A turn that runs is waited for. The event `context_compacted` tells how it ended.
    """
    await core.compacting.compact(who, session_id)
