"""Down: what one agent is told on one line, each conversation at its own pace.

One turn at a time; nothing but `create_conversation` before the agent has answered it; and what
was there before this line is taken up by `resume_conversation` first.
"""

import asyncio
from collections.abc import Callable, Container, Coroutine
from typing import Any

import structlog

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.edges.yeaft_agent import commands as words
from trunkline.control.edges.yeaft_agent.outside import PROTOCOL
from trunkline.control.edges.yeaft_agent.state import Agent, Conversation, Phase
from trunkline.control.log import events
from trunkline.wire.commands import (
    Answer,
    Cancel,
    Command,
    Configure,
    Forward,
    Say,
    Start,
    Stop,
)
from trunkline.wire.yeaft.codec import encode
from trunkline.wire.yeaft.inward import settle
from trunkline.wire.yeaft.inward_state import Doubt
from trunkline.wire.yeaft.messages import CancelExecution, CreateConversation, DeleteConversation
from trunkline.wire.yeaft.questions import answer_message

_log = structlog.get_logger(__name__)


class AgentTalk:
    """Ends with its line; what must go on is in `Agent`."""

    def __init__(
        self, core: Core, agent: Agent, work_dir: str, send: Callable[[bytes], None]
    ) -> None:
        self._core = core
        self._agent = agent
        self._machine = agent.machine
        self._work_dir = work_dir
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._is_over = False

    def deliver(self, command: Command) -> None:
        match command:
            case Start():
                self._create(self._agent.conversation(command.session_id), command)
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
            case Configure():
                pass  # the wire has no word for it: the next start has it

    def _is_sent(self, say: Say) -> bool:
        return self._agent.conversation(say.session_id).inward.turn_id == say.turn_id

    def _say(self, command: Say) -> None:
        conversation = self._agent.conversation(command.session_id)
        before = self._agent.current.get(command.session_id)
        if before is not None and before.turn_id != command.turn_id:
            self._agent.forget_questions(command.session_id)  # it was ended here
        self._agent.current[command.session_id] = command
        conversation.inward.end()  # if it was said before, it was lost with its line
        self._agent.hold(command)
        self._go_on(conversation)

    def _cancel(self, session_id: str) -> None:
        """002 has no answer to it. A turn that does not end in time is ended here."""
        say = self._agent.current.get(session_id)
        if say is None:
            return
        conversation = self._agent.conversation(session_id)
        if not self._is_sent(say):
            del self._agent.current[session_id]
            self._finish(say, "execution_complete", cancelled=True)
            return
        conversation.inward.is_cancelling = True
        self._send(encode(CancelExecution(conversation_id=say.session_id)))
        self._loop.call_later(limits.MACHINE_CANCEL_GRACE_S, self._cancel_overdue, say)

    def _cancel_overdue(self, say: Say) -> None:
        if not self._has_ended(say):
            if self._is_sent(say):
                self._agent.conversation(say.session_id).inward.expect_late(Doubt.WORDS)
            self._finish(say, "execution_complete", is_late=True, cancelled=True)

    def _has_ended(self, say: Say) -> bool:
        return self._machine.core.has_ended(say.session_id, say.turn_id)

    def _answer(self, command: Answer) -> None:
        pending = self._agent.questions.get((command.session_id, command.request_id))
        message = answer_message(
            command.session_id,
            command.request_id,
            command.confirmed,
            command.answer,
            pending.questions if pending is not None else [],
        )
        self._send(encode(message))

    def _forward(self, command: Forward) -> None:
        if command.protocol != PROTOCOL:
            return
        if command.session_id:
            conversation = self._agent.conversation(command.session_id)
            say = self._next(command.session_id)
            waits = say is not None and not self._is_sent(say)
            if conversation.phase is Phase.READY:
                self._go_on(conversation)  # what waits goes first
            elif conversation.phase is not Phase.RESTING or waits:
                if not self._agent.hold(command):
                    self._not_passed_on(conversation, "too much waits for the agent")
                self._go_on(conversation)
                return
        self._send(command.text.encode())

    def _not_passed_on(self, conversation: Conversation, why: str) -> None:
        """No turn ends with it, so readers are told in words."""
        log = self._machine.logs.get(conversation.session_id)
        if log is not None:
            problem = f"a message was not passed on: {why}"
            line = events.make(
                "session_status", self._core.clock(), machine="online", problems=[problem]
            )
            self._core.log.append(log, line)

    def _stop(self, session_id: str) -> None:
        self._agent.drop(session_id)
        self._send(encode(DeleteConversation(conversation_id=session_id)))
        self._loop.call_later(limits.MACHINE_CANCEL_GRACE_S, self.stopped, session_id)

    def stopped(self, session_id: str) -> None:
        """The agent has deleted it, or had the time to: its last words are in the log."""
        with self._machine.input() as core:
            core.stopped(session_id)
        if session_id not in self._machine.logs:
            self._agent.drop(session_id)

    def create_missing(self) -> None:
        """Sessions that the agent was never told of: they were made while it was away."""
        for session_id, hosted in list(self._machine.core.sessions.items()):
            if not hosted.session.state.is_closed:
                conversation = self._agent.conversation(session_id)
                if conversation.phase is Phase.NEW:
                    self._go_on(conversation)

    def _go_on(self, conversation: Conversation) -> None:
        """Does the next thing for a conversation that has something to say."""
        if self._is_over:
            return
        say = self._next(conversation.session_id)
        match conversation.phase:
            case Phase.NEW:
                conversation.phase = Phase.STARTING
                self._spawn(self._create_again(conversation))
            case Phase.RESTING if say is not None and not self._is_sent(say):
                conversation.phase = Phase.RESUMING
                wait_s = limits.YEAFT_RESUME_WAIT_S
                conversation.wait(self._loop.call_later(wait_s, self.ready, conversation))
                self._spawn(self._resume(conversation))
            case Phase.READY:
                self._say_held(conversation)

    def _say_held(self, conversation: Conversation) -> None:
        """What waited, in its order. A message behind the turn at work waits for its own."""
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

    def _next(self, session_id: str) -> Say | None:
        """What the session is at, or comes to now: a turn that was ended here is left out."""
        say = self._agent.current.get(session_id)
        if say is not None and self._has_ended(say):
            del self._agent.current[session_id]
            return None
        return say

    async def _create_again(self, conversation: Conversation) -> None:
        start = await self._core.starting.build(conversation.session_id)
        if start is not None and not self._is_over and conversation.phase is Phase.STARTING:
            self._create(conversation, start)

    async def _resume(self, conversation: Conversation) -> None:
        start = await self._core.starting.build(conversation.session_id)
        if start is not None and not self._is_over and conversation.phase is Phase.RESUMING:
            created = self._created(start, conversation)
            self._send(words.opening(start, words.resume(created, conversation.talk)))

    def create_instead(self, conversation: Conversation) -> None:
        """The agent cannot take it up: it has forgotten it, and begins it anew."""
        conversation.wait(None)
        conversation.inward.remote_id = ""
        conversation.phase = Phase.STARTING
        self._spawn(self._create_again(conversation))

    def _created(self, start: Start, conversation: Conversation) -> CreateConversation:
        return words.create(
            start,
            user_id=self._machine.user_id,
            username=self._agent.username,
            work_dir=conversation.work_dir or self._work_dir,
        )

    def _create(self, conversation: Conversation, start: Start) -> None:
        message = self._created(start, conversation)
        conversation.phase = Phase.STARTING
        conversation.provider = str(message.provider)
        conversation.work_dir = message.work_dir if isinstance(message.work_dir, str) else ""
        remote_id = words.resumed(start)
        if remote_id and not conversation.inward.dialect:
            conversation.inward.remote_id = remote_id
            self._send(words.opening(start, words.resume(message, conversation.talk)))
        else:
            self._send(words.opening(start, message))
        wait_s = limits.SESSION_START_TIMEOUT_S
        conversation.wait(self._loop.call_later(wait_s, self._not_started, conversation))

    def _not_started(self, conversation: Conversation) -> None:
        why = f"the session did not start within {limits.SESSION_START_TIMEOUT_S:.0f} s"
        self.start_failed(conversation, why, "SESSION_START_TIMEOUT")

    def start_failed(self, conversation: Conversation, why: str, code: str) -> None:
        """Its messages are in vain; the next one tries again."""
        session_id = conversation.session_id
        _log.warning("conversation did not start", session=session_id, machine=self._machine.id)
        conversation.wait(None)
        conversation.phase = Phase.NEW
        if any(isinstance(one, Forward) for one in conversation.held):
            self._not_passed_on(conversation, why)
        conversation.held.clear()
        self._agent.current.pop(session_id, None)
        with self._machine.input() as core:
            core.not_started(session_id, why, code)

    def ready(self, conversation: Conversation) -> None:
        """The agent has answered, or does not answer such things: what waited goes out."""
        conversation.wait(None)
        conversation.phase = Phase.READY
        self._go_on(conversation)

    def turn_ended(self, session_id: str, turn_id: str) -> None:
        """From whomever. The next one goes out."""
        conversation = self._agent.conversation(session_id)
        if conversation.inward.turn_id == turn_id:
            conversation.inward.end()
        self._agent.forget_questions(session_id)
        say = self._agent.current.get(session_id)
        if say is not None and say.turn_id == turn_id:
            del self._agent.current[session_id]
        if self._next(session_id) is not None:
            self._go_on(conversation)

    def sweep(self, busy: Container[str]) -> None:
        """Once a second: turns that were ended here, not by the agent, and those that may have
        their end. `busy`: the conversations that the agent says it is at."""
        for say in list(self._agent.current.values()):
            if self._has_ended(say):
                self.turn_ended(say.session_id, say.turn_id)
            else:
                self._settle(say, is_busy=say.session_id in busy)

    def _settle(self, say: Say, *, is_busy: bool) -> None:
        conversation, now = self._agent.conversation(say.session_id), self._loop.time()
        pending = conversation.inward.doubtful_end
        if pending is None:
            conversation.doubt = None
        elif is_busy or conversation.doubt is None or conversation.doubt[0] is not pending:
            conversation.doubt = pending, now
        elif now - conversation.doubt[1] >= limits.YEAFT_QUIET_S:
            log = self._machine.logs[say.session_id]
            for line in settle(conversation.inward, self._core.clock()):
                self._core.machines.write(self._machine, log, line)
            if not self._is_sent(say):
                self.turn_ended(say.session_id, say.turn_id)

    def end(self) -> None:
        self._is_over = True
        self._agent.line_ended()

    def _finish(self, say: Say, kind: str, *, is_late: bool = False, **fields: object) -> None:
        with self._machine.input() as core:
            core.finish(say.session_id, say.turn_id, kind, is_late=is_late, **fields)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._core.tasks.spawn(work, "yeaft conversation")
