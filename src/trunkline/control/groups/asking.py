"""How a person is asked: in its own session, with what it missed in front of the message."""

import structlog

from trunkline.control.access.auth import Principal
from trunkline.control.errors import TrunklineError
from trunkline.control.groups.copying import Json
from trunkline.control.groups.membership import Membership, close
from trunkline.control.groups.parts import Parts
from trunkline.control.groups.round import Ask, Round
from trunkline.control.groups.seat import Seat
from trunkline.control.groups.transcript import Transcript, told
from trunkline.control.sessions.records import NewMessage
from trunkline.control.sessions.turns import OPEN

_log = structlog.get_logger(__name__)


class Asking:
    """Of one conversation."""

    def __init__(
        self, parts: Parts, owner: Principal, session_id: str, transcript: Transcript
    ) -> None:
        self._parts = parts
        self._owner = owner
        self._membership = Membership(parts, owner, session_id)
        self._transcript = transcript

    async def ask(
        self, seat: Seat, round_: Round, ask: Ask, group_id: str, position: int
    ) -> Json | None:
        """Asks, or reads on what was asked before a restart. Returns the end of an ask that is
        not to be sent any more. `position`: what was said until there, the person is told."""
        if await self._goes_on(seat, round_, ask):
            return None
        group = await self._parts.groups.load(group_id)
        person = next((one for one in group.persons if one.id == ask.person_id), None)
        if person is None:
            return failed(ask, f"{ask.name} is not in this group any more", "PERSON_NOT_FOUND")
        seat.record, introduction = await self._membership.seat(person, group, seat.record)
        await seat.follow(self._parts.log, None)
        if round_.is_dropped:
            await close(self._parts, self._owner, seat.session_id)
        if round_.is_void():
            return cancelled(ask)
        author, message = round_.message_for(ask)
        between = range(seat.record.heard_id + 1, position + 1)
        missed = self._transcript.missed_by(person.id, between, (round_.turn_id, ask.cause))
        metadata: Json = {"group": {"id": group.id, "name": group.name}}
        if (attachments := round_.attachments_for(ask)) is not None:
            metadata["attachments"] = attachments
        seat.record.copied_id = seat.position
        await self._parts.sessions.send(
            self._owner,
            seat.session_id,
            NewMessage(
                message=told(author, message, missed, introduction),
                metadata=metadata,
                client_message_id=round_.key(ask),
            ),
        )
        seat.record.heard_id = position
        await self._parts.seats.told(seat.record)
        if round_.is_void():
            await self.stop(seat, "cancelled")
        return None

    async def _goes_on(self, seat: Seat, round_: Round, ask: Ask) -> bool:
        """Whether the ask was sent before a restart; then its answer is read on."""
        if seat.record is None:
            return False
        turns = {turn.id: turn for turn in await self._parts.seats.turns(seat.session_id)}
        turn = next((one for one in turns.values() if one.key == round_.key(ask)), None)
        seat.knows(turns, turn.id if turn is not None else None)
        if turn is None:
            return False
        await seat.follow(self._parts.log, max(seat.record.copied_id, ask.copied_id))
        if ask.is_done:
            return True
        if turn.state in OPEN:
            seat.answers_now()
            if round_.is_cancelled:
                await self.stop(seat, "cancelled")
            return True
        # The record knows an end that the log does not show.
        kind = "execution_error" if turn.state == "failed" else "execution_complete"
        answer = await self._parts.seats.answer(turn.id)
        seat.end({"type": kind, "content": answer, "cancelled": turn.state == "cancelled"})
        return True

    async def stop(self, seat: Seat, reason: str) -> None:
        """Cancels what the person is doing."""
        if seat.record is None:
            return  # not there yet: whoever seats it sees that it is not needed
        try:
            await self._parts.sessions.cancel(self._owner, seat.session_id, reason)
        except TrunklineError as error:
            _log.info("a person cannot be told to stop", problem=error.message)


def cancelled(ask: Ask) -> Json:
    said, group = "".join(ask.pieces), {"ask": ask.number}
    return {"type": "person_complete", "content": said, "cancelled": True, "group": group}


def failed(ask: Ask, why: str, code: str) -> Json:
    return {"type": "person_error", "error": why, "code": code, "group": {"ask": ask.number}}
