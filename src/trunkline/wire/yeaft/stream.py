"""What has to be remembered of a conversation while its agent streams. Pure; `to_events` uses it.

Lives with the agent in its edge's host; after a restart it is filled again from records and log.
"""

from typing import Final

import msgspec

from trunkline.wire import events
from trunkline.wire.yeaft.answers import Answer, Person
from trunkline.wire.yeaft.output import Output

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

_encode = msgspec.json.Encoder().encode


class Inward:
    """One conversation of an agent."""

    def __init__(
        self,
        conversation_id: str,
        machine_id: str,
        *,
        text_chars_max: int,
        tools_max: int,
        persons_max: int,
        question_timeout_s: float,
    ) -> None:
        self.conversation_id = conversation_id
        self.machine_id = machine_id
        self.dialect = ""
        """Empty until the agent's first answer tells it."""
        self.remote_id = ""
        """The agent's own name of the session."""
        self.turn_id: str | None = None
        """The turn at work: an agent's words name none."""
        self.turn_field = ""
        """The same, as a piece of a log line."""
        self.is_cancelling = False
        self.result: Output | None = None
        """What a deployed agent said of the turn's end, before the end."""
        self.problem = ""
        """The last `error` that it said in this turn."""
        self.persons: dict[str, Answer] = {}
        """What those virtual persons say that have spoken in this turn and are not done."""
        self.question_timeout_s = question_timeout_s
        self.plain_head = plain_head(conversation_id)
        self._text_chars_max = text_chars_max
        self._tools_max = tools_max
        self._persons_max = persons_max
        self.answer = Answer(text_chars_max)
        self._tools: dict[str, str] = {}

    # --- Turns ------------------------------------------------------------------------------------

    def begin(self, turn_id: str) -> None:
        """From here on, what the agent says is of this turn."""
        self.end()
        self.turn_id = turn_id
        self.turn_field = f',"turn_id":{_encode(turn_id).decode()}'
        self.answer = Answer(self._text_chars_max)
        self._tools = {}

    def end(self) -> None:
        """The turn has its end, from whomever."""
        self.turn_id = None
        self.turn_field = ""
        self.is_cancelling = False
        self.result = None
        self.problem = ""
        self.persons = {}

    def recall(self, event: events.SessionEvent) -> None:
        """An event of the turn at work that is in the log, after a restart."""
        if event.type == "text_chunk" and event.person is None:
            self.answer.add(events.text_of(event.content))
        elif event.type == "tool_call_start" and isinstance(event.tool_call_id, str):
            self.note_tool(event.tool_call_id, events.text_of(event.tool_name))

    # --- Who says what ----------------------------------------------------------------------------

    def answer_of(self, person: Person | None) -> Answer:
        if person is None:
            return self.answer
        answer = self.persons.get(person.id)
        if answer is None:
            answer = Answer(self._text_chars_max)
            if len(self.persons) < self._persons_max:
                self.persons[person.id] = answer
        return answer

    def note_tool(self, call_id: str, name: str) -> None:
        self._tools[call_id] = name
        if len(self._tools) > self._tools_max:
            del self._tools[next(iter(self._tools))]

    def tool_of(self, call_id: str) -> str | None:
        return self._tools.get(call_id)


def plain_head(conversation_id: str) -> str:
    """How everybody writes a piece of text, up to the text itself. An envelope that reads like
    this is not kept beside its event: `from_events` makes the same of the event again."""
    return (
        f'{{"type":"claude_output","conversationId":{_encode(conversation_id).decode()},'
        '"data":{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":'
    )
