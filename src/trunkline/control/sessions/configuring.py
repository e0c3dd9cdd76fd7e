"""Which parameters of a running session have a name that we know.

For REST and what stands on it; a client of another protocol may send what its machine understands.
"""

from typing import Any, Final

from trunkline import names
from trunkline.control.errors import InvalidRequest
from trunkline.control.sessions.starting import AGENT_FIELDS

CHOICES: Final = frozenset(
    (
        *AGENT_FIELDS,
        # What our own runtime reads besides (`execution/orchestrator/settings.py`).
        *(
            "thinking_tokens",
            "context_window",
            "evolution",
            "max_turns",
            "max_tool_calls",
            "titles",
        ),
        *("timeout_seconds", "approval_timeout_seconds"),
        *("worktree", "network", "network_hosts"),
        *("first_byte_timeout_seconds", "silence_timeout_seconds"),
        *("command_timeout_seconds", "command_timeout_seconds_max"),
    )
)
_FREE: Final = "agent_config"


def known_choices(body: dict[str, Any]) -> dict[str, Any]:
    """The new parameters. A name that is not known is refused; what only the session's machine
    understands is said in `agent_config`."""
    free = body.get(_FREE, {})
    if not isinstance(free, dict):
        raise InvalidRequest(f"{_FREE} must be an object")
    if problem := names.unknown_of("parameter", body, CHOICES | {_FREE}):
        raise InvalidRequest(
            f"{problem} (what only its machine understands goes into {_FREE})",
            code="UNKNOWN_FIELD",
        )
    return {**free, **{name: value for name, value in body.items() if name != _FREE}}
