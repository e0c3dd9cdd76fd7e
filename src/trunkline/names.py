"""Names that people write, known in one place, so that a slip is told from a name.

For both planes and the command line. What travels on a wire is never checked against these: there,
unknown names are tolerated.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

PREFIX: Final = "TRUNKLINE_"

CONTROL: Final = (
    *("host", "port", "data", "admin_token", "database_url", "bus_url", "keys"),
    *(
        "connections_max",
        "connections_per_address_max",
        "connections_per_user_max",
        "trusted_proxies",
        "metrics_allowed",
    ),
    *("rate_limit_per_minute", "public_url", "allowed_origins", "mcp_allowed_hosts", "log_sync"),
    *("low_disk_bytes",),
    *("json_logs", "log_level", "machine_away_s", "vm_connect_timeout_s", "open_agp"),
    *("open_myagent", "send_llm_message", "default_model", "fallback_model", "local_machine"),
    *("vm_command", "node_roots", "node_workspace", "machines", "fence", "model_titles"),
    *("embeddings_url", "embeddings_model", "embeddings_key"),
    *("prices", "model_windows", "open_browser", "push_allowed_hosts", "push_contact"),
    *("quota_sessions", "quota_stored_bytes", "quota_agents", "quota_memories"),
    *("quota_snapshot_bytes", "quota_skill_bytes"),
)
"""The settings of the control plane, as its file names them."""
NODE: Final = (
    *("wire", "wire_server", "wire_token", "wire_id", "wire_user_id", "wire_name", "wire_agent"),
    *("wire_model", "wire_confirm", "node_home", "node_roots", "node_sessions_max"),
    *("node_pass_env", "node_workspace", "node_network", "node_network_hosts", "node_hidden"),
)
"""Of the execution plane, besides those that both have."""
COMMANDS: Final = ("url", "token")
"""Of the command line: where the server is."""
ENVIRONMENT: Final = frozenset(PREFIX + name.upper() for name in (*CONTROL, *NODE, *COMMANDS))

ACCESS_TOOL: Final = "bash_with_access"
"""Runs one command with more than the fence allows, after a person's yes."""
TOOLS: Final = frozenset(
    (
        *("bash", "code_execution", "read_file", "write_file", "edit_file", "list_files"),
        *("search_files", "web_search", "web_fetch", "memory_search", "memory_write"),
        *("bash_output", "bash_stop", "apply_patch", "glob", "todo_write"),
        *("read_skill_file", "ask_user", "delegate", ACCESS_TOOL),
    )
)
"""What an agent of our own runtime can be allowed, besides tools of MCP servers and skills."""
MCP_TOOL_PREFIX: Final = "mcp__"

RUNTIMES: Final = ("semigraph", "openclaw", "claude-code", "acp")
"""What can run a session, as agents and sessions name it."""
DOCUMENTED_RUNTIMES: Final = ("semigraph", "openclaw")
"""What a machine takes that says nothing of its runtimes."""
STEERED_RUNTIMES: Final = ("semigraph",)
"""Those that take a message to a running turn, on machines that do."""
ACP_PRESETS: Final = ("copilot", "opencode", "gemini", "codex", "goose")
"""Programs that speak ACP and that we know how to start."""

PROVIDERS: Final = ("openai", "anthropic", "tavily", "brave", "searxng")
"""Whose keys we know what to do with; others are set up with an address."""

_CLOSE = 0.6  # difflib's measure, from 0 to 1
_LISTED_MAX = 30
_SHOWN_CHARS = 60


_MODEL_NAMES = re.compile(
    r"(?P<anthropic>claude|anthropic/.)|(?:gpt-|chatgpt-|codex-|o\d|openai/.)", re.IGNORECASE
)


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """A sentence about a name that is not known, with the nearest one that is."""
    # What all have in common would make them all alike.
    by_plain = {one.removeprefix(PREFIX).lower(): one for one in sorted(known)}
    plain = name[:_SHOWN_CHARS].removeprefix(PREFIX).lower()
    near = difflib.get_close_matches(plain, by_plain, n=1, cutoff=_CLOSE)
    shown = f"unknown {kind} {name[:_SHOWN_CHARS]!r}"
    return f"{shown}: did you mean {by_plain[near[0]]!r}?" if near else shown


def model_provider(model: str) -> str | None:
    """Whose model that is, of the providers that are known by name and address; None: nobody's as
    far as its name tells. `execution/llm/routes.py` finds who serves one in the same way."""
    found = _MODEL_NAMES.match(model.strip())
    return None if found is None else "anthropic" if found["anthropic"] else "openai"


def not_one_of(word: str, choices: Collection[str], known: Collection[str] = ()) -> str:
    """A sentence about a word that is none of a few, with all of them and the nearest of those that
    are known: others can be meant that are not offered."""
    plain = word[:_SHOWN_CHARS]
    shown = f"{plain!r} is not one of {', '.join(choices)}"
    near = difflib.get_close_matches(plain.lower(), known or choices, n=1, cutoff=_CLOSE)
    return f"{shown}: did you mean {near[0]!r}?" if near else shown


def unknown_of(kind: str, names: Iterable[str], known: Collection[str]) -> str | None:
    """The same for the first of several that is not known, with all that are where none is near and
    they are few; None when all are known."""
    name = next((one for one in names if one not in known), None)
    if name is None:
        return None
    told = unknown(kind, name, known)
    is_listed = not told.endswith("?") and 0 < len(known) <= _LISTED_MAX
    return f"{told}; there are: {', '.join(sorted(known))}" if is_listed else told


def unknown_variable(env: Mapping[str, str]) -> str | None:
    """Of the variables that are ours by their prefix: a sentence about one that nobody reads."""
    ours = sorted(name for name in env if name.startswith(PREFIX))
    return unknown_of("variable", ours, ENVIRONMENT)
