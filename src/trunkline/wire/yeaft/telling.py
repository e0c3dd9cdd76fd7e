"""What a Yeaft agent is told next: it follows from how far each conversation has come. Pure.

One turn at a time; nothing but `create_conversation` before the agent has answered it; and what
was there before this line is taken up by `resume_conversation` first. `AgentTalk` has the inputs.
"""

from trunkline.wire import actions
from trunkline.wire.actions import Action, Turns
from trunkline.wire.commands import Forward, Say, Start
from trunkline.wire.yeaft import commands as words
from trunkline.wire.yeaft.agent_state import AgentState
from trunkline.wire.yeaft.conversation import Bounds, Conversation, Phase, new_conversation
from trunkline.wire.yeaft.inward_state import Inward
from trunkline.wire.yeaft.messages import CreateConversation


class Telling:
    """What follows from the talk's state."""

    def __init__(self, state: AgentState, turns: Turns, bounds: Bounds) -> None:
        self.out: list[Action] = []
        self.by_head: dict[str, Inward] = {}
        """The streams of its conversations, by how each one's plain pieces of text begin."""
        self._turns = turns
        self._bounds = bounds
        self.load(state)

    def load(self, state: AgentState) -> None:
        """Goes on from there."""
        self.state = state
        self.by_head.clear()
        for one in state.conversations.values():
            self.by_head[one.inward.plain_head] = one.inward

    def conversation(self, session_id: str) -> Conversation:
        """Of a session that is this machine's."""
        found = self.state.conversations.get(session_id)
        if found is None:
            found = new_conversation(self.state.machine_id, session_id, self._bounds)
            self.state.conversations[session_id] = found
            self.by_head[found.inward.plain_head] = found.inward
        return found

    def stream(self, session_id: str) -> Inward | None:
        """What is remembered of it while the agent streams, if the two have talked of it."""
        found = self.state.conversations.get(session_id)
        return found.inward if found is not None else None

    def drop(self, session_id: str) -> None:
        """The session is this machine's no more."""
        self.state.current.pop(session_id, None)
        self.state.timed.pop(session_id, None)
        self.state.questions.forget(session_id)
        conversation = self.state.conversations.pop(session_id, None)
        if conversation is not None:
            del self.by_head[conversation.inward.plain_head]

    def _not_passed_on(self, conversation: Conversation, why: str) -> None:
        """No turn ends with it, so readers are told in words."""
        problem = f"a message was not passed on: {why}"
        self.out.append(actions.Warn(conversation.session_id, problem))

    def _hold(self, conversation: Conversation, one: Say | Forward) -> bool:
        """Keeps the place of what came while its conversation cannot be talked to; False if there
        is no room. Messages that open turns are kept in `_current`."""
        chars = len(one.text) if isinstance(one, Forward) else 0
        has_room = self._held_chars() + chars <= self._bounds.forwards_chars_max
        if has_room and len(conversation.held) < self._bounds.forwards_max:
            conversation.held.append(one)
            return True
        return False

    def _held_chars(self) -> int:
        held = (one for known in self.state.conversations.values() for one in known.held)
        return sum(len(one.text) for one in held if isinstance(one, Forward))

    # From one step of a conversation to the next

    def _go_on(self, conversation: Conversation) -> None:
        """Does the next thing for a conversation that has something to say."""
        if not self.state.is_up:
            return
        say = self._next(conversation.session_id)
        match conversation.phase:
            case Phase.NEW:
                self._fetch(conversation, Phase.STARTING)
            case Phase.RESTING if say is not None and not self._is_sent(say):
                self._fetch(conversation, Phase.RESUMING)
                self._wait(conversation, self._bounds.resume_wait_s)
            case Phase.READY:
                self._say_held(conversation)

    def _say_held(self, conversation: Conversation) -> None:
        """What waited, in its order. A message behind the active turn waits for its own."""
        held, conversation.held = conversation.held, []
        for one in held:
            if isinstance(one, Forward):
                self._send(one.text.encode())
            else:
                self._say_next(conversation)
        self._say_next(conversation)

    def _say_next(self, conversation: Conversation) -> None:
        say = self._next(conversation.session_id)
        if say is not None and not self._is_sent(say):
            conversation.inward.begin(say.turn_id, say.message)
            self._send(words.say(conversation.talk, say))

    def _is_sent(self, say: Say) -> bool:
        return self.conversation(say.session_id).inward.turn_id == say.turn_id

    def _has_ended(self, say: Say) -> bool:
        return self._turns.has_ended(say.session_id, say.turn_id)

    def _next(self, session_id: str) -> Say | None:
        """The session's active turn, or the next one: a turn that was ended here is left out."""
        say = self.state.current.get(session_id)
        if say is not None and self._has_ended(say):
            del self.state.current[session_id]
            return None
        return say

    def _fetch(self, conversation: Conversation, phase: Phase) -> None:
        """Its opening is made of the session's `Start`, which the records have."""
        conversation.enter(phase)
        self.state.fetches += 1
        conversation.fetch = self.state.fetches
        self.out.append(actions.Fetch(conversation.session_id, self.state.fetches))

    def _created(self, start: Start, conversation: Conversation) -> CreateConversation:
        return words.create(
            start,
            user_id=self.state.owner.user_id,
            username=self.state.owner.username,
            work_dir=conversation.work_dir or self.state.work_dir,
        )

    def _create(self, conversation: Conversation, start: Start) -> None:
        message = self._created(start, conversation)
        conversation.enter(Phase.STARTING)
        conversation.provider = str(message.provider)
        conversation.work_dir = message.work_dir if isinstance(message.work_dir, str) else ""
        remote_id = words.resumed(start)
        if remote_id and not conversation.inward.dialect:
            conversation.inward.remote_id = remote_id
            self._send(words.opening(start, words.resume(message, conversation.talk)))
        else:
            self._send(words.opening(start, message))
        self._wait(conversation, self._bounds.start_timeout_s)

    def _start_failed(self, conversation: Conversation, why: str, code: str) -> None:
        """Its messages fail; the next one tries again."""
        session_id = conversation.session_id
        conversation.enter(Phase.NEW)
        if any(isinstance(one, Forward) for one in conversation.held):
            self._not_passed_on(conversation, why)
        conversation.held.clear()
        self.state.current.pop(session_id, None)
        self.out.append(actions.NotStarted(session_id, why, code))

    def _ready(self, conversation: Conversation) -> None:
        """The agent has answered, or does not answer such things: what waited goes out."""
        conversation.enter(Phase.READY)
        self._go_on(conversation)

    def _turn_ended(self, session_id: str, turn_id: str) -> None:
        """From whomever. The next one goes out."""
        conversation = self.conversation(session_id)
        if conversation.inward.turn_id == turn_id:
            conversation.inward.end()
        self.state.questions.forget(session_id)
        say = self.state.current.get(session_id)
        if say is not None and say.turn_id == turn_id:
            del self.state.current[session_id]
        if self._next(session_id) is not None:
            self._go_on(conversation)

    def _remember(self, conversation: Conversation) -> None:
        """How the agent calls a conversation, and how it speaks."""
        remote = conversation.remote
        if remote != conversation.saved:
            conversation.saved = remote
            self.out.append(actions.Remember(conversation.session_id, remote))

    # Actions

    def _send(self, message: bytes) -> None:
        if self.state.is_up:
            self.out.append(actions.Send(message))

    def _finish(self, say: Say, kind: str, *, is_late: bool = False, **fields: object) -> None:
        self.out.append(actions.Finish(say.session_id, say.turn_id, kind, fields, is_late=is_late))

    def _wait(self, conversation: Conversation, delay_s: float) -> None:
        conversation.deadline_s = self._wake(delay_s)
        self.state.timed[conversation.session_id] = None

    def _wake(self, delay_s: float) -> float:
        at_s = self.state.now_s + delay_s
        self.out.append(actions.Wake(at_s))
        return at_s
