"""Why a turn of Claude Code failed, as a code and words for people. Pure."""

from typing import Any

from trunkline.execution.errors import TurnError
from trunkline.execution.runtimes.claude_code.output import Line, text_of
from trunkline.execution.texts import shortened

_CHARS_MAX = 4_000
_LOGIN = (
    "Log in on that machine: run `claude` there and type /login; or give the organization an "
    "Anthropic API key."
)
_BY_ERROR = {
    "authentication_failed": "RUNTIME_LOGIN",
    "oauth_org_not_allowed": "RUNTIME_LOGIN",
    "billing_error": "MODEL_RATE_LIMITED",
    "rate_limit": "MODEL_RATE_LIMITED",
    "overloaded": "MODEL_OVERLOADED",
    "model_not_found": "MODEL_NOT_FOUND",
    "server_error": "MODEL_ERROR",
    "invalid_request": "MODEL_ERROR",
}
_BY_STATUS = {
    401: "RUNTIME_LOGIN",
    403: "RUNTIME_LOGIN",
    404: "MODEL_NOT_FOUND",
    429: "MODEL_RATE_LIMITED",
}
_OVERLOADED = (502, 503, 529)


def failure(result: Line, error: str) -> TurnError | None:
    """What the `result` of a turn means; None for one that succeeded. `error`: the kind that the
    program named beside its last message."""
    if result.is_error is not True and result.subtype in (None, "success"):
        return None
    if result.subtype == "error_max_turns":
        return TurnError("TURN_LIMIT", f"Claude Code: {_said(result)} (max_turns).")
    code = _code(result, error)
    said = _said(result)
    if code == "RUNTIME_LOGIN":
        why = f"Claude Code is not logged in, or its key is refused: {said}."
        return TurnError(code, f"{why} {_LOGIN}")
    return TurnError(code, f"Claude Code: {said}")


def _code(result: Line, error: str) -> str:
    status: Any = result.api_error_status
    if result.terminal_reason == "prompt_too_long":
        return "MODEL_CONTEXT_FULL"
    if status in _OVERLOADED:
        return "MODEL_OVERLOADED"
    if isinstance(status, int) and status in _BY_STATUS:
        return _BY_STATUS[status]
    if error in _BY_ERROR:
        return _BY_ERROR[error]
    return "MODEL_ERROR" if result.terminal_reason == "api_error" else "RUNTIME_FAILED"


def _said(result: Line) -> str:
    errors = result.errors if isinstance(result.errors, list) else []
    words = "; ".join(one for one in errors if isinstance(one, str))
    said = words or text_of(result.result).strip() or text_of(result.subtype) or "it gave no reason"
    return shortened(said.rstrip("."), _CHARS_MAX)
