"""What a translation remembers of a conversation while its agent streams. Pure; `inward` uses it.

The agent's edge keeps one for each conversation; after a restart it is filled again from records
and log.
"""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

import msgspec

from trunkline.wire import events
from trunkline.wire.events import BoundedText
from trunkline.wire.yeaft.output_data import Output

DOCUMENTED: Final = "documented"
"""`session_ready`, `send_message`; a turn ends with its `result`."""
DEPLOYED: Final = "deployed"
"""`conversation_created`, `execute`; a turn ends with `turn_completed` behind its `result`."""

READY: Final = {
    "session_ready": DOCUMENTED,
    "conversation_created": DEPLOYED,
    "conversation_resumed": DEPLOYED,
}
"""The answers to `create_conversation` and `resume_conversation`, and the dialect of each."""

USED: Final = "context_usage"
"""What a deployed agent says whenever its program is done with a turn."""

_OF_TURNS = frozenset(
    ("text_chunk", "thinking", "tool_call_start", "tool_call_complete", "approval_request")
)
"""What an agent says only while it works on a turn."""
_HELD_MAX = 4
_encode = msgspec.json.Encoder().encode


class Person(msgspec.Struct, frozen=True):
    """A virtual person of an agent that runs its groups itself."""

    id: str
    name: str


class Doubt(Enum):
    """Which late messages of an earlier turn may still come: an agent's messages name no turn
    (docs/protocols/yeaft.md#whose-end-it-is)."""

    NOTHING = auto()
    FAILURE = auto()  # the turn has its end; a program that fails behind it may say so again
    END = auto()  # it was cancelled, and may be ended a second time
    WORDS = auto()  # it was ended here: whatever the agent says up to an end may be of it


class DoubtfulEnd(msgspec.Struct, frozen=True):
    """What is taken for the end of the active turn if the agent says no more for a while."""

    texts: tuple[str, ...] = ()
    """Ends that may be an earlier turn's, as they came. Without: the turn ends by itself."""
    error: str = ""
    """Why, where it failed."""
    outweighs_list: bool = False
    """Whether the agent's own list may still call the conversation busy."""


@dataclass(slots=True)
class Inward:
    """One conversation of an agent. A value."""

    conversation_id: str
    machine_id: str
    text_chars_max: int = field(kw_only=True)
    tools_max: int = field(kw_only=True)
    persons_max: int = field(kw_only=True)
    question_timeout_s: float = field(kw_only=True)
    plain_head: str = ""
    dialect: str = ""
    """Empty until the agent's first answer tells it."""
    remote_id: str = ""
    """The agent's own name of the session."""
    spent_usd: float = 0.0
    """What the agent's own session has cost so far, as it last said."""
    turn_id: str | None = None
    """The active turn: an agent's messages name none."""
    turn_field: str = ""
    """The same, as a piece of a log line."""
    is_cancelling: bool = False
    result: Output | None = None
    """What a deployed agent said of the turn's end, before the end."""
    problem: str = ""
    """The last `error` that it said in this turn."""
    persons: dict[str, BoundedText] = field(default_factory=dict)
    """What each virtual person that is still speaking has said in this turn, by id."""
    done: dict[str, str] = field(default_factory=dict)
    """What each person that is done has said in this turn, by name."""
    prompt: str = ""
    """What the turn was opened with: deployed agents repeat it first."""
    answer: BoundedText = field(default_factory=lambda: BoundedText(0))
    has_spoken: bool = False
    """Whether the agent has shown that it works on this turn."""
    was_listed: bool = False
    """Whether it has listed the conversation as its work since it was told of this turn."""
    is_silent: bool = False
    """Whether it has said nothing of the turn yet since its line came back."""
    doubt: Doubt = Doubt.NOTHING
    doubtful_end: DoubtfulEnd | None = None
    doubts: int = 0
    """Counts those ends: the next may read like the one before."""
    is_watched: bool = False
    """Whether the next message may change which turn the agent works on."""
    _tools: dict[str, str] = field(default_factory=dict)
    _running: set[str] = field(default_factory=set)
    """The calls among them that have no result yet."""

    def __post_init__(self) -> None:
        self.plain_head = plain_head(self.conversation_id)
        if not self.answer.chars_max:
            self.answer = BoundedText(self.text_chars_max)

    def begin(self, turn_id: str, prompt: str = "") -> None:
        """From here on, what the agent says is of this turn."""
        self.end()
        self.turn_id = turn_id
        self.turn_field = f',"turn_id":{_encode(turn_id).decode()}'
        self.prompt = prompt
        self.answer = BoundedText(self.text_chars_max)
        self._tools = {}
        self._running = set()
        self._watch()

    def end(self) -> None:
        """The turn has its end, from the agent or from here."""
        self.turn_id = None
        self.turn_field = ""
        self.is_cancelling = False
        self.result = None
        self.problem = ""
        self.persons = {}
        self.done = {}
        self.prompt = ""
        self.has_spoken = False
        self.was_listed = False
        self.is_silent = False
        self.doubtful_end = None
        self._watch()

    def spoke(self, *, is_sure: bool = False) -> None:
        """The agent works on the active turn, and on no earlier one any more."""
        if self.doubt is Doubt.WORDS and not is_sure:
            return
        if self.doubt is Doubt.WORDS or self.has_held:
            self.answer = BoundedText(self.text_chars_max)  # it was the earlier turn's
        if not self.has_spoken:
            self.result = None
        self.has_spoken = self.turn_id is not None
        self.is_silent = False
        self.doubt = Doubt.NOTHING
        self.doubtful_end = None
        self._watch()

    def came_back(self) -> None:
        """The agent has a new line, and has sent its buffer on it."""
        self.is_silent = self.turn_id is not None
        self._watch()

    def expect_late(self, doubt: Doubt) -> None:
        """The active turn was ended here: late messages of it may come, up to what `doubt` says."""
        self.doubt = doubt
        self._watch()

    def hold(self, text: str) -> None:
        """An end that may be an earlier turn's, as may be all that came before it."""
        held = self.doubtful_end.texts if self.doubtful_end is not None else ()
        self.wait(DoubtfulEnd((*held, text)[-_HELD_MAX:]))
        if self.doubt is Doubt.WORDS:
            self.expect_late(Doubt.END)

    @property
    def has_held(self) -> bool:
        return self.doubtful_end is not None and bool(self.doubtful_end.texts)

    def wait(self, end: DoubtfulEnd | None) -> None:
        """This becomes the turn's end if the agent says nothing more for a while."""
        self.doubtful_end = end
        self.doubts += 1
        self._watch()

    def program_done(self) -> None:
        """The agent says next that the turn has ended; but for a second turn that came with files:
        there it says nothing more."""
        is_at_work = self.turn_id is not None and self.has_spoken
        if is_at_work and self.dialect == DEPLOYED and self.doubtful_end is None:
            self.wait(DoubtfulEnd(outweighs_list=True))

    def settle(self) -> DoubtfulEnd | None:
        """Nothing more came: what was in doubt is this turn's."""
        end, self.doubtful_end = self.doubtful_end, None
        self.has_spoken = self.turn_id is not None
        self.doubt = Doubt.NOTHING
        self._watch()
        return end

    def recall(self, event: events.SessionEvent) -> None:
        """An event of the active turn that is in the log, after a restart."""
        if event.type == "text_chunk" and event.person is None:
            self.answer.add(events.text_of(event.content))
        elif event.type == "tool_call_start" and isinstance(event.tool_call_id, str):
            self.note_tool(event.tool_call_id, events.text_of(event.tool_name))
        elif event.type == "tool_call_complete" and isinstance(event.tool_call_id, str):
            self.tool_done(event.tool_call_id)
        if event.type in _OF_TURNS or event.echo is True:
            self.spoke()
        elif event.type == "foreign" and event.name == USED:
            self.program_done()

    def _watch(self) -> None:
        is_open = not self.has_spoken or self.is_silent or self.doubtful_end is not None
        self.is_watched = (self.turn_id is not None and is_open) or self.doubt is Doubt.WORDS

    def answer_of(self, person: Person | None) -> BoundedText:
        if person is None:
            return self.answer
        answer = self.persons.get(person.id)
        if answer is None:
            answer = BoundedText(self.text_chars_max)
            if len(self.persons) < self.persons_max:
                self.persons[person.id] = answer
        return answer

    def note_done(self, person: Person, said: str) -> None:
        if said and len(self.done) < self.persons_max:
            so_far = self.done.get(person.name)
            self.done[person.name] = said if so_far is None else f"{so_far}\n\n{said}"

    @property
    def said(self) -> str:
        """What the agent has answered so far; the answers of its persons under their names."""
        named = {name: said for name, said in self.done.items() if said}
        if not named:
            return self.answer.text
        told = [self.answer.text, *(f"{name}: {said}" for name, said in named.items())]
        return "\n\n".join(one for one in told if one)[: self.text_chars_max]

    def is_echo(self, text: str) -> bool:
        """Whether the agent repeats what the turn was opened with."""
        return bool(text) and text == self.prompt

    def note_tool(self, call_id: str, name: str) -> None:
        events.keep(self._tools, call_id, name, self.tools_max)
        self._running.add(call_id)
        self._running &= self._tools.keys()

    def tool_done(self, call_id: str) -> None:
        self._running.discard(call_id)

    @property
    def has_running_tools(self) -> bool:
        return bool(self._running)

    def tool_of(self, call_id: str) -> str | None:
        return self._tools.get(call_id)


def plain_head(conversation_id: str) -> str:
    """How everybody writes a piece of text, up to the text itself. An envelope that reads like
    this is not kept beside its event: `from_events` makes the same of the event again."""
    return (
        f'{{"type":"claude_output","conversationId":{_encode(conversation_id).decode()},'
        '"data":{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":'
    )
