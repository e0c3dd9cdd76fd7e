"""Up: what a session's questions to a person mean for their records, and what readers see of them.

`Lifecycle` hands in the events; answers go down through `Delivery`.
"""

from typing import Any

import structlog

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.errors import LimitReached
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.machines.commands import Answer
from trunkline.control.machines.delivery import Delivery
from trunkline.control.machines.machine import Machine
from trunkline.control.sessions.approvals import Approval, Approvals
from trunkline.control.sessions.recording import Work
from trunkline.wire.errors import Malformed

_log = structlog.get_logger(__name__)


class Questions:
    """Keeps approvals true to what machines ask, and readers informed."""

    def __init__(self, approvals: Approvals, log: Log, delivery: Delivery, clock: Clock) -> None:
        self._approvals = approvals
        self._log = log
        self._delivery = delivery
        self._clock = clock

    def heard(
        self,
        machine: Machine,
        session_id: str,
        event: events.Watched,
        line: str,
        *,
        answer_again: bool = True,
    ) -> Work | None:
        """What is to be recorded of an `approval_…` event; None for one that is no good.

        `answer_again`: a question that has its answer is a machine that did not get it.
        """
        request_id = event.request
        if request_id is None or len(request_id) > limits.NAME_CHARS_MAX:
            _log.warning("approval without a usable id", session=session_id, machine=machine.id)
            return None
        if event.type != "approval_request":
            return self._approvals.resolved(session_id, request_id, bool(event.confirmed))
        try:
            request = events.object_of(line)
        except Malformed as error:  # the first look skips fields; this one reads them
            _log.warning("unreadable approval", session=session_id, problem=str(error))
            return None
        return self._asked(machine, session_id, request_id, request, answer_again)

    async def _asked(
        self,
        machine: Machine,
        session_id: str,
        request_id: str,
        request: dict[str, Any],
        answer_again: bool,
    ) -> None:
        approval = await self._approvals.asked(session_id, machine.user_id, request_id, request)
        if approval.state == "pending" or not answer_again:
            return
        confirmed = approval.state == "confirmed"
        answer = Answer(session_id, request_id, confirmed, approval.answer)
        try:
            self._delivery.send(machine, answer)
        except LimitReached:
            _log.warning("no room for an answer", session=session_id, machine=machine.id)

    async def tell_answer(self, approval: Approval) -> None:
        """Every reader sees that a question is settled, and by whom."""
        await self._tell(
            approval.session_id,
            request_id=approval.request_id,
            confirmed=approval.state == "confirmed",
            answer=approval.answer,
            answered_by=approval.answered_by,
        )

    async def drop(self, session_id: str, *turn_names: str) -> None:
        """Nobody waits for an answer any more. With names: only in these turns, and in those
        questions that name none."""
        for request_id in await self._approvals.drop(session_id, turn_names):
            await self._tell(
                session_id, request_id=request_id, confirmed=False, reason="turn_ended"
            )

    async def _tell(self, session_id: str, **fields: Any) -> None:
        line = events.make("approval_resolved", self._clock(), **fields)
        self._log.append(await self._log.open(session_id), line)
