"""Questions of Yeaft agents that nobody answers: no after a while, because no agent gives up.

A question's time is counted from its record, so that a restart does not begin it anew.
"""

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.core import Core
from trunkline.control.edges.yeaft_agent.state import Agent, Question

_log = structlog.get_logger(__name__)

_TIMEOUT_MS = int(limits.CONFIRM_TIMEOUT_S * 1000)


def note(agent: Agent, session_id: str, request_id: str, questions: list[str], now_ms: int) -> None:
    """A question was asked. Asked again, it keeps its time."""
    key = session_id, request_id
    if key in agent.questions:
        return
    agent.questions[key] = Question(now_ms + _TIMEOUT_MS, questions)
    if len(agent.questions) > limits.YEAFT_QUESTIONS_MAX:
        next(iter(agent.questions.values())).deadline_ms = now_ms


async def load(core: Core, agent: Agent) -> None:
    """What waits for a person, from the records."""
    who = owner_of(agent)
    cursor: str | None = None
    while True:
        page = await core.approvals.page(who, "pending", limits.PAGE_MAX, cursor)
        for approval in page:
            if approval.session_id in agent.machine.logs:
                names = approval.request.get("questions")
                questions = [str(one) for one in names] if isinstance(names, list) else []
                note(
                    agent,
                    approval.session_id,
                    approval.request_id,
                    questions,
                    approval.created_at,
                )
        if len(page) < limits.PAGE_MAX:
            return
        cursor = page[-1].id


def sweep(core: Core, agent: Agent) -> None:
    """Once a second: whose time is over."""
    now_ms = core.clock()
    for (session_id, request_id), pending in list(agent.questions.items()):
        if pending.deadline_ms <= now_ms:
            # Far away: the denial takes it out, and one that fails is tried again.
            pending.deadline_ms = now_ms + _TIMEOUT_MS
            _deny(agent, session_id, request_id)


def _deny(agent: Agent, session_id: str, request_id: str) -> None:
    is_open = session_id in agent.machine.logs
    with agent.machine.input() as core:
        if is_open and core.answer(
            session_id, request_id, False, None, None, {"reason": "timeout"}
        ):
            _log.info("question timed out", session=session_id, machine=agent.machine.id)
        else:
            agent.questions.pop((session_id, request_id), None)  # it has its answer


def owner_of(agent: Agent) -> Principal:
    """The agent's user, with no more rights than that."""
    return Principal(agent.machine.user_id, agent.machine.org_id, "member")
