"""The forms of `data` in `claude_output` and `yeaft_output` (docs/protocols/yeaft.md#output-data).

The one place that writes them: for events of a session, for Yeaft's engine and for ACP agents.
Fields stand in the order of the page. Pure; `output_data` reads them.
"""

from typing import Any, Final

Json = dict[str, Any]

SUCCESS: Final = "success"
TOO_MANY_TURNS: Final = "error_max_turns"
FAILED: Final = "error_during_execution"
"""How a turn can end: the subtypes of `result`."""


def assistant(*blocks: Json) -> Json:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}}


def user(*blocks: Json) -> Json:
    return {"type": "user", "message": {"role": "user", "content": list(blocks)}}


def text(said: str) -> Json:
    return assistant({"type": "text", "text": said})


def thinking(thought: str) -> Json:
    return assistant({"type": "thinking", "thinking": thought})


def tool_use(call_id: str, name: str, given: Any) -> Json:
    given = given if isinstance(given, dict) else {} if given is None else {"input": given}
    return assistant({"type": "tool_use", "id": call_id, "name": name, "input": given})


def tool_result(call_id: str, content: Any, is_error: bool = False) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if is_error:
        block["is_error"] = True
    return user(block)


def user_text(said: str, client_message_id: str | None = None, attachments: Any = None) -> Json:
    """What a person said. By `clientMessageId`, deployed clients know their own."""
    data = user({"type": "text", "text": said})
    if isinstance(attachments, list) and attachments:
        data["message"]["attachments"] = attachments
    if client_message_id is not None:
        data["clientMessageId"] = client_message_id
    return data


def said_by(role: str, said: str) -> Json:
    """A message of the past: of a person (`user`), else of the assistant."""
    return user_text(said) if role == "user" else text(said)


def system(kind: str, /, **fields: Any) -> Json:
    """A system event; clients show its `message`, if it has one."""
    return {"type": "system", "subtype": kind, **fields}


def result(
    kind: str,
    /,
    *,
    session_id: str,
    is_error: bool,
    duration_ms: int,
    cost_usd: float | None,
    usage: Json,
    **more: Any,
) -> Json:
    """A turn's end. Its cost is a number in the document, so one that nobody knows is none."""
    return {
        "type": "result",
        "subtype": kind,
        "session_id": session_id,
        "is_error": is_error,
        "duration_ms": duration_ms,
        "total_cost_usd": 0 if cost_usd is None else cost_usd,
        "usage": {"input_tokens": 0, "output_tokens": 0, **usage},
        **more,
    }
