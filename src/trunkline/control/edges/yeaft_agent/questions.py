"""Questions of Yeaft agents that nobody answers: no after a while, because no agent gives up.

A question's time is counted from its record, so that a restart does not begin it anew.
"""

from contextlib import suppress

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.core import Core
from trunkline.control.edges.yeaft_agent.agent import Agent
from trunkline.control.errors import NotFound
from trunkline.control.sessions.approvals import Approval

_log = structlog.get_logger(__name__)


async def load(core: Core, agent: Agent) -> None:
    """What waits for a person, or has an answer that the agent is still to be told, from the
    records."""
    who = owner_of(agent)
    cursor: str | None = None
    while True:
        page = await core.approvals.page(who, "pending", limits.PAGE_MAX, cursor)
        for one in page:
            if one.session_id in agent.machine.logs:
                _note(agent, one, one.created_at)
        if len(page) < limits.PAGE_MAX:
            break
        cursor = page[-1].id
    for session_id, request_id in _answered_here(agent):
        with suppress(NotFound):  # then it goes out without names
            answered = await core.approvals.find(who, request_id, session_id)
            _note(agent, answered, core.clock())  # its time to wait for a person is over


def _answered_here(agent: Agent) -> list[tuple[str, str]]:
    return [
        (session_id, request_id)
        for session_id, hosted in agent.machine.core.state.sessions.items()
        for request_id, question in hosted.session.questions.items()
        if question.is_from_here
    ]


def _note(agent: Agent, asked: Approval, now_ms: int) -> None:
    given = asked.request.get("questions")
    names = [str(name) for name in given] if isinstance(given, list) else []
    agent.talk.state.questions.note(asked.session_id, asked.request_id, names, now_ms)


def sweep(core: Core, agent: Agent) -> None:
    """Once a second: whose time is over."""
    for session_id, request_id in agent.talk.state.questions.overdue(core.clock()):
        is_open = session_id in agent.machine.logs
        with agent.machine.input() as inputs:
            if is_open and inputs.answer(
                session_id, request_id, False, None, None, {"reason": "timeout"}
            ):
                _log.info("question timed out", session=session_id, machine=agent.machine.id)
            else:
                agent.talk.state.questions.forget(session_id, request_id)  # it has its answer


def owner_of(agent: Agent) -> Principal:
    """The agent's user, with no more rights than that."""
    return Principal(agent.machine.user_id, agent.machine.org_id, "member")
