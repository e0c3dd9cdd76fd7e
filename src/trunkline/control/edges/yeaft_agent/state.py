"""What is known of a Yeaft agent whichever line it is on: its conversations, prompts, questions.

Kept by the host. A conversation is pinned to its agent by `machine.logs`; this only remembers how
far the talk has come.
"""

import asyncio
from enum import Enum, auto
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.machines.machine import Machine
from trunkline.wire.commands import Forward, Say
from trunkline.wire.yeaft.agent import Talk
from trunkline.wire.yeaft.inward_state import DoubtfulEnd, Inward


class Phase(Enum):
    NEW = auto()  # the agent does not know of it
    STARTING = auto()  # told to create it; nothing else is said before it answers
    RESTING = auto()  # it was there on an earlier line, and is taken up again by its next message
    RESUMING = auto()  # told to take it up; not every agent answers that
    READY = auto()


class Conversation:
    """One session on one agent."""

    def __init__(self, machine_id: str, session_id: str) -> None:
        self.session_id = session_id
        self.phase = Phase.NEW
        self.inward = Inward(
            session_id,
            machine_id,
            text_chars_max=limits.YEAFT_ANSWER_CHARS_MAX,
            tools_max=limits.YEAFT_TOOLS_MAX,
            persons_max=limits.GROUP_PERSONS_MAX,
            question_timeout_s=limits.CONFIRM_TIMEOUT_S,
        )
        self.work_dir = ""
        self.provider = ""
        self.held: list[Say | Forward] = []
        """What came while the agent is asked to create it or to take it up, in its order."""
        self.doubt: tuple[DoubtfulEnd, float] | None = None
        """What may be the turn's end, and since when the agent has said nothing more."""
        self.timer: asyncio.TimerHandle | None = None
        self.saved: dict[str, Any] = {}
        """What its record holds of it."""

    @property
    def talk(self) -> Talk:
        return Talk(
            conversation_id=self.session_id,
            dialect=self.inward.dialect,
            remote_id=self.inward.remote_id,
            work_dir=self.work_dir,
            provider=self.provider,
        )

    def remote(self, machine_id: str) -> dict[str, Any]:
        """What is to be kept of it over restarts."""
        return {
            "machine_id": machine_id,
            "session_id": self.inward.remote_id,
            "dialect": self.inward.dialect,
            "work_dir": self.work_dir,
            "provider": self.provider,
        }

    def recall(self, machine_id: str, remote: Any) -> None:
        """Its record. What another agent called it means nothing to this one."""
        if not isinstance(remote, dict) or remote.get("machine_id") != machine_id:
            return
        self.saved = remote
        self.phase = Phase.RESTING
        self.inward.remote_id = str(remote.get("session_id") or "")
        self.inward.dialect = str(remote.get("dialect") or "")
        self.work_dir = str(remote.get("work_dir") or "")
        self.provider = str(remote.get("provider") or "")

    def is_there(self) -> None:
        """The agent says that it has it: then it need not be taken up again, which would end
        what runs in it."""
        if self.phase is Phase.RESTING:
            self.phase = Phase.READY

    def wait(self, timer: asyncio.TimerHandle | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = timer


class Question(msgspec.Struct):
    """A question that waits for a person."""

    deadline_ms: int
    questions: list[str]
    """The names under which the agent wants its answers; empty where it wants one."""


class Agent:
    """One machine of kind `yeaft`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.username = ""
        self.current: dict[str, Say] = {}
        """The message that each conversation is at, or comes to as soon as it can be talked to."""
        self.questions: dict[tuple[str, str], Question] = {}
        self._conversations: dict[str, Conversation] = {}
        self.by_head: dict[str, Inward] = {}
        """Their streams, by how each one's plain pieces of text begin."""

    def conversation(self, session_id: str) -> Conversation:
        """Of a session that is this machine's."""
        found = self._conversations.get(session_id)
        if found is None:
            found = self._conversations[session_id] = Conversation(self.machine.id, session_id)
            self.by_head[found.inward.plain_head] = found.inward
        return found

    def stream(self, session_id: str) -> Inward | None:
        """What is remembered of it while the agent streams, if the two have talked of it."""
        found = self._conversations.get(session_id)
        return found.inward if found is not None else None

    def hold(self, one: Say | Forward) -> bool:
        """Keeps the place of what came while its conversation cannot be talked to; False if there
        is no room. Messages that open turns are kept in `current`."""
        held = self.conversation(one.session_id).held
        chars = len(one.text) if isinstance(one, Forward) else 0
        has_room = self._held_chars() + chars <= limits.YEAFT_FORWARDS_CHARS_MAX
        if has_room and len(held) < limits.YEAFT_FORWARDS_MAX:
            held.append(one)
            return True
        return False

    def _held_chars(self) -> int:
        held = (one for known in self._conversations.values() for one in known.held)
        return sum(len(one.text) for one in held if isinstance(one, Forward))

    def drop(self, session_id: str) -> None:
        """The session is this machine's no more."""
        self.current.pop(session_id, None)
        self.forget_questions(session_id)
        conversation = self._conversations.pop(session_id, None)
        if conversation is not None:
            del self.by_head[conversation.inward.plain_head]
            conversation.wait(None)

    def tidy(self) -> None:
        """Drops what was closed or moved away."""
        for session_id in [one for one in self._conversations if one not in self.machine.logs]:
            self.drop(session_id)

    def line_ended(self) -> None:
        """What the next line has to say again, before anything else of a conversation."""
        for conversation in self._conversations.values():
            conversation.wait(None)
            if conversation.phase is Phase.STARTING:
                conversation.phase = Phase.NEW
            elif conversation.phase is not Phase.NEW:
                conversation.phase = Phase.RESTING

    def forget_questions(self, session_id: str) -> None:
        for key in [one for one in self.questions if one[0] == session_id]:
            del self.questions[key]
