"""One Yeaft agent: each conversation's active turn, what waits, and which end is whose. Pure.

Outlives the agent's lines (docs/protocols/yeaft.md). Inputs are methods; what they want done is
left in `out`, and `Telling` says what goes out next.
"""

from collections.abc import Mapping

from trunkline.wire import actions
from trunkline.wire.commands import Answer, Cancel, Command, Forward, Say, Start, Stop
from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft import commands as words
from trunkline.wire.yeaft.codec import decode, encode
from trunkline.wire.yeaft.conversation import Conversation, Phase
from trunkline.wire.yeaft.inward import settle, to_events
from trunkline.wire.yeaft.inward_state import READY, Doubt, DoubtfulEnd, Inward
from trunkline.wire.yeaft.messages import (
    CancelExecution,
    DeleteConversation,
    Envelope,
    Question,
    Ready,
)
from trunkline.wire.yeaft.provider_events import translated
from trunkline.wire.yeaft.questions import answer_message, asked
from trunkline.wire.yeaft.telling import Telling

PROTOCOL = "yeaft"


class AgentTalk(Telling):
    """One agent, whether its line is up or not."""

    # Inputs: what the records say, after a restart

    def recall(self, say: Say, *, is_cancelling: bool, is_late: bool) -> Inward:
        """What the agent was at when we went down, if it ever got it: what it says next is of
        that turn. `is_late`: or of one that was ended here."""
        self.state.current[say.session_id] = say
        inward = self.conversation(say.session_id).inward
        inward.begin(say.turn_id, say.message)
        inward.is_cancelling = is_cancelling
        if is_late:
            inward.expect_late(Doubt.WORDS)
        return inward

    # Inputs: its line

    def line_up(self, work_dir: str) -> None:
        """`work_dir`: where the agent says that it works."""
        self.state.work_dir = work_dir
        self.state.is_up, self.state.is_synced, self.state.has_listed = True, False, False
        self.state.busy, self.state.returned, self.state.missing = set(), [], set()

    def line_down(self) -> None:
        self.state.is_up = False
        self.state.timed.clear()
        for session_id, say in list(self.state.current.items()):
            if not self._is_sent(say):
                del self.state.current[session_id]
        for conversation in self.state.conversations.values():
            conversation.line_down()

    def synced(self, now_s: float) -> None:
        """The agent has sent what it had kept. What it was told of on an earlier line it may have
        begun in silence: only its list says that it has not, and some agents list what they are at
        much later, or never."""
        if self.state.is_synced or not self.state.is_up:
            return
        self.state.now_s, self.state.is_synced = now_s, True
        self.state.returned = [say for say in self.state.current.values() if self._is_sent(say)]
        for say in self.state.current.values():
            self.conversation(say.session_id).inward.came_back()
        if self.state.has_listed:
            self._resume()
        else:
            self.out.append(actions.Resumed([say.turn_id for say in self.state.returned]))
        for session_id in self._turns.open_sessions():  # made while it was away
            conversation = self.conversation(session_id)
            if conversation.phase is Phase.NEW:
                self._go_on(conversation)

    def _has(self, say: Say) -> bool:
        """Whether the agent has shown that it was told of it."""
        inward = self.conversation(say.session_id).inward
        is_busy = inward.was_listed or say.session_id in self.state.busy
        return self._is_sent(say) and (is_busy or inward.has_spoken or inward.is_cancelling)

    def _resume(self) -> None:
        """The agent has listed its active turns: what it does not have, it is told again."""
        returned, self.state.returned = self.state.returned, []
        begun = [say for say in returned if self._has(say)]
        turns = [say.turn_id for say in begun]
        self.state.missing = {say.turn_id for say in returned}.difference(turns)
        for say in begun:
            self._end_lost(say)
        self.out.append(actions.Resumed(turns))

    def listed(self, conversations: Mapping[str, bool]) -> None:
        """What runs there, and which of it is busy. Sent often."""
        self.state.busy = {one for one, is_busy in conversations.items() if is_busy}
        for session_id in conversations:
            if self._turns.open_turns(session_id) is not None:
                self.conversation(session_id).is_there()
        for session_id, say in self.state.current.items():
            if session_id in self.state.busy and self._is_sent(say):
                self.conversation(session_id).inward.was_listed = True
        is_first, self.state.has_listed = not self.state.has_listed, True
        if is_first and self.state.is_synced:
            self._resume()

    def _end_lost(self, say: Say) -> None:
        """What the agent had begun and does not work on any more was lost with its program. A turn
        that it speaks of on this line is active, whether its list says so or not. (Deployed agents
        may list their active turns only after they have said that their first state is complete.)
        """
        inward = self.conversation(say.session_id).inward
        if not inward.is_silent or say.session_id in self.state.busy:
            return
        if inward.is_cancelling:
            self._finish(say, "execution_complete", cancelled=True)
        else:
            why = "the agent was restarted in the middle of this turn"
            self._finish(say, "execution_error", error=why, code="MACHINE_RESTARTED")

    # Inputs: what it says of a conversation. Plain pieces of text go past this: see `plain`.

    def heard(
        self, session_id: str, envelope: Envelope, text: str, now_s: float, ts: int
    ) -> list[str]:
        """The message as lines of the log. What it means for the talk is left in `out`, to be done
        when the lines are there."""
        self.state.now_s = now_s
        conversation = self.conversation(session_id)
        turn, turn_id = conversation.provider_turn, conversation.inward.turn_id
        told = translated(turn, envelope, text, turn_id, ts)
        if told is None:
            return self._heard(session_id, envelope, text, ts)
        return [line for one in told for line in self._heard(session_id, decode(one), one, ts)]

    def _heard(self, session_id: str, envelope: Envelope, text: str, ts: int) -> list[str]:
        conversation, name = self.conversation(session_id), envelope.type
        inward = conversation.inward
        turn_id = inward.turn_id
        ready = codec.read(text, Ready) if name in READY else None
        if name == "ask_user_question":
            self._note_question(session_id, text, ts)
        lines = to_events(inward, envelope, text, ts)
        if inward.has_held and not lines:
            self.state.busy.discard(session_id)  # what it listed before this end is out of date
        if ready is not None:
            conversation.note_ready(ready, self._bounds)
            self._remember(conversation)
            self._ready(conversation)
        elif name == "error" and conversation.phase is Phase.STARTING:
            why = inward.problem or "the agent refused the conversation"
            self._start_failed(conversation, why, "SESSION_START_FAILED")
        elif name == "error" and conversation.phase is Phase.RESUMING:
            inward.remote_id = ""  # it has forgotten it, and begins it anew
            self._fetch(conversation, Phase.STARTING)
        elif name in ("conversation_closed", "conversation_deleted"):
            if conversation.phase is Phase.READY:
                conversation.enter(Phase.RESTING)  # its next message takes it up again
            self._stopped(session_id)
        if turn_id is not None and inward.turn_id != turn_id:
            self._turn_ended(session_id, turn_id)
        if not conversation.is_saved:
            self._remember(conversation)
        return lines

    def _note_question(self, session_id: str, text: str, ts: int) -> None:
        if len(text) > self._bounds.question_chars_max:
            raise Malformed(f"a question may have {self._bounds.question_chars_max} characters")
        message = codec.read(text, Question)
        if not 0 < len(message.request_id) <= self._bounds.name_chars_max:
            raise Malformed(f"requestId must have 1 to {self._bounds.name_chars_max} characters")
        self.state.questions.note(session_id, message.request_id, asked(message).questions, ts)

    # Inputs: what it is to be told

    def deliver(self, command: Command, now_s: float) -> None:
        """Of new parameters (`Configure`) the wire has no word: the next start has them."""
        self.state.now_s = now_s
        match command:
            case Start():
                conversation = self.conversation(command.session_id)
                if conversation.phase is not Phase.STARTING or conversation.fetch:
                    self._create(conversation, command)
            case Say():
                self._say(command)
            case Cancel():
                self._cancel(command.session_id)
            case Answer():
                self._answer(command)
            case Forward():
                self._forward(command)
            case Stop():
                self._stop(command.session_id)

    def _say(self, say: Say) -> None:
        if say.turn_id in self.state.missing and self._has(say):
            return  # it has shown so since
        conversation = self.conversation(say.session_id)
        before = self.state.current.get(say.session_id)
        if before is not None and before.turn_id != say.turn_id:
            self._deny_all(say.session_id)  # it was ended here
        self.state.current[say.session_id] = say
        conversation.inward.end()  # if it was said before, it was lost with its line
        self._hold(conversation, say)
        self._go_on(conversation)

    def _cancel(self, session_id: str) -> None:
        """The wire has no answer to it. A turn that does not end in time is ended here."""
        say = self.state.current.get(session_id)
        if say is None:
            return
        if not self._is_sent(say):
            del self.state.current[session_id]
            self._finish(say, "execution_complete", cancelled=True)
            return
        self.conversation(session_id).inward.is_cancelling = True
        self._send(encode(CancelExecution(conversation_id=session_id)))
        known = self.state.grace.get(session_id)
        if known is None or known[0].turn_id != say.turn_id:
            self.state.grace[session_id] = say, self._wake(self._bounds.cancel_grace_s)

    def _answer(self, command: Answer) -> None:
        names = self.state.questions.answered(command.session_id, command.request_id)
        message = answer_message(
            command.session_id, command.request_id, command.confirmed, command.answer, names
        )
        self._send(encode(message))

    def _deny_all(self, session_id: str) -> None:
        """Their turn was ended here, and the agent, which never gives up, may wait for them."""
        for request_id in self.state.questions.open_of(session_id):
            self._answer(Answer(session_id, request_id, confirmed=False))
        self.state.questions.forget(session_id)

    def _forward(self, command: Forward) -> None:
        if command.protocol != PROTOCOL:
            return
        if command.session_id:
            conversation = self.conversation(command.session_id)
            say = self._next(command.session_id)
            waits = say is not None and not self._is_sent(say)
            if conversation.phase is Phase.READY:
                self._go_on(conversation)  # what waits goes first
            elif conversation.phase is not Phase.RESTING or waits:
                if not self._hold(conversation, command):
                    self._not_passed_on(conversation, "too much waits for the agent")
                self._go_on(conversation)
                return
        self._send(command.text.encode())

    def _stop(self, session_id: str) -> None:
        self.drop(session_id)
        self._send(encode(DeleteConversation(conversation_id=session_id)))
        self.state.stopping[session_id] = self._wake(self._bounds.cancel_grace_s)

    def _stopped(self, session_id: str) -> None:
        """The agent has deleted it, or had the time to: all that it said is in the log."""
        self.state.stopping.pop(session_id, None)
        self.out.append(actions.Stopped(session_id))

    def fetched(self, session_id: str, number: int, start: Start | None, now_s: float) -> None:
        """None: there is nothing to start any more."""
        self.state.now_s = now_s
        conversation = self.state.conversations.get(session_id)
        if conversation is None or conversation.fetch != number:
            return
        conversation.fetch = 0
        if start is not None and conversation.phase is Phase.STARTING:
            self._create(conversation, start)
        elif start is not None:
            created = self._created(start, conversation)
            self._send(words.opening(start, words.resume(created, conversation.talk)))

    # Inputs: time

    def due_s(self) -> float | None:
        """When there is something to do next, if nothing happens until then."""
        due = [at_s for say, at_s in self.state.grace.values() if not self._has_ended(say)]
        due += self.state.stopping.values()
        deadlines = [self.conversation(one).deadline_s for one in self.state.timed]
        due += [at_s for at_s in deadlines if at_s is not None]
        return min(due, default=None)

    def tick(self, now_s: float, ts: int, *, is_stalled: bool = False) -> None:
        """Once a second, and when `Wake` says so. `is_stalled`: it is we who do not listen."""
        self.state.now_s = now_s
        for session_id, (say, at_s) in list(self.state.grace.items()):
            if now_s >= at_s:
                del self.state.grace[session_id]
                self._cancel_overdue(say)
        for session_id, at_s in list(self.state.stopping.items()):
            if now_s >= at_s:
                self._stopped(session_id)
        for session_id in list(self.state.timed):
            self._overdue(self.conversation(session_id))
        for session_id in list(self.state.conversations):
            if self._turns.open_turns(session_id) is None:
                self.drop(session_id)  # it was closed or moved away
        if self.state.is_up:
            for say in list(self.state.current.values()):
                if self._has_ended(say):
                    self._deny_all(say.session_id)
                    self._turn_ended(say.session_id, say.turn_id)
                elif is_stalled:
                    self.conversation(say.session_id).unheard()
                else:
                    self._settle(say, ts)
                    if self._is_lost(say):
                        self._give_up(say)

    def _is_lost(self, say: Say) -> bool:
        """Whether the agent has said nothing of the turn for too long since its line came back. It
        need not while it waits for a person."""
        conversation = self.conversation(say.session_id)
        is_due = self.state.is_synced and conversation.inward.is_silent and self._is_sent(say)
        if not is_due or self.state.questions.open_of(say.session_id):
            conversation.silent_s = None
            return False
        if conversation.silent_s is None:
            conversation.silent_s = self.state.now_s
        return self.state.now_s - conversation.silent_s >= self._patience_s(say)

    def _patience_s(self, say: Say) -> float:
        is_busy = say.session_id in self.state.busy
        return self._bounds.busy_silence_s if is_busy else self._bounds.silence_s

    def _give_up(self, say: Say) -> None:
        """The agent may be at it all the same: it is told to stop, and may yet end it."""
        waited, has_begun = f"{self._patience_s(say):.0f} s", self._has(say)
        self.conversation(say.session_id).inward.expect_late(Doubt.WORDS)
        self._send(encode(CancelExecution(conversation_id=say.session_id)))
        if has_begun:
            why = f"the agent came back, and said nothing of this turn for {waited}"
            code = "MACHINE_SILENT"
        else:
            why = (
                "the line broke while this message was on its way, and the agent has not said for"
                f" {waited} whether it has it: say it again if nothing was done"
            )
            code = "DELIVERY_UNKNOWN"
        self._finish(say, "execution_error", is_late=True, error=why, code=code)

    def _cancel_overdue(self, say: Say) -> None:
        if not self._has_ended(say):
            if self._is_sent(say):
                self.conversation(say.session_id).inward.expect_late(Doubt.WORDS)
            self._finish(say, "execution_complete", is_late=True, cancelled=True)

    def _overdue(self, conversation: Conversation) -> None:
        if conversation.deadline_s is None:
            self.state.timed.pop(conversation.session_id, None)
        elif self.state.now_s >= conversation.deadline_s:
            if conversation.phase is Phase.RESUMING:
                self._ready(conversation)
            else:
                why = f"the session did not start within {self._bounds.start_timeout_s:.0f} s"
                self._start_failed(conversation, why, "SESSION_START_TIMEOUT")

    def _settle(self, say: Say, ts: int) -> None:
        """A turn that may have its end, if the agent says nothing more."""
        conversation, now_s = self.conversation(say.session_id), self.state.now_s
        pending = conversation.inward.doubtful_end
        if pending is None:
            conversation.doubt = None
        elif (
            self._is_at_work(say, pending)
            or conversation.doubt is None
            or conversation.doubt[0] != conversation.inward.doubts
        ):
            conversation.doubt = conversation.inward.doubts, now_s
        elif now_s - conversation.doubt[1] >= self._bounds.quiet_s:
            lines = settle(conversation.inward, ts)
            self.out += [actions.Write(say.session_id, line) for line in lines]
            if not self._is_sent(say):
                self._turn_ended(say.session_id, say.turn_id)

    def _is_at_work(self, say: Say, pending: DoubtfulEnd) -> bool:
        """Whether the agent's silence says nothing of this end."""
        if not pending.outweighs_list:
            return say.session_id in self.state.busy
        is_waiting = bool(self.state.questions.open_of(say.session_id))
        return is_waiting or self.conversation(say.session_id).inward.has_running_tools
