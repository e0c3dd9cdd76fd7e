"""What `session_config` and `agent_config` may say: both are plain JSON, whose known names have
types, in the documents and where they are checked. What a runtime does not know passes: it is left
to machines, which say what they read. Each name is explained in docs/guide/agents.md.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.errors import InvalidRequest
from trunkline.control.records.fields import (
    Acp,
    AgentApp,
    Confirm,
    Hosts,
    Json,
    MaxTokens,
    Name,
    Names,
    Network,
    PermissionMode,
    Temperature,
    Text,
    Workspace,
)

Seconds = Annotated[float, Meta(gt=0)]


class Choices(msgspec.Struct, kw_only=True):
    """What every runtime understands of an agent's configuration, as an agent's record has it.
    Names that only one runtime knows pass."""

    system_prompt: Text | None = None
    model: Name | None = None
    temperature: Temperature | None = None
    max_tokens: MaxTokens | None = None
    tools: Names | None = None
    confirm: Confirm | None = None
    permission_mode: PermissionMode | None = None
    workspace: Workspace | None = None
    worktree: bool | None = None
    acp: Acp | None = None
    network: Network | None = None
    network_hosts: Hosts | None = None


class _AgentConfig(Choices, kw_only=True):
    name: Name | None = None
    agent_app: AgentApp | None = None


class _SessionConfig(msgspec.Struct, kw_only=True):
    workspace: Workspace | None = None
    worktree: bool | None = None
    network: Network | None = None
    network_hosts: Hosts | None = None
    max_turns: Annotated[int, Meta(ge=1, le=limits.MODEL_CALLS_PER_TURN_MAX)] | None = None
    max_tool_calls: Annotated[int, Meta(ge=0)] | None = None
    timeout_seconds: Seconds | None = None
    command_timeout_seconds: Seconds | None = None
    command_timeout_seconds_max: Seconds | None = None
    approval_timeout_seconds: Seconds | None = None
    first_byte_timeout_seconds: Seconds | None = None
    silence_timeout_seconds: Seconds | None = None
    thinking_tokens: Annotated[int, Meta(ge=0)] | None = None
    context_window: Annotated[int, Meta(ge=1_024)] | None = None
    evolution: bool | None = None


def check_choices(config: Json, name: str = "agent_config") -> None:
    """A machine that is told nonsense goes by its defaults: then a tool would run that a person
    was to be asked about. `session_config` may say the same things."""
    try:
        msgspec.convert(config, Choices)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{name}: {error}") from error


def _known(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The properties of a struct, with what it refers to written out."""
    schema = msgspec.json.schema(kind)
    inner = {f"#/$defs/{name}": one for name, one in schema["$defs"].items()}
    found = inner[schema["$ref"]]["properties"]
    return {"properties": _resolved(found, inner), "additionalProperties": True}


def _resolved(value: Any, inner: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_resolved(one, inner) for one in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _resolved(inner[value["$ref"]], inner)
    return {name: _resolved(one, inner) for name, one in value.items()}


AgentConfig = Annotated[Json, Meta(extra_json_schema=_known(_AgentConfig))]
SessionConfig = Annotated[Json, Meta(extra_json_schema=_known(_SessionConfig))]
