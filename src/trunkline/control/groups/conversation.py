"""One conversation of a group while it runs: its turns, its seats, what goes to whom.

In memory while a turn is open. What is to be done is written into the group's log first and done
after the commit, so that whoever reads the log after a crash does the rest, once.
"""

import asyncio
from collections import deque
from collections.abc import Callable

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import TrunklineError
from trunkline.control.groups import copying, mentions
from trunkline.control.groups.asking import Asking, cancelled, failed
from trunkline.control.groups.copying import Json
from trunkline.control.groups.group_log import LogWriter, Transcript, read_again
from trunkline.control.groups.parts import Parts
from trunkline.control.groups.records import Group
from trunkline.control.groups.round import Ask, Guard, Round
from trunkline.control.groups.seat import Seat
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.machine import Machine
from trunkline.control.tasks import Serial
from trunkline.wire.commands import Answer, Cancel, Say

_UNKNOWN_NAMED_MAX = 10  # names that nobody has, in one note

_log = structlog.get_logger(__name__)

Command = Say | Cancel | Answer


class Conversation:
    def __init__(
        self, parts: Parts, machine: Machine, log: SessionLog, on_idle: Callable[[str], None]
    ) -> None:
        owner = Principal(machine.user_id, machine.org_id, "member")
        self._parts = parts
        self._machine = machine
        self._log = log
        self._on_idle = on_idle
        self._rounds: dict[str, Round] = {}
        self._seats: dict[str, Seat] = {}
        self._guard = Guard(parts.clock)
        self._transcript = Transcript()
        self._writer = LogWriter(parts, machine, log)
        self._asking = Asking(parts, owner, log.session_id, self._transcript)
        self._commands = Serial(parts.tasks)
        self._is_loaded = False
        self._is_closed = False
        self._busy = 0
        """Commands and asks that are being worked on."""

    def take(self, command: Command) -> None:
        self._busy += 1
        self._commands.add(self._take(command), "group conversation")

    async def _take(self, command: Command) -> None:
        try:
            if isinstance(command, Say):
                await self._say(command)
            elif isinstance(command, Cancel):
                await self._cancel(command.reason)
            else:
                await self._answer(command)
        finally:
            self._busy -= 1
            self._go_on()

    async def _say(self, say: Say) -> None:
        """Begins a turn, or goes on with it."""
        try:
            group = await self._parts.records.load(self._machine.id)
            if not self._is_loaded:
                await self._load(group)
            if say.turn_id in self._rounds or self._has_ended(say.turn_id):
                return
            if len(self._rounds) >= limits.GROUP_TURNS_MAX:
                await self._refuse(say.turn_id, "this group is busy; wait, then say it again")
                return
            self._begin_turn(Round(say.turn_id, say.message, say.metadata, group.persons))
        except Exception:
            _log.exception("a group's turn cannot be begun", session=self._log.session_id)
            await self._refuse(say.turn_id, "a fault of the control plane; its log says what")

    async def _refuse(self, turn_id: str, why: str) -> None:
        self._rounds.pop(turn_id, None)
        with self._machine.input() as core:
            core.finish(
                self._log.session_id, turn_id, "execution_error", error=why, code="GROUP_FAILED"
            )

    def _has_ended(self, turn_id: str) -> bool:
        return self._machine.core.has_ended(self._log.session_id, turn_id)

    def _begin_turn(self, round_: Round) -> None:
        self._rounds[round_.turn_id] = round_
        chosen = mentions.choose(round_.message, round_.metadata.get("mentions"), round_.persons)
        if chosen.unknown:
            names = ", ".join(chosen.unknown[:_UNKNOWN_NAMED_MAX])
            self._writer.note(round_, f"nobody here is called {names}")
        self._ask(round_, chosen.ids)
        self._settle(round_)
        self._writer.after_commit(self._go_on)

    async def _load(self, group: Group) -> None:
        """Takes up what is open: after a restart, the log shows what is under way."""
        self._rounds.clear()
        records = await self._parts.seats.of(self._log.session_id)
        self._seats = {one: Seat(record, self) for one, record in records.items()}
        session_id = self._log.session_id
        hosted = self._machine.core.state.sessions.get(session_id)
        for turn_id in [] if hosted is None else list(hosted.session.turns):
            say = await self._parts.turns.say(session_id, turn_id)
            if say is None:
                continue
            round_ = Round(turn_id, say.message, say.metadata, group.persons)
            try:
                events_max = self._parts.tuning.group_turn_events_max
                await read_again(self._parts.log, self._log, round_, events_max)
            except TrunklineError as error:
                await self._refuse(turn_id, error.message)
            if round_.asks:
                self._rounds[turn_id] = round_
        for round_ in self._rounds.values():
            for ask in round_.open():
                self._seat(ask.person_id).waiting.append((round_, ask))
            await self._asking.answer_again(round_)
            if round_.is_cancelled:
                self._give_up_later(round_)
        for seat in self._seats.values():
            await self._sort(seat)
        await self._transcript.follow(self._parts.log, self._log)
        self._is_loaded = True

    async def _sort(self, seat: Seat) -> None:
        """What was sent before the restart is active there, and comes first."""
        if seat.record is None or len(seat.waiting) < 2:
            return
        named, waiting = self._parts.turns.named, list(seat.waiting)
        sent = [await named(seat.session_id, round_.key(ask)) for round_, ask in waiting]
        seat.waiting = deque(
            [one for one, turn in zip(waiting, sent, strict=True) if turn is not None]
            + [one for one, turn in zip(waiting, sent, strict=True) if turn is None]
        )

    def _ask(
        self, round_: Round, person_ids: list[str], depth: int = 0, cause: Ask | None = None
    ) -> None:
        for event in list(round_.starts(person_ids, depth, cause)):
            if self._writer.write(round_, event):
                ask = round_.asks[event["group"]["ask"]]
                self._seat(ask.person_id).waiting.append((round_, ask))

    def _seat(self, person_id: str) -> Seat:
        if person_id not in self._seats:
            self._seats[person_id] = Seat(None, self)
        return self._seats[person_id]

    def _go_on(self) -> None:
        """Whoever is free takes up what waits for them. With nothing left, this is over."""
        if self._is_closed or not self._is_loaded:
            return
        for seat in self._seats.values():
            if (ask := seat.next()) is not None:
                self._busy += 1
                self._parts.tasks.spawn(self._work(seat, *ask), "group ask")
        if not self._busy and not self._rounds:
            self.close()
            self._on_idle(self._log.session_id)

    async def _work(self, seat: Seat, round_: Round, ask: Ask) -> None:
        position = self._transcript.position
        try:
            end = await self._asking.ask(seat, round_, ask, self._machine.id, position)
        except TrunklineError as error:
            end = failed(ask, error.message, error.code)
        except Exception:
            _log.exception("a person cannot be asked", session=self._log.session_id)
            end = failed(ask, "a fault of the control plane; its log says what", "INTERNAL_ERROR")
        self._busy -= 1
        if end is not None:
            self._finish(seat, round_, ask, end)
        self._go_on()

    def heard(self, seat: Seat, round_: Round, ask: Ask, event_id: int, event: Json) -> None:
        """A person does something for an ask. Neither raises nor waits."""
        source = seat.session_id, event_id, ask.number
        if event["type"] not in copying.ENDS:
            copy = copying.copied(event, *source)
            if copy is not None:
                self._writer.write(round_, copy, ask)
            return
        end = copying.ended(event, *source)
        if end["type"] == "person_complete" and not end["content"]:
            end["content"] = "".join(ask.pieces)
        self._finish(seat, round_, ask, end)

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

    async def _answer(self, answer: Answer) -> None:
        for round_ in list(self._rounds.values()):
            question = round_.questions.get(answer.request_id)
            if question is None:
                continue
            question.is_settled = True  # the log says so already, to everybody
            try:
                await self._asking.answer(
                    question, answer.confirmed, answer.answer, answer.scope, answer.reason
                )
            except TrunklineError as error:
                name = round_.asks[question.ask].name
                text = f"the answer to {name} came to nothing: {error.message}"
                self._writer.note(round_, text)

    def _finish(self, seat: Seat, round_: Round, ask: Ask, end: Json) -> None:
        """The person is done with this ask; whom its answer addresses is next."""
        if seat.current != (round_, ask):
            return
        self._writer.write(round_, end, ask)
        seat.free()
        if ask.error is None and not end.get("cancelled") and not round_.is_void():
            self._pass_on(round_, ask)
        self._settle(round_)
        self._writer.after_commit(self._go_on)

    def _pass_on(self, round_: Round, ask: Ask) -> None:
        names = {one.id: one.name for one in round_.persons}
        for person_id in mentions.addressed(ask.content, ask.person_id, round_.persons):
            if any(one is round_ for one, _ in self._seat(person_id).waiting):
                continue  # it has not begun yet, and is told all of this when it does
            why = self._guard.refusal(person_id, ask.depth + 1)
            if round_.is_full:
                why = f"{limits.GROUP_ASKS_MAX} were asked in this turn"
            if why is None:
                self._ask(round_, [person_id], ask.depth + 1, ask)
            else:
                text = f"not passed on from {ask.name} to {names[person_id]}: {why}"
                self._writer.note(round_, text)

    def _settle(self, round_: Round) -> None:
        """Ends a turn that nobody is busy with any more."""
        if self._has_ended(round_.turn_id):
            self._rounds.pop(round_.turn_id, None)
        elif round_.is_over:
            self._writer.write(round_, round_.end())
            self._rounds.pop(round_.turn_id, None)

    async def _cancel(self, reason: str) -> None:
        for round_ in [one for one in self._rounds.values() if not one.is_cancelled]:
            self._writer.note(round_, f"is being stopped: {reason}", cancelling=True)
            for seat in self._seats.values():
                for ask in seat.drop(round_):
                    self._writer.write(round_, cancelled(ask), ask)
            self._settle(round_)
            self._give_up_later(round_)
        for seat in list(self._seats.values()):
            if seat.current is not None and seat.current[0].is_cancelled:
                await self._asking.stop(seat, reason)

    def _give_up_later(self, round_: Round) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(self._parts.tuning.cancel_grace_s, self._give_up, round_)

    def _give_up(self, round_: Round) -> None:
        """Whoever has not stopped by now is not waited for."""
        for seat in self._seats.values():
            if seat.current is not None and seat.current[0] is round_:
                ask = seat.current[1]
                end = failed(ask, "did not stop in time", "CANCEL_TIMEOUT")
                self._finish(seat, round_, ask, end)

    def close(self) -> None:
        """Nothing is heard or asked any more."""
        self._is_closed = True
        for round_ in self._rounds.values():
            round_.is_dropped = True
        self._rounds.clear()
        for seat in self._seats.values():
            seat.waiting.clear()
            seat.leave()
        self._log.detach(self._transcript)
