"""MyAgent messages as a session's events: what a program that reads this wire as a client would
write into a log. Pure; the other direction is `outward`."""

from collections.abc import Callable
from typing import Any

from trunkline.wire.events import line, text_of
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.messages import Downlink, Json
from trunkline.wire.myagent.steps import confirm_id_of

_STAGES = {"reasoning": "reasoning", "planning": "replan"}
_SETTLED = {"confirmed": True, "denied": False}


class Inward:
    """What a translation remembers of one session."""

    def __init__(self) -> None:
        self.tools: dict[str, tuple[str, str]] = {}
        """Kind and name of the calls that run, by their step."""


def to_events(state: Inward, message: Downlink) -> list[str]:
    """The events that one message says; none for what is no session's."""
    reader, metadata = _READERS.get(message.event), _object(message.metadata)
    if reader is None or "answers" in metadata:
        return []  # what answers a message of the client ends no turn
    return reader(state, message, metadata)


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _of(metadata: Json) -> Json:
    """The fields that any event may have."""
    return {name: metadata.get(name) for name in ("turn_id", "person", "agent")}


def _partial(_: Inward, message: Downlink, metadata: Json) -> list[str]:
    return [line("text_chunk", content=text_of(message.content), **_of(metadata))]


def _thinking(_: Inward, message: Downlink, metadata: Json) -> list[str]:
    settled = _SETTLED.get(text_of(metadata.get("confirmation")))
    asked = confirm_id_of(message.step_id or "")
    if settled is not None and asked is not None:
        fields = {name: metadata.get(name) for name in ("reason", "answered_by")}
        return [
            line(
                "approval_resolved", request_id=asked, confirmed=settled, **fields, **_of(metadata)
            )
        ]
    if "machine" in metadata:
        held = metadata.get("held")
        return [line("session_status", machine=metadata["machine"], held=held, **_of(metadata))]
    stage = metadata.get("stage") or _STAGES.get(text_of(metadata.get("thinking_type")))
    return [line("thinking", content=text_of(message.content), stage=stage, **_of(metadata))]


def _call(state: Inward, message: Downlink, metadata: Json) -> list[str]:
    content = _object(message.content)
    kind = text_of(metadata.get("tool_type"))
    kind = kind if kind in ("skill", "mcp") else "tool"
    name = text_of(content.get("tool_name")) or text_of(metadata.get("tool"))
    state.tools[message.step_id or ""] = kind, name
    return [
        line(
            f"{kind}_call_start",
            tool_call_id=text_of(metadata.get("call_id")) or message.step_id,
            **_named(kind, name),
            **{"arguments" if kind == "skill" else "tool_input": content.get("arguments")},
            **_of(metadata),
        )
    ]


def _result(state: Inward, message: Downlink, metadata: Json) -> list[str]:
    content = _object(message.content)
    known = text_of(metadata.get("tool_type")), text_of(metadata.get("tool"))
    kind, name = state.tools.pop(message.step_id or "", known)
    kind = kind if kind in ("skill", "mcp") else "tool"
    failed = "failed" in (content.get("status"), metadata.get("status"))
    return [
        line(
            f"{kind}_call_complete",
            tool_call_id=text_of(metadata.get("call_id")) or message.step_id,
            **_named(kind, name),
            result=content.get("result"),
            is_error=True if failed else None,
            **_of(metadata),
        )
    ]


def _named(kind: str, name: str) -> Json:
    return {"skill_name" if kind == "skill" else "tool_name": name}


def _confirm(_: Inward, message: Downlink, metadata: Json) -> list[str]:
    asked = confirm_id_of(message.step_id or "")
    if asked is None:
        return []
    content = _object(message.content)
    return [
        line(
            "approval_request",
            request_id=asked,
            kind=content.get("confirmation_type"),
            message=content.get("message"),
            options=content.get("options"),
            tool_name=metadata.get("tool_name") or None,
            tool_input=metadata.get("tool_args"),
            tool_call_id=metadata.get("call_id"),
            multi_select=metadata.get("multi_select"),
            timeout_seconds=metadata.get("timeout_seconds"),
            **_of(metadata),
        )
    ]


def _final(_: Inward, message: Downlink, metadata: Json) -> list[str]:
    content = message.content
    if isinstance(content, dict) and "answer" in content:
        content = content["answer"]
    return [line("execution_complete", content=text_of(content), **_of(metadata))]


def _interrupted(_: Inward, message: Downlink, metadata: Json) -> list[str]:
    return [line("execution_complete", cancelled=True, **_of(metadata))]


def _error(_: Inward, message: Downlink, metadata: Json) -> list[str]:
    code, error = metadata.get("error_code"), text_of(message.content)
    return [line("execution_error", error=error, code=code, **_of(metadata))]


def _end(_: Inward, message: Downlink, metadata: Json) -> list[str]:
    reason, lasted = metadata.get("reason"), metadata.get("total_duration_ms")
    return [line("session_closed", reason=reason, duration_ms=lasted)]


def _plan(_: Inward, message: Downlink, metadata: Json) -> list[str]:
    return [line("plan", plan=message.content, **_of(metadata))]


_READERS: dict[str, Callable[[Inward, Downlink, Json], list[str]]] = {
    names.PARTIAL_ANSWER: _partial,
    names.THINKING: _thinking,
    names.TOOL_CALL: _call,
    names.TOOL_RESULT: _result,
    names.USER_CONFIRM: _confirm,
    names.FINAL_ANSWER: _final,
    names.INTERRUPTED: _interrupted,
    names.ERROR: _error,
    names.SESSION_END: _end,
    names.PLAN_COMPLETED: _plan,
    names.PLAN_STEP_COMPLETED: _plan,
}
