"""How a turn ends: what an agent says of it, in whichever dialect, and what is made of that. Pure.

Called by `inward`, which keeps the envelopes. An agent's messages name no turn, so an end may be a
late one of an earlier turn: `Doubt` says which late messages may come.
"""

from typing import Any, Final

import msgspec

from trunkline.wire import events
from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec, names
from trunkline.wire.yeaft.inward_state import DEPLOYED, USED, Doubt, DoubtfulEnd, Inward, Person
from trunkline.wire.yeaft.messages import Ended, Envelope, OfSession
from trunkline.wire.yeaft.output_data import Output, usage_of
from trunkline.wire.yeaft.stream_json import TOO_MANY_TURNS

AGENT_ERROR: Final = "AGENT_ERROR"
TURN_LIMIT: Final = "TURN_LIMIT"
SESSION_CRASHED: Final = "SESSION_CRASHED"
"""Codes of `execution_error` (docs/protocols/events.md)."""

ENDINGS: Final = frozenset(
    ("turn_completed", "execution_cancelled", "conversation_closed", "conversation_deleted")
)
"""What ends the active turn, besides a `result`."""

NAME_CHARS_MAX: Final = 200
ERROR_CHARS_MAX: Final = 4_000

_DOUBTFUL = frozenset(("turn_completed", "execution_cancelled"))

_encode = msgspec.json.Encoder().encode


class Event(msgspec.Struct, omit_defaults=True, gc=False):
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


def line_of(state: Inward, event: Event, ts: int) -> str:
    event.turn_id = state.turn_id
    if event.type != "text_chunk":  # pieces follow each other; `plain` leaves it out too
        event.ts = ts
    return _encode(event).decode()


def is_doubtful(state: Inward, envelope: Envelope, text: str) -> bool:
    """Whether the message is an end that came before the active turn has said anything, and may
    be that of the turn before."""
    if state.has_spoken or state.is_cancelling or state.doubt is Doubt.NOTHING:
        return False
    name = names.canonical(envelope.type)
    if name == USED:
        return state.doubt is Doubt.WORDS
    if name in _DOUBTFUL:
        return state.doubt is not Doubt.FAILURE or state.has_held
    if name not in names.OUTPUT or '"vpId"' in text:
        return False
    try:
        output = codec.read(envelope.data, Output)
    except Malformed:
        return False
    is_result = output.type == "result"
    return is_result and (output.has_failed or state.doubt is not Doubt.FAILURE)


def result(state: Inward, output: Output, person: Person | None, ts: int) -> list[str]:
    if isinstance(output.session_id, str) and output.session_id and person is None:
        state.remote_id = output.session_id[:NAME_CHARS_MAX]
    lines = []
    usage = usage_of(output)
    if usage is not None:
        if person is None and state.dialect == DEPLOYED:
            usage.cost_usd = _cost_of_turn(state, usage.cost_usd)
        found = msgspec.structs.asdict(usage)
        lines.append(events.line("usage", **found, person=person, turn_id=state.turn_id, ts=ts))
    if person is not None:
        state.spoke()
        lines.append(line_of(state, _person_done(state, output, person), ts))
        if state.turn_id is not None and not state.persons:
            state.wait(DoubtfulEnd())  # another one may be about to speak
    elif state.turn_id is None:
        _late_end(state)
    elif state.dialect == DEPLOYED:
        state.result = output
        state.is_silent = False
    else:
        lines.append(_end(state, _end_of(state, output), ts))
    return lines


def _cost_of_turn(state: Inward, total_usd: float | None) -> float | None:
    """A deployed agent's total grows over the turns of its session. One that is less than before
    is that of a program which was started anew."""
    if total_usd is None:
        return None
    before, state.spent_usd = state.spent_usd, total_usd
    return round(total_usd - before, 9) if total_usd >= before else total_usd


def _person_done(state: Inward, output: Output, person: Person) -> Event:
    """The turn goes on: others may speak yet."""
    said = state.answer_of(person).text
    state.persons.pop(person.id, None)
    state.note_done(person, said)
    if output.has_failed and not state.is_cancelling:
        error, code = _failure(state, output)
        return Event("person_error", error=error, code=code, person=person)
    is_cut = output.has_failed or None
    return Event("person_complete", content=said, cancelled=is_cut, person=person)


def turn_over(state: Inward, name: str, message: Ended, ts: int) -> list[str]:
    """How a deployed agent says that a turn is over, or that its program is gone."""
    note_remote_id(state, message)
    if state.turn_id is None:
        _late_end(state)
        return []
    if name == "execution_cancelled":
        event = Event("execution_complete", content=state.said, cancelled=True)
    elif name == "turn_completed" or state.result is not None:
        event = _end_of(state, state.result or Output("result"))
    elif state.is_cancelling:
        event = Event("execution_complete", content=state.said, cancelled=True)
    else:
        why = problem_of(message) or state.problem
        event = Event(
            "execution_error",
            error=why or "the agent's program ended in the middle of the turn",
            code=SESSION_CRASHED,
            exit_code=message.exit_code if type(message.exit_code) is int else None,
        )
    return [_end(state, event, ts)]


def _end_of(state: Inward, output: Output) -> Event:
    said = output.result if isinstance(output.result, str) and output.result else state.said
    if not output.has_failed:
        return Event("execution_complete", content=said)
    if state.is_cancelling:
        return Event("execution_complete", content=state.said, cancelled=True)
    error, code = _failure(state, output)
    return Event("execution_error", error=error, code=code)


def _failure(state: Inward, output: Output) -> tuple[str, str]:
    said = events.text_of(output.error) or (
        output.result if isinstance(output.result, str) else state.problem
    )
    if output.subtype == TOO_MANY_TURNS:
        return said[:ERROR_CHARS_MAX] or "the agent took as many turns as it may", TURN_LIMIT
    return said[:ERROR_CHARS_MAX] or "the agent failed in the middle of the turn", AGENT_ERROR


def _end(state: Inward, event: Event, ts: int) -> str:
    line = line_of(state, event, ts)
    is_cut = state.is_cancelling or event.cancelled
    state.end()
    state.expect_late(Doubt.END if is_cut else Doubt.FAILURE)
    return line


def _late_end(state: Inward) -> None:
    """The late terminal message of a turn that was ended here."""
    if state.doubt is Doubt.WORDS:
        state.expect_late(Doubt.END)


def ended_by_itself(state: Inward, end: DoubtfulEnd, ts: int) -> str:
    """The agent has said nothing more: its persons are all done, or it has failed."""
    if not end.error:
        return _end(state, _end_of(state, state.result or Output("result")), ts)
    event = Event("execution_error", error=end.error, code=AGENT_ERROR)
    line = _end(state, event, ts)
    state.expect_late(Doubt.END)
    return line


def failed(state: Inward, message: Ended) -> None:
    """`error` of a conversation: the last that is heard of a turn, or a remark in the middle."""
    state.problem = problem_of(message) or state.problem
    if state.turn_id is not None and not state.has_held:
        state.wait(DoubtfulEnd(error=state.problem or "the agent reports an error"))


def note_remote_id(state: Inward, message: OfSession) -> None:
    for given in (message.session_id, message.claude_session_id):
        if isinstance(given, str) and given:
            state.remote_id = given[:NAME_CHARS_MAX]


def problem_of(message: Ended) -> str:
    said: Any = message.message if message.message is not None else message.error
    return events.text_of(said)[:ERROR_CHARS_MAX]
