"""Lines that a program wrote on a machine that is no Yeaft agent: Claude Code's stream-json is
`data` of `claude_output` already, and passes as it is (docs/protocols/yeaft.md#relay).

A machine is not taken at its word: of its `raw`, only the `data` of its own conversation's output
passes, in an envelope that is written here, and no words in a person's name. Pure.
"""

from typing import Literal

import msgspec

from trunkline.wire import events
from trunkline.wire.errors import Malformed
from trunkline.wire.events import SessionEvent, keep, text_of
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.output_data import Output
from trunkline.wire.yeaft.outward_state import OPEN_MAX, Outward

PROTOCOL = "yeaft"

_REPLACED = frozenset(
    (
        *("text_chunk", "thinking", "foreign", "plan", "plan_created"),
        *("file_created", "file_changed"),
        *("plan_step_start", "plan_step_complete", "plan_step_failed"),
        *("tool_call_start", "tool_call_progress", "tool_call_complete"),
        *("skill_call_start", "skill_call_complete", "mcp_call_start", "mcp_call_complete"),
    )
)
"""What the line is shown for. Questions, their answers, costs, states and ends are told from here,
whatever a machine has written beside them."""


class _Message(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The only envelope that a machine may ask for."""

    type: Literal["claude_output"]
    conversation_id: str
    data: msgspec.Raw


def passed(state: Outward, event: SessionEvent) -> list[bytes] | None:
    """What clients get of the line that an event was made of: nothing, if an earlier event had it.
    None: the event is translated, like any other."""
    if event.type not in _REPLACED or event.person is not None:
        return None
    original = events.original_of(event, PROTOCOL)
    if original is None:
        return None
    if not original.message:
        return [] if state.has_passed_line else None
    state.has_passed_line = False
    try:
        message = codec.read(original.message, _Message)
        output = codec.read(message.data, Output)
    except Malformed:
        return None
    if message.conversation_id not in (state.conversation_id, state.session_id):
        return None
    if _is_in_a_persons_name(output):
        return None
    state.has_passed_line = True
    _note(state, event, output)
    return [state.own.written(bytes(message.data))]


def _is_in_a_persons_name(output: Output) -> bool:
    """Whether clients would show it as what a user said: only the control plane knows that."""
    if output.type != "user":
        return False
    return isinstance(output.message, str) or any(
        block.type != "tool_result" for block in output.blocks
    )


def _note(state: Outward, event: SessionEvent, output: Output) -> None:
    """What must be known when the turn goes on without the program's own lines."""
    if output.type == "result":
        state.turn(event).has_result = True
    elif output.type == "assistant":
        for block in output.blocks:
            if block.type == "text":
                state.said(event, text_of(block.text))
            elif block.type == "tool_use":
                keep(state.calls, text_of(block.id), text_of(block.name), OPEN_MAX)
                state.paused(event)
    else:
        for block in output.blocks:
            state.calls.pop(text_of(block.tool_use_id), None)
