"""The route behind a session's debug view: every event as the machine, the log and each client
protocol have it."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.edges.debug import DebugEvent, look
from trunkline.control.errors import InvalidRequest

debug = Routes("debug")

Position = Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX)]


class DebugQuery(msgspec.Struct, kw_only=True):
    """Without `after` and `before`: the newest."""

    after: Annotated[Position, Meta(description="The last id that you have.")] | None = None
    before: Annotated[Position, Meta(description="The first id that you have.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX, description="How many at most.")] = (
        limits.PAGE_DEFAULT
    )


class DebugPage(msgspec.Struct, kw_only=True):
    """Events in order; fewer than `limit` where they are large. `recorded_since`: from when on
    (Unix ms) what comes from the machine is kept as it came, for five minutes after the last look;
    null where no machine has the session. `first_id`: the oldest event that is kept."""

    items: list[DebugEvent]
    first_id: int
    last_event_id: int
    recorded_since: int | None


@debug.get("/sessions/{session_id}/debug")
async def debug_session(
    core: Core, who: Principal, session_id: str, query: DebugQuery
) -> DebugPage:
    """Look at a session's events closely: what came, what is kept, what each protocol is sent."""
    session = await core.sessions.get(who, session_id)
    log = await core.sessions.readable(who, session_id)
    if query.after is not None and query.before is not None:
        raise InvalidRequest("query: after or before, not both")
    if query.after is not None:
        events = await core.log.read(log, query.after, query.limit)
    else:
        upto = log.last_id if query.before is None else min(query.before - 1, log.last_id)
        events = await core.log.newest(log, upto, query.limit)
    found = await look(core, session, log, events, from_end=query.after is None)
    return DebugPage(
        items=found.events,
        first_id=log.first_id,
        last_event_id=log.last_id,
        recorded_since=found.since,
    )
