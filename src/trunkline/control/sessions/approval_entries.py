"""Questions and their answers as entries of the audit log, written with their records: in the same
transaction, once, whoever answers and over whichever wire.

`approval.asked`, `approval.answered` (by a person), `approval.settled` (by nobody here: its machine
took the question back, let it run out, or went on by itself).
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
import structlog
from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.errors import TrunklineError
from trunkline.control.redaction import redact_command
from trunkline.control.services.audit import Audit
from trunkline.control.sessions import state as states
from trunkline.control.sessions.projection import Step
from trunkline.control.store.schema import approvals, sessions

_log = structlog.get_logger(__name__)

OF_QUESTIONS = (states.Asked, states.Resolved, states.AnswerNoted)
"""The changes that leave an entry."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class ApprovalEntries:
    """Of the steps that are written together."""

    def __init__(self, audit: Audit, steps: Sequence[Step]) -> None:
        self._audit = audit
        self._answered = {
            (step.session_id, change.request_id)
            for step in steps
            for change in step.changes
            if isinstance(change, states.AnswerNoted)
        }

    async def note(self, connection: AsyncConnection, step: Step, change: states.Change) -> None:
        """Behind the change itself: the record says what it has come to."""
        match change:
            case states.Asked(request_id, request):
                await self._write(connection, step, "approval.asked", shown(request_id, request))
            case states.AnswerNoted(request_id, answer, by, scope, reason):
                details: dict[str, Any] = {"request_id": request_id, "answer": _text(answer)}
                details["scope"] = scope
                if reason:
                    details["reason"] = _text(reason)
                details["state"] = await _state(connection, step.session_id, request_id)
                await self._write(connection, step, "approval.answered", details, by=by)
            case states.Resolved(request_id, is_confirmed):
                if (step.session_id, request_id) in self._answered:
                    return  # and its entry says by whom
                details = {"request_id": request_id, "confirmed": is_confirmed}
                await self._write(connection, step, "approval.settled", details)

    async def _write(
        self,
        connection: AsyncConnection,
        step: Step,
        event: str,
        details: dict[str, Any],
        by: str | None = None,
    ) -> None:
        owner = select(sessions.c.org_id, sessions.c.user_id)
        row = (await connection.execute(owner.where(sessions.c.id == step.session_id))).first()
        if row is None:
            return
        about = {"org_id": row.org_id, "user_id": by or row.user_id, "session_id": step.session_id}
        try:
            await self._audit.append_to(connection, event, details, **about)
        except TrunklineError as error:  # it holds up no session
            _log.error(
                "not in the audit log", entry=event, code=error.code, session=step.session_id
            )


async def _state(connection: AsyncConnection, session_id: str, request_id: str) -> str | None:
    same = and_(approvals.c.session_id == session_id, approvals.c.request_id == request_id)
    found: str | None = await connection.scalar(select(approvals.c.state).where(same))
    return found


def shown(request_id: str, request: dict[str, Any]) -> dict[str, Any]:
    """What was asked: its beginning to read, and a digest of all of it."""
    whole = _encode(request)
    return {
        "request_id": request_id,
        "tool_name": _text(request.get("tool_name")),
        "asked": _text(whole.decode()),
        "sha256": hashlib.sha256(whole).hexdigest(),
    }


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else _encode(value).decode()
    return redact_command(text[: 2 * limits.AUDIT_VALUE_CHARS_MAX])[: limits.AUDIT_VALUE_CHARS_MAX]
