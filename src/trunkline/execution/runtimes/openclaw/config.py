"""The gateway's configuration, made of what its sessions want. Pure: no files, no processes.

Each session is an agent of its own in there, with its model, tools, skills and memory. Keys are
named by where the gateway finds them, and are never part of it.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.errors import ModelError, RequestFailed
from trunkline.execution.json_object import Json
from trunkline.execution.llm.routes import Route, Routes
from trunkline.execution.runtimes.openclaw.bridge import GUARD

KEYS = "keys"
"""The name of the place where the gateway finds its keys."""

_ADDRESSES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
_FORMATS = {"openai": "openai-completions", "anthropic": "anthropic-messages"}
_CONTEXT_TOKENS = {"openai": 128_000, "anthropic": 200_000}
_ANSWER_TOKENS = 8_192
_TOOL_MS = 1_800_000  # of our tools: a person may be asked first, for as long as before a command
_PLAIN = re.compile(r"[a-z][a-z0-9-]{0,40}\Z")
# What reaches beyond the session: other sessions, the gateway itself, its plugins and schedules.
_DENIED = [
    *("gateway", "plugins", "openclaw", "secrets", "automations", "cron", "nodes", "message"),
    *("sessions", "sessions_list", "sessions_history", "sessions_search", "sessions_send"),
    *("conversations_list", "conversations_send", "conversations_turn", "terminal", "portal"),
    *("dashboard", "theme", "screen", "computer", "canvas", "skill_workshop", "agents_list"),
    *("github_identity_status", "intent", "suggest_task", "dismiss_task"),
]

_Path = Annotated[str, Meta(max_length=limits.FILE_PATH_CHARS_MAX)]
_Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX)]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a session's bridge asks for, before each turn."""

    session_id: Annotated[str, Meta(min_length=1, max_length=100)]
    workspace: _Path
    memory_dir: _Path
    model: Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)] = ""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=limits.MODEL_TOKENS_MAX)] | None = None
    tool_profile: Literal["minimal", "coding", "messaging", "full"] = "coding"
    skills: Annotated[list[_Name], Meta(max_length=limits.NAMES_MAX)] = []
    tools_url: Annotated[str, Meta(max_length=200, pattern=r"\A(http://127\.0\.0\.1:\d+/mcp)?\Z")]
    tools_token: Annotated[str, Meta(max_length=200)] = ""


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A session as the gateway knows it."""

    id: str
    route: Route
    wanted: Wanted


def agent_id(session_id: str) -> str:
    """The same for the same session, in letters that every part of OpenClaw takes."""
    return "s-" + hashlib.sha256(session_id.encode()).hexdigest()[:16]


def session_key(agent: str) -> str:
    """Of the one conversation that an agent has."""
    return f"agent:{agent}:main"


def agent_of(wanted: Wanted, routes: Routes, keys: Mapping[str, str]) -> Agent:
    """Raises RequestFailed where no model can be had."""
    try:
        route = routes.find(wanted.model or routes.default_model())
    except ModelError as error:
        raise RequestFailed(error.code, error.message) from error
    if route.api not in _FORMATS:
        why = "OpenClaw needs a model with a key or a base URL: the built-in ones are too small"
        raise RequestFailed("MODEL_KEY_MISSING", why)
    if not keys.get(route.provider) and not route.base_url:
        why = f"there is no key for {route.provider} on this machine"
        raise RequestFailed("MODEL_KEY_MISSING", why)
    return Agent(id=agent_id(wanted.session_id), route=route, wanted=wanted)


def build(
    agents: Iterable[Agent],
    *,
    port: int,
    token: str,
    keys_file: str,
    skills: str,
    log_file: str,
    guard: str,
) -> Json:
    """All of it, for these agents. `guard`: our plugin, which asks before tools run."""
    known = sorted(agents, key=lambda one: one.id)
    return {
        "gateway": {
            "mode": "local",
            "port": port,
            "bind": "loopback",
            "auth": {"mode": "token", "token": token},
            "controlUi": {"enabled": False},
        },
        "update": {"checkOnStart": False},
        "discovery": {"mdns": {"mode": "off"}},
        "logging": {
            "file": log_file,
            "level": "warn",
            "consoleLevel": "warn",
            "maxFileBytes": 5 * limits.MIB,
        },
        # What runs by itself: calls of models that nobody asked for.
        "cron": {"enabled": False},
        "browser": {"enabled": False},
        "plugins": {
            "allow": ["memory-core", "openai", "anthropic", GUARD],
            "entries": {"memory-core": {"enabled": True}, GUARD: {"enabled": True}},
            "load": {"paths": [guard]},
        },
        "secrets": {"providers": {KEYS: {"source": "file", "path": keys_file, "mode": "json"}}},
        "models": {"mode": "replace", "providers": _providers(known)},
        "agents": {
            "ownership": "explicit",
            "defaults": {
                "skipBootstrap": True,
                "heartbeat": {"every": "0m"},
                "utilityModel": "",
            },
            "entries": {one.id: _entry(one) for one in known},
        },
        "skills": {"load": {"extraDirs": [skills], "watch": True}},
        "tools": {"toolSearch": False, "deny": _DENIED},
        "mcp": {"servers": {one.id: _tools(one.wanted) for one in known}},
    }


def provider_name(provider: str) -> str:
    """As the gateway and its keys file know it."""
    if _PLAIN.match(provider):
        return provider
    return "p-" + hashlib.sha256(provider.encode()).hexdigest()[:12]


def _entry(agent: Agent) -> Json:
    wanted = agent.wanted
    params: Json = {"temperature": wanted.temperature, "maxTokens": wanted.max_tokens}
    # Anthropic's models think for money, and only when they are asked to.
    quiet: Json = {"thinkingDefault": "off"} if agent.route.api == "anthropic" else {}
    return {
        **quiet,
        "workspace": wanted.memory_dir,
        "cwd": wanted.workspace,
        "model": f"{provider_name(agent.route.provider)}/{agent.route.model}",
        "params": {name: value for name, value in params.items() if value is not None},
        "skills": sorted(wanted.skills),
        "tools": {
            "profile": wanted.tool_profile,
            # Our plugin asks, before this and before every other tool.
            "exec": {"host": "gateway", "security": "full", "ask": "off"},
        },
    }


def _tools(wanted: Wanted) -> Json:
    """Off for all sessions but its own, which turns it on for itself."""
    return {
        "url": wanted.tools_url,
        "transport": "streamable-http",
        "requestTimeoutMs": _TOOL_MS,
        "enabled": False,
        "headers": {"Authorization": f"Bearer {wanted.tools_token}"},
    }


def _providers(agents: list[Agent]) -> Json:
    found: dict[str, Json] = {}
    for one in agents:
        route, name = one.route, provider_name(one.route.provider)
        provider = found.setdefault(
            name,
            {
                "baseUrl": route.base_url or _ADDRESSES.get(route.provider, ""),
                "apiKey": {"source": "file", "provider": KEYS, "id": f"/{name}"},
                "api": _FORMATS[route.api],
                "models": {},
            },
        )
        tokens = max(one.wanted.max_tokens or 0, _ANSWER_TOKENS)
        before = provider["models"].get(route.model)
        most = max(tokens, before["maxTokens"]) if before else tokens
        provider["models"][route.model] = _model(route, most)
    return {name: {**one, "models": list(one["models"].values())} for name, one in found.items()}


def _model(route: Route, answer_tokens: int) -> Json:
    free: dict[str, Any] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    return {
        "id": route.model,
        "name": route.model,
        "reasoning": True,
        "input": ["text", "image"],
        "cost": free,
        "contextWindow": _CONTEXT_TOKENS[route.api],
        "maxTokens": answer_tokens,
    }
