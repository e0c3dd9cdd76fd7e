"""What an agent says and does in a turn: text, thinking, tools, questions.

One function for each session event, called by `outward`.
"""

from typing import Any

from trunkline.wire.answers import labels_of
from trunkline.wire.events import SessionEvent, keep, text_of
from trunkline.wire.yeaft import stream_json
from trunkline.wire.yeaft.outward_frames import envelope
from trunkline.wire.yeaft.outward_state import OPEN_MAX, Outward, fields_of
from trunkline.wire.yeaft.questions import ASKING, YES_NO, prompt_of


def text(state: Outward, event_id: int, event: SessionEvent) -> list[bytes]:
    said = text_of(event.content)
    if not said:
        return []
    if event.agent is not None:  # a helper's words are no part of the answer
        return [_told(state, event, stream_json.thinking(said))]
    state.said(event, said)
    return [state.frame(event).text(said)]


def thinking(state: Outward, event_id: int, event: SessionEvent) -> list[bytes]:
    thought = text_of(event.content)
    return [_told(state, event, stream_json.thinking(thought))] if thought else []


def tool_start(state: Outward, event_id: int, event: SessionEvent) -> list[bytes]:
    name, given = _tool(event)
    call_id = text_of(event.tool_call_id) or f"tool_{event_id}"
    keep(state.calls, call_id, name, OPEN_MAX)
    state.paused(event)
    return [_told(state, event, stream_json.tool_use(call_id, name, given))]


def tool_progress(state: Outward, event_id: int, event: SessionEvent) -> list[bytes]:
    """A `tool_result` would mean that the tool is done."""
    call_id = _call_of(state, event) or text_of(event.tool_call_id)
    shown = text_of(event.content)
    told = stream_json.system("tool_progress", tool_use_id=call_id, content=shown)
    return [_told(state, event, told)]


def tool_end(state: Outward, event_id: int, event: SessionEvent) -> list[bytes]:
    call_id = _call_of(state, event)
    bodies: list[bytes] = []
    if call_id is None:  # a result needs what it is the result of
        bodies = tool_start(state, event_id, event)
        call_id = text_of(event.tool_call_id) or f"tool_{event_id}"
    state.calls.pop(call_id, None)
    is_error = event.has_failed or (event.result is None and event.error is not None)
    content = _tool_content(event.error if event.result is None else event.result)
    told = stream_json.tool_result(call_id, content, is_error)
    return [*bodies, _told(state, event, told)]


def _told(state: Outward, event: SessionEvent, data: dict[str, Any]) -> bytes:
    """What a helper says and does names the call that gave it its task, as Claude's own does."""
    parent = event.parent_tool_call_id
    if isinstance(parent, str) and parent:
        data["parent_tool_use_id"] = parent
    return state.frame(event).data(data)


def _tool(event: SessionEvent) -> tuple[str, Any]:
    given = event.given_input
    if not event.type.startswith("skill_"):
        return text_of(event.tool_name) or "tool", given
    more = given if isinstance(given, dict) else {} if given is None else {"args": given}
    return "Skill", {"skill": text_of(event.skill_name), **more}


def _call_of(state: Outward, event: SessionEvent) -> str | None:
    """The call that an event is of: by its id, else the oldest one of that tool."""
    named = text_of(event.tool_call_id)
    if named:
        return named if named in state.calls else None
    name = _tool(event)[0]
    return next((one for one, other in state.calls.items() if other == name), None)


def _tool_content(result: Any) -> Any:
    """Blocks as Claude has them, or text."""
    if isinstance(result, list) and result and all(_is_block(one) for one in result):
        return result
    return text_of(result)


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def asked(state: Outward, event_id: int, event: SessionEvent) -> list[bytes]:
    """Deployed clients show a question at the tool call that asks it, and read it from
    `questions` (docs/protocols/yeaft.md#questions)."""
    request_id = event.question_id
    if not request_id:
        return []
    prompt, choices, is_multi = _question(event)
    fields: dict[str, Any] = {
        "conversationId": state.conversation_id,
        "requestId": request_id,
        "prompt": prompt,
        "choices": choices or None,
        "multiSelect": is_multi,
        "kind": event.kind,
        "toolName": event.tool_name,
        "toolInput": event.asked_input,
        "timeoutSeconds": event.timeout_seconds,
        **fields_of(event.person, state.group_id),
    }
    if not state.deployed:
        return [envelope("ask_user_question", **fields)]
    questions = questions_of(event)
    told = envelope("ask_user_question", **fields, questions=questions)
    if state.is_repeating:  # the call stands in the history
        return [told]
    if event.tool_name == ASKING and text_of(event.tool_call_id) in state.calls:
        keep(state.asked_by_call, request_id, None, OPEN_MAX)
        return [told]  # the program's own call has passed, and its result will
    call = stream_json.tool_use(request_id, ASKING, {"questions": questions})
    return [state.frame(event).data(call), told]


def _question(event: SessionEvent) -> tuple[str, list[str], bool]:
    """Its text, what may be chosen, and whether several of that."""
    message = event.asked_message or text_of(event.tool_name) or "?"
    prompt = prompt_of(message, event.kind, event.asked_input, event.asked_fence)
    choices = labels_of(event.options)
    if not choices and event.kind not in ("input", "select"):
        choices = YES_NO
    return prompt, choices, event.multi_select is True


def questions_of(event: SessionEvent) -> list[dict[str, Any]]:
    """A question as deployed software lists it."""
    prompt, choices, is_multi = _question(event)
    options = [{"label": one, "description": ""} for one in choices]
    return [{"question": prompt, "header": "", "options": options, "multiSelect": is_multi}]


def answered(state: Outward, event_id: int, event: SessionEvent) -> list[bytes]:
    """Closes the dialog of everybody else."""
    request_id = event.question_id
    if not request_id:
        return []
    is_yes = event.confirmed is True
    told = envelope(
        "ask_user_answered",
        conversationId=state.conversation_id,
        requestId=request_id,
        confirmed=is_yes,
        answer=event.answer,
        answeredBy=event.answered_by,
        reason=event.reason,
    )
    if not state.deployed or request_id in state.asked_by_call:
        return [told]
    answer = text_of(event.answer) or YES_NO[not is_yes]
    return [state.frame(event).data(stream_json.tool_result(request_id, answer)), told]
