"""Events of an ACP agent such as Copilot as `data` of `claude_output`, and its requests for
permission as questions (docs/protocols/yeaft.md#providers). Pure.

Two generations of names: `session/agent_text` and its kin, and `session/update` with a kind inside.
"""

from typing import Any, NamedTuple

from trunkline.wire.events import text_of
from trunkline.wire.yeaft import stream_json
from trunkline.wire.yeaft.output_data import shown
from trunkline.wire.yeaft.provider_turn import ProviderTurn

Json = dict[str, Any]

_PREFIX = "session/"
_UPDATE = "session/update"
_DONE = ("completed", "failed")
_OPTIONS_MAX = 50


class AcpEvent(NamedTuple):
    """What an agent says: the kind of an update, or the method of anything else."""

    kind: str
    fields: Json
    request: Any = None
    """The name under which it waits for an answer."""


def event_of(given: Json) -> AcpEvent | None:
    """It may come as JSON-RPC, under its `type`, or as the bare update; None for what is none."""
    name = given.get("method", given.get("type"))
    params = given.get("params")
    fields = params if isinstance(params, dict) else given
    if name == _UPDATE or isinstance(given.get("sessionUpdate"), str):
        update = fields.get("update")
        update = update if isinstance(update, dict) else fields
        kind = update.get("sessionUpdate")
        return AcpEvent(kind, update) if isinstance(kind, str) else None
    if not isinstance(name, str) or not name.startswith(_PREFIX):
        return None
    return AcpEvent(name, fields, given.get("id") if fields is params else None)


def to_data(turn: ProviderTurn, event: AcpEvent, now_ms: int) -> list[Json] | None:
    """What one event becomes as output; None for what this wire has no word for."""
    fields = event.fields
    match event.kind:
        case "session/agent_text" | "agent_message_chunk" if said := _text(fields):
            return [stream_json.text(said)]
        case "session/agent_thought" | "agent_thought_chunk" if thought := _text(fields):
            return [stream_json.thinking(thought)]
        case "session/tool_call" | "tool_call":
            return [_call(turn, fields), *_outcome(turn, fields)]
        case "tool_call_update":
            return _outcome(turn, fields)
        case "session/tool_result":
            return [stream_json.tool_result(_call_id(fields), fields.get("content") or "")]
        case "plan":
            return [stream_json.system("plan", entries=fields.get("entries"))]
        case "session/turn_complete":
            turn.used(fields.get("usage"))
            reason = text_of(fields.get("stopReason"))
            return [turn.result(reason, fields.get("sessionId"), now_ms)]
    return None


def question_of(event: AcpEvent) -> Json | None:
    """A request for permission as the fields of `ask_user_question`; None for any other event."""
    if event.kind != "session/request_permission":
        return None
    fields = event.fields
    call = fields.get("toolCall")
    call = call if isinstance(call, dict) else fields
    options = fields.get("options")
    options = options[:_OPTIONS_MAX] if isinstance(options, list) else []
    asked: Json = {
        "requestId": text_of(fields.get("requestId", event.request)),
        "prompt": text_of(fields.get("prompt")) or _tool_name(call),
        "choices": [label for one in options if (label := _label(one))],
        "multiSelect": False,
        "toolName": _tool_name(call),
        "toolInput": call.get("rawInput", call.get("input")),
    }
    return {name: value for name, value in asked.items() if value is not None}


def commands_of(event: AcpEvent) -> list[Any] | None:
    """What can be said behind a slash; None for any other event."""
    found = event.fields.get("availableCommands")
    is_list = event.kind == "available_commands_update" and isinstance(found, list)
    return found if is_list else None


def _text(fields: Json) -> str:
    """Of an older event its `text`, of a newer one its block of content."""
    content = fields.get("text", fields.get("content"))
    return shown([content]) if isinstance(content, dict) else shown(content)


def _call_id(fields: Json) -> str:
    return text_of(fields.get("id", fields.get("toolCallId")))


def _call(turn: ProviderTurn, fields: Json) -> Json:
    call_id, name = _call_id(fields), _tool_name(fields)
    turn.called(call_id, name)
    return stream_json.tool_use(call_id, name, fields.get("input", fields.get("rawInput")))


def _outcome(turn: ProviderTurn, fields: Json) -> list[Json]:
    """A call that is over. Some agents say so of one that they never named."""
    status = fields.get("status")
    if status not in _DONE:
        return []
    call_id = _call_id(fields)
    missing = [] if call_id in turn.calls else [_call(turn, fields)]
    told = stream_json.tool_result(call_id, _content(fields), status == "failed")
    return [*missing, told]


def _content(fields: Json) -> str:
    """What a tool gave back: blocks of content, changes of files, or whatever it put out."""
    blocks = fields.get("content")
    if isinstance(blocks, list) and blocks:
        return "\n".join(_block(one) for one in blocks)
    return shown(blocks or fields.get("rawOutput"))


def _block(block: Any) -> str:
    inner = block.get("content") if isinstance(block, dict) else None
    if isinstance(inner, dict):
        return shown([inner])
    if isinstance(block, dict) and block.get("type") == "diff":
        return f"{text_of(block.get('path'))}\n{text_of(block.get('newText'))}"
    return shown([block])


def _tool_name(call: Json) -> str:
    """An older agent says its `name`; a newer one what it does, or of which kind that is."""
    names = (call.get(one) for one in ("name", "title", "kind"))
    return next((one for one in names if isinstance(one, str) and one), "tool")


def _label(option: Any) -> str:
    if isinstance(option, dict):
        option = option.get("name") or option.get("optionId")
    return text_of(option)
