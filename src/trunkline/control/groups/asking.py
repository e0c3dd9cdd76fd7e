"""How a person is asked: in its own session, with what it missed in front of the message.

That session is made when it is first needed, kept as the person's record says, and closed with the
conversation. All of it goes through `Sessions`, as the group's owner, like any client.
"""

from typing import Any

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import Conflict, NotFound, TrunklineError
from trunkline.control.groups.copying import Json
from trunkline.control.groups.group_log import Transcript, told
from trunkline.control.groups.parts import Parts
from trunkline.control.groups.persons import Person
from trunkline.control.groups.records import Group
from trunkline.control.groups.round import Ask, Question, Round
from trunkline.control.groups.seat import Seat, SeatRecord
from trunkline.control.sessions.records import NewMessage, NewSession, Session
from trunkline.control.sessions.turns import OPEN

_log = structlog.get_logger(__name__)


class Asking:
    """Of one conversation."""

    def __init__(
        self, parts: Parts, owner: Principal, session_id: str, transcript: Transcript
    ) -> None:
        self._parts = parts
        self._owner = owner
        self._session_id = session_id
        self._transcript = transcript

    async def ask(
        self, seat: Seat, round_: Round, ask: Ask, group_id: str, position: int
    ) -> Json | None:
        """Asks, or reads on what was asked before a restart. Returns the end of an ask that is
        not to be sent any more. `position`: what was said until there, the person is told."""
        if await self._goes_on(seat, round_, ask):
            return None
        group = await self._parts.records.load(group_id)
        person = next((one for one in group.persons if one.id == ask.person_id), None)
        if person is None:
            return failed(ask, f"{ask.name} is not in this group any more", "PERSON_NOT_FOUND")
        seat.record, introduction = await self._seated(person, group, seat.record)
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
            is_part=True,
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
        turns = self._parts.turns
        if not seat.is_following:
            seat.knows(one.id for one in await turns.recent(seat.session_id, limits.PAGE_MAX))
        turn = await turns.named(seat.session_id, round_.key(ask))
        if turn is None:
            return False
        seat.was_asked(turn.id)
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
        is_cancelled = turn.state == "cancelled"
        seat.end({"type": kind, "content": turn.answer or "", "cancelled": is_cancelled})
        return True

    async def stop(self, seat: Seat, reason: str) -> None:
        """Cancels what the person is doing."""
        if seat.record is None:
            return  # not there yet: whoever seats it sees that it is not needed
        try:
            await self._parts.sessions.cancel(self._owner, seat.session_id, reason)
        except TrunklineError as error:
            _log.info("a person cannot be told to stop", problem=error.message)

    async def answer(
        self,
        question: Question,
        confirmed: bool,
        answer: Any,
        scope: str = "once",
        reason: str = "",
    ) -> None:
        """An answer that was given in the group goes to whoever asked."""
        await self._parts.sessions.answer(
            self._owner,
            question.request_id,
            confirmed,
            answer,
            session_id=question.session_id,
            scope=scope,
            reason=reason,
        )

    async def answer_again(self, round_: Round) -> None:
        """After a restart: what was answered in the group may not have got any further."""
        find = self._parts.approvals.find
        for request_id, question in round_.questions.items():
            if round_.asks[question.ask].is_done:
                continue
            try:
                found = await find(self._owner, request_id, self._session_id)
                if found.state != "pending":
                    await self.answer(question, found.state == "confirmed", found.answer)
            except Conflict:
                pass  # it had
            except TrunklineError as error:
                _log.warning("an answer was not passed on", problem=error.message)

    async def _seated(
        self, person: Person, group: Group, record: SeatRecord | None
    ) -> tuple[SeatRecord, str]:
        """The person's seat, whose session runs as the person's record says, and what the person
        must be told before anything else."""
        wanted = _config(person, group)
        session = (
            None
            if record is None
            else await self._parts.sessions.get(self._owner, record.member_session_id)
        )
        if record is None or session is None or not await self._fits(session, person):
            if record is not None:
                await close(self._parts, self._owner, record.member_session_id)
            record, session = await self._make(person, group, wanted)
        elif {name: session.agent_config.get(name) for name in wanted} != wanted:
            await self._parts.sessions.configure(self._owner, session.id, wanted)
        return record, await self._introduction(session, record, wanted)

    async def _make(
        self, person: Person, group: Group, config: dict[str, Any]
    ) -> tuple[SeatRecord, Session]:
        session = await self._parts.sessions.create(
            self._owner,
            NewSession(
                agent_config=config,
                machine_id=person.machine_id,
                runtime_type=person.runtime_type,
                title=f"@{person.name} in {group.name}"[: limits.NAME_CHARS_MAX],
                session_config={
                    "group": {
                        "group_id": group.id,
                        "session_id": self._session_id,
                        "person_id": person.id,
                    }
                },
            ),
        )
        record = SeatRecord(self._session_id, person.id, session.id, 0, 0)
        try:
            await self._parts.seats.put(record)
        except NotFound:  # it was removed in this moment, and nobody would close the session
            await close(self._parts, self._owner, session.id)
            raise
        return record, session

    async def _fits(self, session: Session, person: Person) -> bool:
        """Whether the person can go on there: its machine may have changed, or be gone."""
        if session.status != "active" or session.machine_id is None:
            return False
        if person.runtime_type not in (None, session.runtime_type):
            return False
        if person.model is None and session.agent_config.get("model") is not None:
            return False
        if person.machine_id is not None:
            return person.machine_id == session.machine_id
        machine = await self._parts.machines.get(session.machine_id)
        with machine.input() as core:
            return core.is_expected

    async def _introduction(
        self, session: Session, record: SeatRecord, config: dict[str, Any]
    ) -> str:
        """Devices have no word for a prompt, and agent hosts need not look at it: there it comes
        with the first message."""
        assert session.machine_id is not None
        machine = await self._parts.machines.get(session.machine_id)
        is_told = machine.core.state.traits.is_introduced or record.heard_id > 0
        return "" if is_told else str(config["system_prompt"])


def cancelled(ask: Ask) -> Json:
    said, group = "".join(ask.pieces), {"ask": ask.number}
    return {"type": "person_complete", "content": said, "cancelled": True, "group": group}


def failed(ask: Ask, why: str, code: str) -> Json:
    return {"type": "person_error", "error": why, "code": code, "group": {"ask": ask.number}}


async def close(parts: Parts, owner: Principal, session_id: str) -> None:
    """Closes a person's session; one that is gone already is none to care about."""
    try:
        await parts.sessions.close(owner, session_id)
    except TrunklineError as error:
        _log.info("a person's session was not closed", session=session_id, problem=error.message)


def _config(person: Person, group: Group) -> dict[str, Any]:
    config = {
        "name": person.name,
        "system_prompt": _prompt(person, group),
        "confirm": person.confirm,
    }
    return config if person.model is None else {**config, "model": person.model}


def _prompt(person: Person, group: Group) -> str:
    """The person's own prompt, and who is there to talk to."""
    others = [f"@{one.name}" for one in group.persons if one.id != person.id]
    where = f"You are {person.name} in the group {group.name}."
    if others:
        where += (
            f" With you are {', '.join(others)}. To hand something to one of them,"
            " write their name with the @ in your answer."
        )
    return f"{person.prompt}\n\n{where}" if person.prompt else where
