"""What execution planes of the deployed kind are told, where that differs from the document. Pure.

A VM is of that kind by its habits, or because its owner says so
(docs/protocols/semibot.md#the-deployed-kind). All others are told what the document says; those of
which nothing is known yet, in `start_session`, both.
"""

import shlex
from typing import Final

from trunkline.wire.semibot.messages import Json

DOCUMENTED: Final = "documented"
DEPLOYED: Final = "deployed"

FRAME_BYTES_MAX = 1024 * 1024
"""What its library takes; it closes with 1009 above that."""

MEMORY: Final = "__memory__"
"""The `session_id` with which it asks for its user's memory: no session is meant."""

_DEFAULT_MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}


def history(earlier: list[Json], message: str) -> list[Json]:
    """It reads `history` instead of `message`: what is said now is the last of it."""
    return [*earlier, {"role": "user", "content": message}]


def agent_id(agent_config: Json, session_id: str) -> str:
    """Whose configuration it is; a session without an agent is its own."""
    named = agent_config.get("id")
    return named if isinstance(named, str) and named else session_id


def mcp_entry(server: Json) -> Json:
    """A server of `start_session`. A remote one is the control plane's to reach, because only it
    has the address and the keys; no transport of that kind is known there, so it is passed over."""
    is_local = server.get("type") == "local"
    words = [server.get("command") or "", *server.get("args", ())] if is_local else []
    return {
        **server,
        "endpoint": shlex.join(words),
        "transport": "stdio" if is_local else "remote",
        "available_tools": [],
        "auth_config": None,
    }


def config_update(session_id: str, patch: Json, agent_config: Json) -> Json:
    """The `data` of `config_update`: it looks nowhere else, and takes the agent's configuration
    as a whole."""
    return {**patch, "session_id": session_id, "agent_config": agent_config}


def default_model(providers: list[str]) -> str:
    """For a VM that names no model of its own: one of a provider that its user has a key for."""
    known = (_DEFAULT_MODELS[name] for name in providers if name in _DEFAULT_MODELS)
    return next(known, _DEFAULT_MODELS["openai"])
