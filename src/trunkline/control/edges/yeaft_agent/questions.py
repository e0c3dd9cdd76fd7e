"""Questions of Yeaft agents that nobody answers: no after a while, because no agent gives up.

A question's time is counted from its record, so that a restart does not begin it anew.
"""

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.core import Core
from trunkline.control.edges.yeaft_agent.agent import Agent

_log = structlog.get_logger(__name__)


async def load(core: Core, agent: Agent) -> None:
    """What waits for a person, from the records."""
    who = owner_of(agent)
    cursor: str | None = None
    while True:
        page = await core.approvals.page(who, "pending", limits.PAGE_MAX, cursor)
        for one in page:
            if one.session_id in agent.machine.logs:
                given = one.request.get("questions")
                names = [str(name) for name in given] if isinstance(given, list) else []
                agent.talk.questions.note(one.session_id, one.request_id, names, one.created_at)
        if len(page) < limits.PAGE_MAX:
            return
        cursor = page[-1].id


def sweep(core: Core, agent: Agent) -> None:
    """Once a second: whose time is over."""
    for session_id, request_id in agent.talk.questions.overdue(core.clock()):
        is_open = session_id in agent.machine.logs
        with agent.machine.input() as inputs:
            if is_open and inputs.answer(
                session_id, request_id, False, None, None, {"reason": "timeout"}
            ):
                _log.info("question timed out", session=session_id, machine=agent.machine.id)
            else:
                agent.talk.questions.forget(session_id, request_id)  # it has its answer


def owner_of(agent: Agent) -> Principal:
    """The agent's user, with no more rights than that."""
    return Principal(agent.machine.user_id, agent.machine.org_id, "member")
