"""What an agent says of a conversation, as events for the session's log. Pure.

The envelope travels with the first event made of it, as it came: a Yeaft client gets it back
unread, and whatever no event can express is still there.
"""

from typing import Any, Final

import msgspec

from trunkline.wire import events
from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec, names, plain
from trunkline.wire.yeaft.answers import Person
from trunkline.wire.yeaft.messages import Ended, Envelope, Question, Ready, Speaker
from trunkline.wire.yeaft.output import TOO_MANY_TURNS, Block, Output, shown, usage_of
from trunkline.wire.yeaft.questions import asked
from trunkline.wire.yeaft.stream import DEPLOYED, READY, Inward

AGENT_ERROR: Final = "AGENT_ERROR"
TURN_LIMIT: Final = "TURN_LIMIT"
SESSION_CRASHED: Final = "SESSION_CRASHED"
"""Codes of `execution_error` (docs/protocols/events.md)."""

ENDINGS: Final = frozenset(
    ("turn_completed", "execution_cancelled", "conversation_closed", "conversation_deleted")
)
"""What ends a turn, if one is at work, besides a `result`."""

_RAW = ',"raw":{"protocol":"yeaft","message":'
_RAW_BEFORE = ',"raw":{"protocol":"yeaft"}}'
_NAME_CHARS_MAX = 200
_ERROR_CHARS_MAX = 4_000

_encode = msgspec.json.Encoder().encode


class _Event(msgspec.Struct, omit_defaults=True, gc=False):
    """An event of the log as it is written; `events.SessionEvent` is how it is read."""

    type: str
    content: str | None = None
    turn_id: str | None = None
    ts: int | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_input: msgspec.Raw | None = None
    result: str | None = None
    is_error: bool | None = None
    stage: str | None = None
    error: str | None = None
    code: str | None = None
    cancelled: bool | None = None
    exit_code: int | None = None
    person: Person | None = None


def to_events(state: Inward, envelope: Envelope, text: str, ts: int) -> list[str]:
    """The message as lines of the log: at least one, because whatever it says is kept."""
    if text.startswith(state.plain_head):
        line = plain.to_line(state, text, ts)
        if line is not None:
            return [line]
    try:
        lines = _lines(state, envelope, text, ts)
    except Malformed:
        lines = []
    if not lines:
        name = envelope.type[:_NAME_CHARS_MAX]
        lines = [events.line("foreign", protocol="yeaft", name=name, turn_id=state.turn_id, ts=ts)]
    first, *others = lines
    return [f"{first[:-1]}{_RAW}{text}}}}}", *(line[:-1] + _RAW_BEFORE for line in others)]


def _lines(state: Inward, envelope: Envelope, text: str, ts: int) -> list[str]:
    """What the message means for the session; nothing, if it means nothing to it."""
    match names.canonical(envelope.type):
        case "claude_output":
            return _output(state, envelope, None, ts)
        case "yeaft_output":
            return _output(state, envelope, _speaker(text), ts)
        case "ask_user_question":
            return [_question(state, codec.read(text, Question), ts)]
        case name if name in READY:
            return [_ready(state, codec.read(text, Ready), ts)]
        case name if name in ENDINGS:
            return _turn_over(state, name, codec.read(text, Ended), ts)
        case "session_id_update":
            _note_remote_id(state, codec.read(text, Ended))
        case "error":
            state.problem = _problem(codec.read(text, Ended)) or state.problem
    return []


def _line(state: Inward, event: _Event, ts: int) -> str:
    event.turn_id = state.turn_id
    event.ts = ts
    return _encode(event).decode()


# --- claude_output, yeaft_output -----------------------------------------------------------------


def _speaker(text: str) -> Person | None:
    """The virtual person whose words these are, where an agent runs its groups itself."""
    if '"vpId"' not in text:
        return None
    speaker = codec.read(text, Speaker)
    if not isinstance(speaker.vp_id, str) or not speaker.vp_id:
        return None
    name = speaker.vp_name if isinstance(speaker.vp_name, str) else speaker.vp_id
    return Person(speaker.vp_id[:_NAME_CHARS_MAX], name[:_NAME_CHARS_MAX])


def _output(state: Inward, envelope: Envelope, person: Person | None, ts: int) -> list[str]:
    output = codec.read(envelope.data, Output)
    match output.type:
        case "assistant":
            made = [_said(state, block, person) for block in output.blocks]
        case "user":
            made = [_tool_result(state, block, person) for block in output.blocks]
        case "result":
            return _result(state, output, person, ts)
        case "system":
            return _system(state, output, ts)
        case _:
            return []
    return [_line(state, event, ts) for event in made if event is not None]


def _said(state: Inward, block: Block, person: Person | None) -> _Event | None:
    match block.type:
        case "text" if block.text:
            said = events.text_of(block.text)
            state.answer_of(person).add(said)
            return _Event("text_chunk", content=said, person=person)
        case "thinking" if block.thinking:
            thought = events.text_of(block.thinking)
            return _Event("thinking", content=thought, stage="reasoning", person=person)
        case "tool_use":
            call_id, name = events.text_of(block.id), events.text_of(block.name)
            state.note_tool(call_id, name)
            return _Event(
                "tool_call_start",
                tool_call_id=call_id,
                tool_name=name,
                tool_input=block.input or msgspec.Raw(b"{}"),
                person=person,
            )
    return None


def _tool_result(state: Inward, block: Block, person: Person | None) -> _Event | None:
    """A user's own words are in the log already: here they only come back."""
    if block.type != "tool_result":
        return None
    call_id = events.text_of(block.tool_use_id)
    return _Event(
        "tool_call_complete",
        tool_call_id=call_id,
        tool_name=state.tool_of(call_id) or "tool",
        result=shown(block.content),
        is_error=bool(block.is_error),
        person=person,
    )


def _system(state: Inward, output: Output, ts: int) -> list[str]:
    if isinstance(output.session_id, str) and output.session_id:
        state.remote_id = output.session_id[:_NAME_CHARS_MAX]
    if output.subtype != "error":
        return []
    said = output.message if isinstance(output.message, str) else output.error
    problem = events.text_of(said)[:_ERROR_CHARS_MAX] or "the agent reports an error"
    state.problem = problem  # 002: a `result` that fails does not say why
    return [
        events.line(
            "session_status", machine="online", problems=[problem], turn_id=state.turn_id, ts=ts
        )
    ]


def _result(state: Inward, output: Output, person: Person | None, ts: int) -> list[str]:
    if isinstance(output.session_id, str) and output.session_id and person is None:
        state.remote_id = output.session_id[:_NAME_CHARS_MAX]
    lines = []
    usage = usage_of(output)
    if usage is not None:
        found = msgspec.structs.asdict(usage)
        lines.append(events.line("usage", **found, person=person, turn_id=state.turn_id, ts=ts))
    if person is not None:
        lines.append(_line(state, _person_done(state, output, person), ts))
        is_last = not state.persons
        if state.turn_id is None or not is_last or state.dialect == DEPLOYED:
            return lines
        output = Output("result")  # the persons have said it all
    elif state.turn_id is None:
        return lines
    elif state.dialect == DEPLOYED:
        state.result = output
        return lines
    return [*lines, _end(state, _end_of(state, output), ts)]


def _person_done(state: Inward, output: Output, person: Person) -> _Event:
    said = state.answer_of(person).text
    state.persons.pop(person.id, None)
    if output.has_failed and not state.is_cancelling:
        error, code = _failure(state, output)
        return _Event("person_error", error=error, code=code, person=person)
    is_cut = output.has_failed or None
    return _Event("person_complete", content=said, cancelled=is_cut, person=person)


# --- Ends -----------------------------------------------------------------------------------------


def _turn_over(state: Inward, name: str, message: Ended, ts: int) -> list[str]:
    """How a deployed agent says that a turn is over, or that its program is gone."""
    _note_remote_id(state, message)
    if state.turn_id is None:
        return []
    if name == "execution_cancelled":
        event = _Event("execution_complete", content=state.answer.text, cancelled=True)
    elif name == "turn_completed" or state.result is not None:
        event = _end_of(state, state.result or Output("result"))
    elif state.is_cancelling:
        event = _Event("execution_complete", content=state.answer.text, cancelled=True)
    else:
        why = _problem(message) or state.problem
        event = _Event(
            "execution_error",
            error=why or "the agent's program ended in the middle of the turn",
            code=SESSION_CRASHED,
            exit_code=message.exit_code if type(message.exit_code) is int else None,
        )
    return [_end(state, event, ts)]


def _end_of(state: Inward, output: Output) -> _Event:
    said = output.result if isinstance(output.result, str) and output.result else state.answer.text
    if not output.has_failed:
        return _Event("execution_complete", content=said)
    if state.is_cancelling:
        return _Event("execution_complete", content=state.answer.text, cancelled=True)
    error, code = _failure(state, output)
    return _Event("execution_error", error=error, code=code)


def _failure(state: Inward, output: Output) -> tuple[str, str]:
    said = events.text_of(output.error) or (
        output.result if isinstance(output.result, str) else state.problem
    )
    if output.subtype == TOO_MANY_TURNS:
        return said[:_ERROR_CHARS_MAX] or "the agent took as many turns as it may", TURN_LIMIT
    return said[:_ERROR_CHARS_MAX] or "the agent failed in the middle of the turn", AGENT_ERROR


def _end(state: Inward, event: _Event, ts: int) -> str:
    line = _line(state, event, ts)
    state.end()
    return line


# --- The rest -------------------------------------------------------------------------------------


def _ready(state: Inward, message: Ready, ts: int) -> str:
    state.dialect = READY[message.type]
    _note_remote_id(state, message)
    ready = {
        "session_id": state.remote_id or None,
        "capabilities": message.capabilities,
        "model_info": message.model_info,
        "provider": message.provider,
        "work_dir": message.work_dir,
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
        timeout_seconds=state.question_timeout_s,
        turn_id=state.turn_id,
        ts=ts,
    )


def _note_remote_id(state: Inward, message: Ready | Ended) -> None:
    """Deployed agents call it `claudeSessionId`."""
    for given in (message.session_id, message.claude_session_id):
        if isinstance(given, str) and given:
            state.remote_id = given[:_NAME_CHARS_MAX]


def _problem(message: Ended) -> str:
    said: Any = message.message if message.message is not None else message.error
    return events.text_of(said)[:_ERROR_CHARS_MAX]
