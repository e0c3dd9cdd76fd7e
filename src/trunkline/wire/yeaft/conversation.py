"""One conversation with a Yeaft agent: how far the talk has come, on whichever line. Pure.

`AgentTalk` keeps one for each session that its agent has.
"""

from enum import Enum, auto
from typing import Any

import msgspec

from trunkline.wire.commands import Forward, Say
from trunkline.wire.yeaft.agent import Talk
from trunkline.wire.yeaft.inward_state import Inward
from trunkline.wire.yeaft.messages import Ready
from trunkline.wire.yeaft.provider_turn import ProviderTurn


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent and a conversation may take, in room and in time."""

    answer_chars_max: int
    tools_max: int
    persons_max: int
    questions_max: int
    question_chars_max: int
    question_timeout_s: float
    name_chars_max: int
    path_chars_max: int
    forwards_max: int
    """Of one conversation, that wait for its agent."""
    forwards_chars_max: int
    """Of all conversations together."""
    start_timeout_s: float
    resume_wait_s: float
    """For an answer to `resume_conversation`, which some agents do not give."""
    cancel_grace_s: float
    quiet_s: float
    """An agent that says no more for so long has ended its turn, if it may have."""
    silence_s: float
    """An agent that came back, and says nothing for so long of a turn that it had begun, has lost
    it."""
    busy_silence_s: float
    """The same, where it lists the turn as its work."""


class Phase(Enum):
    NEW = auto()  # the agent does not know of it
    STARTING = auto()  # told to create it; nothing else is said before it answers
    RESTING = auto()  # it was there on an earlier line, and is taken up again by its next message
    RESUMING = auto()  # told to take it up; not every agent answers that
    READY = auto()


class Conversation(msgspec.Struct):
    """One session on one agent. A value."""

    machine_id: str
    session_id: str
    inward: Inward
    provider_turn: ProviderTurn
    """Of an agent that sends its provider's own events."""
    phase: Phase = Phase.NEW
    work_dir: str = ""
    provider: str = ""
    held: list[Say | Forward] = []
    """What came while the agent is asked to create it or to take it up, in its order."""
    doubt: tuple[int, float] | None = None
    """The number of what may be the turn's end, and since when the agent has said nothing more."""
    silent_s: float | None = None
    """Since when the agent, which came back, should have said something of its turn."""
    fetch: int = 0
    """The number of the `Fetch` whose `Start` it waits for; 0: of none."""
    deadline_s: float | None = None
    """Until when the agent may take to create it, or to take it up."""
    saved: dict[str, Any] = {}
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

    @property
    def remote(self) -> dict[str, Any]:
        """What is to be kept of it over restarts."""
        return {
            "machine_id": self.machine_id,
            "session_id": self.inward.remote_id,
            "dialect": self.inward.dialect,
            "work_dir": self.work_dir,
            "provider": self.provider,
            "spent_usd": self.inward.spent_usd,
        }

    def recall(self, remote: Any) -> None:
        """Its record. What another agent called it means nothing to this one."""
        if not isinstance(remote, dict) or remote.get("machine_id") != self.machine_id:
            return
        self.saved = remote
        self.phase = Phase.RESTING
        self.inward.remote_id = str(remote.get("session_id") or "")
        self.inward.dialect = str(remote.get("dialect") or "")
        self.work_dir = str(remote.get("work_dir") or "")
        self.provider = str(remote.get("provider") or "")
        spent = remote.get("spent_usd")
        self.inward.spent_usd = float(spent) if isinstance(spent, int | float) else 0.0

    @property
    def is_saved(self) -> bool:
        """Whether its record holds what its agent says of itself in passing."""
        own = self.inward.remote_id, self.inward.spent_usd
        return own == (self.saved.get("session_id", ""), self.saved.get("spent_usd", 0.0))

    def note_ready(self, message: Ready, bounds: Bounds) -> None:
        """What the agent says of a conversation that it has created or taken up."""
        if isinstance(message.work_dir, str):
            self.work_dir = message.work_dir[: bounds.path_chars_max]
        if isinstance(message.provider, str):
            self.provider = message.provider[: bounds.name_chars_max]

    def is_there(self) -> None:
        """The agent says that it has it: then it need not be taken up again, which would end
        what runs in it."""
        if self.phase is Phase.RESTING:
            self.phase = Phase.READY

    def enter(self, phase: Phase) -> None:
        self.phase, self.deadline_s, self.fetch = phase, None, 0

    def unheard(self) -> None:
        """The agent may have spoken: it is we who did not listen."""
        self.doubt = self.silent_s = None

    def line_down(self) -> None:
        """What the next line has to say again, before anything else. Messages that wait here are
        told again by the core."""
        self.held = [one for one in self.held if isinstance(one, Forward)]
        self.silent_s = None
        if self.phase in (Phase.NEW, Phase.STARTING):
            self.enter(Phase.NEW)
        else:
            self.enter(Phase.RESTING)


def new_conversation(machine_id: str, session_id: str, bounds: Bounds) -> Conversation:
    inward = Inward(
        session_id,
        machine_id,
        text_chars_max=bounds.answer_chars_max,
        tools_max=bounds.tools_max,
        persons_max=bounds.persons_max,
        question_timeout_s=bounds.question_timeout_s,
    )
    return Conversation(machine_id, session_id, inward, ProviderTurn(session_id))
