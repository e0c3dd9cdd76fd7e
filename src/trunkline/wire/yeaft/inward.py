"""What an agent says of a conversation, as events for the session's log. Pure.

The envelope travels with the first event made of it, as it came: a Yeaft client gets it back
unread, and whatever no event can express is still there.
"""

import msgspec

from trunkline.wire import events
from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec, names, plain
from trunkline.wire.yeaft.inward_state import READY, USED, Doubt, Inward, Person
from trunkline.wire.yeaft.inward_turns import (
    ENDINGS,
    ERROR_CHARS_MAX,
    NAME_CHARS_MAX,
    Event,
    ended_by_itself,
    failed,
    is_doubtful,
    line_of,
    note_remote_id,
    result,
    turn_over,
)
from trunkline.wire.yeaft.messages import Ended, Envelope, Question, Ready, Speaker
from trunkline.wire.yeaft.output_data import Block, Output, shown
from trunkline.wire.yeaft.questions import asked

_RAW_BEFORE = ',"raw":{"protocol":"yeaft"}}'


def to_events(state: Inward, envelope: Envelope, text: str, ts: int) -> list[str]:
    """The message as lines of the log: whatever it says is kept, but for an end that may be an
    earlier turn's. That one is held in `state.doubtful_end`."""
    if state.is_watched and state.turn_id is not None and is_doubtful(state, envelope, text):
        state.hold(text)
        return []
    if text[plain.HEAD] == state.plain_head and state.doubt is not Doubt.WORDS:
        if state.is_watched:
            state.spoke()
        line = plain.to_line(state, text)
        if line is not None:
            return [line]
    was_there = state.dialect
    try:
        lines = _lines(state, envelope, text, ts)
    except Malformed:
        lines = []
    if not lines:
        lines = [_foreign(state, envelope.type, ts)]
    elif was_there and envelope.type == "conversation_resumed":
        return lines  # the answer to us, with a history that everybody has
    first, *others = lines
    return [f"{first[:-1]}{plain.RAW}{text}}}}}", *(line[:-1] + _RAW_BEFORE for line in others)]


def settle(state: Inward, ts: int) -> list[str]:
    """The agent has said nothing more for a while: the doubtful end is the active turn's."""
    end = state.settle()
    if end is None or state.turn_id is None:
        return []
    if not end.texts:
        return [ended_by_itself(state, end, ts)]
    return [line for text in end.texts for line in to_events(state, codec.decode(text), text, ts)]


def _foreign(state: Inward, name: str, ts: int, *, echo: bool = False) -> str:
    return events.line(
        "foreign",
        protocol="yeaft",
        name=name[:NAME_CHARS_MAX],
        echo=echo or None,
        turn_id=state.turn_id,
        ts=ts,
    )


def _lines(state: Inward, envelope: Envelope, text: str, ts: int) -> list[str]:
    """What the message means for the session; nothing, if it means nothing to it."""
    match names.canonical(envelope.type):
        case "claude_output":
            return _output(state, envelope, None, ts)
        case "yeaft_output":
            return _output(state, envelope, _speaker(text), ts)
        case "ask_user_question":
            question = codec.read(text, Question)
            state.spoke()
            return [_question(state, question, ts)]
        case name if name in READY:
            return [_ready(state, codec.read(text, Ready), ts)]
        case name if name in ENDINGS:
            return turn_over(state, name, codec.read(text, Ended), ts)
        case "session_id_update":
            note_remote_id(state, codec.read(text, Ended))
        case "error":
            failed(state, codec.read(text, Ended))
        case name if name == USED:
            state.program_done()
    return []


def _speaker(text: str) -> Person | None:
    """The virtual person whose words these are, where an agent runs its groups itself."""
    if '"vpId"' not in text:
        return None
    speaker = codec.read(text, Speaker)
    if not isinstance(speaker.vp_id, str) or not speaker.vp_id:
        return None
    name = speaker.vp_name if isinstance(speaker.vp_name, str) else speaker.vp_id
    return Person(speaker.vp_id[:NAME_CHARS_MAX], name[:NAME_CHARS_MAX])


def _output(state: Inward, envelope: Envelope, person: Person | None, ts: int) -> list[str]:
    output = codec.read(envelope.data, Output)
    match output.type:
        case "assistant":
            return _words(state, output, person, ts)
        case "user" if state.is_echo(output.text):
            state.spoke(is_sure=True)
            return [_foreign(state, envelope.type, ts, echo=True)]
        case "user":
            return _words(state, output, person, ts)
        case "result":
            return result(state, output, person, ts)
        case "system":
            return _system(state, output, person, ts)
    return []


def _words(state: Inward, output: Output, person: Person | None, ts: int) -> list[str]:
    """What the agent says, and what its tools give back."""
    if state.doubt is Doubt.WORDS:
        # Of a turn that was ended here, or else all there is of this one's answer.
        state.answer.add(output.text if output.type == "assistant" else "")
        return []
    state.spoke()
    make = _said if output.type == "assistant" else _tool_result
    made = [make(state, block, person) for block in output.blocks]
    return [line_of(state, event, ts) for event in made if event is not None]


def _said(state: Inward, block: Block, person: Person | None) -> Event | None:
    match block.type:
        case "text" if block.text:
            said = events.text_of(block.text)
            state.answer_of(person).add(said)
            return Event("text_chunk", content=said, person=person)
        case "thinking" if block.thinking:
            thought = events.text_of(block.thinking)
            return Event("thinking", content=thought, stage="reasoning", person=person)
        case "tool_use":
            call_id, name = events.text_of(block.id), events.text_of(block.name)
            state.note_tool(call_id, name)
            return Event(
                "tool_call_start",
                tool_call_id=call_id,
                tool_name=name,
                tool_input=block.input or msgspec.Raw(b"{}"),
                person=person,
            )
    return None


def _tool_result(state: Inward, block: Block, person: Person | None) -> Event | None:
    """A user's own words are in the log already."""
    if block.type != "tool_result":
        return None
    call_id = events.text_of(block.tool_use_id)
    state.tool_done(call_id)
    return Event(
        "tool_call_complete",
        tool_call_id=call_id,
        tool_name=state.tool_of(call_id) or "tool",
        result=shown(block.content),
        is_error=bool(block.is_error),
        person=person,
    )


def _system(state: Inward, output: Output, person: Person | None, ts: int) -> list[str]:
    if isinstance(output.session_id, str) and output.session_id:
        state.remote_id = output.session_id[:NAME_CHARS_MAX]
    if output.subtype == "tool_progress":
        return _progress(state, output, person, ts)
    if output.subtype != "error":
        return []
    said = output.message if isinstance(output.message, str) else output.error
    problem = events.text_of(said)[:ERROR_CHARS_MAX] or "the agent reports an error"
    state.problem = problem  # a `result` that fails does not say why
    return [
        events.line(
            "session_status", machine="online", problems=[problem], turn_id=state.turn_id, ts=ts
        )
    ]


def _progress(state: Inward, output: Output, person: Person | None, ts: int) -> list[str]:
    """What a tool of this turn has put out so far: Trunkline's addition, of our own machines."""
    call_id = events.text_of(output.tool_use_id)
    name = state.tool_of(call_id)
    if name is None or state.doubt is Doubt.WORDS:
        return []
    state.spoke()
    event = Event(
        "tool_call_progress",
        tool_call_id=call_id,
        tool_name=name,
        content=events.text_of(output.content),
        person=person,
    )
    return [line_of(state, event, ts)]


def _ready(state: Inward, message: Ready, ts: int) -> str:
    is_again = state.dialect != ""
    state.dialect = READY[message.type]
    state.spent_usd = 0.0  # whatever runs there now has cost nothing yet
    if state.doubt is Doubt.WORDS:
        state.expect_late(Doubt.END)  # it was taken up anew: nothing of the earlier turn runs on
    note_remote_id(state, message)
    ready = {
        "session_id": state.remote_id or None,
        "capabilities": message.capabilities,
        "model_info": message.model_info,
        "provider": message.provider,
        "work_dir": message.work_dir,
        "again": is_again or None,
    }
    given = {name: value for name, value in ready.items() if value is not None}
    return events.line(
        "session_status", machine="online", machine_id=state.machine_id, ready=given, ts=ts
    )


def _question(state: Inward, message: Question, ts: int) -> str:
    question = asked(message)
    return events.line(
        "approval_request",
        request_id=message.request_id,
        kind=question.kind,
        message=question.message,
        options=question.options or None,
        multi_select=question.multi_select or None,
        questions=question.questions or None,
        tool_name=question.tool_name,
        tool_input=question.tool_input,
        truncated=question.is_cut or None,
        timeout_seconds=state.question_timeout_s,
        turn_id=state.turn_id,
        ts=ts,
    )
