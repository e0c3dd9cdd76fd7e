"""Events of Yeaft's engine as `data` of `yeaft_output` (docs/protocols/yeaft.md#providers). Pure.

`text_delta`, `thinking_delta`, `tool_call` and a tool's result become messages; `usage` is told
with the `result` that `stop` becomes.
"""

from typing import Any

from trunkline.wire.events import text_of
from trunkline.wire.yeaft import stream_json
from trunkline.wire.yeaft.provider_turn import ProviderTurn

Json = dict[str, Any]

EVENTS = frozenset(
    ("text_delta", "thinking_delta", "tool_call", "tool_result", "tool_end", "usage", "stop")
)
_GOES_ON = "tool_use"
"""Why a model stops when the engine is to run a tool: the turn goes on."""


def to_data(turn: ProviderTurn, event: Json, now_ms: int) -> list[Json]:
    """What one event becomes; nothing for what is told later, or says nothing."""
    match event.get("type"):
        case "text_delta" if said := text_of(event.get("text")):
            return [stream_json.text(said)]
        case "thinking_delta" if thought := text_of(event.get("text")):
            return [stream_json.thinking(thought)]
        case "tool_call":
            call_id, name = text_of(event.get("id")), text_of(event.get("name"))
            turn.called(call_id, name)
            return [stream_json.tool_use(call_id, name, event.get("input"))]
        case "tool_result" | "tool_end":
            return [_tool_result(event)]
        case "usage":
            turn.used(event)
        case "stop":
            return _stop(turn, event, now_ms)
    return []


def _tool_result(event: Json) -> Json:
    """What the tools' registry gives back, under the names that it is known to have."""
    call_id = next(
        (event[name] for name in ("tool_use_id", "toolCallId", "id") if event.get(name)), ""
    )
    content = next(
        (event[name] for name in ("content", "output", "result") if event.get(name) is not None), ""
    )
    is_error = event.get("is_error") is True or event.get("isError") is True
    return stream_json.tool_result(text_of(call_id), content, is_error)


def _stop(turn: ProviderTurn, event: Json, now_ms: int) -> list[Json]:
    turn.used(event.get("usage"))
    reason = text_of(event.get("stopReason") or event.get("stop_reason"))
    if reason == _GOES_ON:
        return []
    return [turn.result(reason, event.get("session_id") or event.get("sessionId"), now_ms)]
