"""Conversations of other programs on our own machines, in a Yeaft page's lists: what a person began
in the terminal. `resume_conversation` goes on with one.
"""

from typing import Any

import structlog

from trunkline import limits
from trunkline.control.edges.yeaft_web.visit import WIRE, Visit
from trunkline.control.errors import InvalidRequest, NotFound, TrunklineError
from trunkline.control.machines.machine import Machine
from trunkline.control.sessions.foreign import PRESETS, ForeignSession
from trunkline.control.sessions.records import Adopt, NewSession, Session
from trunkline.wire.yeaft.web import Request

_log = structlog.get_logger(__name__)

Json = dict[str, Any]

_PROGRAMS = ("claude-code", *PRESETS)
"""What a page calls a provider."""


OnMachine = tuple[str, ForeignSession]
"""With its machine's id."""


async def listed(visit: Visit, request: Request) -> list[OnMachine]:
    """Of the agent that is named: those of the provider and folder that are
    asked for and that no session here goes on with. A machine that cannot say has none."""
    machine, _ = await visit.target_of(request)
    if machine is None or machine.kind == WIRE or machine.line is None:
        return []
    provider = request.get("provider")
    if not machine.line.traits.answers or provider not in (None, *_PROGRAMS):
        return []
    try:
        page = await visit.core.adopting.page(
            visit.who,
            machine.id,
            runtime=provider,
            folder=request.get("workDir"),
            limit=limits.PAGE_MAX,
        )
    except TrunklineError as error:
        _log.warning("a machine does not say what it has", machine=machine.id, code=error.code)
        return []
    return [(machine.id, one) for one in page.items if one.session_id is None]


def entry(one: ForeignSession, machine_id: str) -> Json:
    """As it stands in `history_sessions_list`; without a `conversationId`, which it gets when
    somebody goes on with it."""
    return {
        "sessionId": one.id,
        "conversationId": None,
        "agentId": machine_id,
        "title": one.title,
        "workDir": one.folder,
        "provider": one.preset or one.runtime,
        "lastModified": one.updated_at,
    }


async def adopt(visit: Visit, request: Request, machine: Machine) -> Session:
    """The session that goes on with it from now on. Pages may not say whose it is: then each
    program is asked."""
    foreign_id, provider = request.need("sessionId", "claudeSessionId"), request.get("provider")
    if len(foreign_id) > limits.NAME_CHARS_MAX:
        raise InvalidRequest("sessionId is too long")
    for program in (provider,) if provider in _PROGRAMS else _PROGRAMS:
        new = NewSession(machine_id=machine.id, adopt=Adopt(runtime=str(program), id=foreign_id))
        try:
            return await visit.core.adopting.adopt(visit.who, new)
        except NotFound:
            continue
    raise NotFound("session", foreign_id)
