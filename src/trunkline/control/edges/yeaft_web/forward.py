"""Messages of a Yeaft web client that only its agent understands: passed on, bytes unchanged.

Settings queries, and every type that the hub does not know.
"""

from trunkline.control.edges.yeaft_web.visit import WIRE, Visit
from trunkline.control.errors import InvalidRequest
from trunkline.control.machines.machine import Machine
from trunkline.control.sessions.records import Session
from trunkline.wire.commands import Forward
from trunkline.wire.yeaft.web import Request


def forward(
    visit: Visit, machine: Machine, request: Request, session: Session | None = None
) -> None:
    """To that agent; its answer comes back the way that all it says outside of sessions comes."""
    visit.hear(machine.user_id)
    session_id = "" if session is None else session.id
    with machine.input() as core:
        core.check_room(len(request.text))
        core.forward(Forward(session_id, WIRE, request.text))


async def pass_on(visit: Visit, request: Request) -> None:
    """Any message that is not the hub's to understand."""
    machine, session = await visit.agent_for(request)
    if machine is None:
        raise InvalidRequest(
            f"{request.name!r} is not known here; with an agentId it goes to that agent",
            code="UNKNOWN_TYPE",
        )
    if machine.kind != WIRE:
        raise InvalidRequest(
            f"{request.name!r} is for Yeaft agents, and this is a machine of kind {machine.kind!r}",
            code="UNSUPPORTED",
        )
    if session is not None:
        await visit.follow(session)
    forward(visit, machine, request, session)
