"""Questions of persons' machines: asked in the group, answered there or in the person's session."""

from collections.abc import Mapping
from typing import Any

import structlog

from trunkline.control.access.auth import Principal
from trunkline.control.errors import Conflict, TrunklineError
from trunkline.control.groups import copying
from trunkline.control.groups.copying import Json
from trunkline.control.groups.group_log import LogWriter
from trunkline.control.groups.parts import Parts
from trunkline.control.groups.round import Question, Round
from trunkline.control.groups.seat import Seat
from trunkline.wire.commands import Answer

_log = structlog.get_logger(__name__)


class Questions:
    """Of one conversation, over all its open turns."""

    def __init__(
        self, parts: Parts, owner: Principal, writer: LogWriter, rounds: Mapping[str, Round]
    ) -> None:
        self._parts = parts
        self._owner = owner
        self._writer = writer
        self._rounds = rounds

    def settled(self, seat: Seat, event_id: int, event: Json) -> None:
        """A question has its answer in the person's session, perhaps from here."""
        asked = copying.question_of(event)
        for round_ in list(self._rounds.values()):
            for question in list(round_.questions.values()):
                if (question.session_id, question.request_id) != (seat.session_id, asked):
                    continue
                copy = copying.copied(event, question.session_id, event_id, question.ask)
                if copy is not None and not question.is_settled:
                    self._writer.write(round_, copy, round_.asks[question.ask])

    async def answer(self, answer: Answer) -> None:
        """An answer that was given in the group goes to whoever asked."""
        for round_ in list(self._rounds.values()):
            question = round_.questions.get(answer.request_id)
            if question is None:
                continue
            question.is_settled = True  # the log says so already, to everybody
            try:
                await self._pass_on(question, answer.confirmed, answer.answer)
            except TrunklineError as error:
                name = round_.asks[question.ask].name
                text = f"the answer to {name} came to nothing: {error.message}"
                self._writer.note(round_, text)

    async def answer_again(self, session_id: str, round_: Round) -> None:
        """After a restart: what was answered in the group may not have got any further."""
        for request_id, question in round_.questions.items():
            if round_.asks[question.ask].is_done:
                continue
            try:
                found = await self._parts.approvals.find(self._owner, request_id, session_id)
                if found.state != "pending":
                    await self._pass_on(question, found.state == "confirmed", found.answer)
            except Conflict:
                pass  # it had
            except TrunklineError as error:
                _log.warning("an answer was not passed on", problem=error.message)

    async def _pass_on(self, question: Question, confirmed: bool, answer: Any) -> None:
        await self._parts.sessions.answer(
            self._owner, question.request_id, confirmed, answer, session_id=question.session_id
        )
