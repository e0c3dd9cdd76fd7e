"""Asks the machine of a session to shorten what its model reads of the conversation."""

from trunkline.control.access.auth import Principal
from trunkline.control.errors import Conflict
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.queries import Queries
from trunkline.control.sessions.sessions import Sessions


class Compacting:
    """The machine has to be there, and to know how; how it ended is an event."""

    def __init__(self, sessions: Sessions, machines: Machines, queries: Queries) -> None:
        self._sessions = sessions
        self._machines = machines
        self._queries = queries

    async def compact(self, who: Principal, session_id: str) -> None:
        who.require("talk")
        session = await self._sessions.get(who, session_id)
        if session.status == "closed":
            raise Conflict("this session is closed", code="SESSION_CLOSED")
        machine = await self._machines.of(session)
        await self._queries.ask(machine, "session.compact", {"session_id": session.id})
