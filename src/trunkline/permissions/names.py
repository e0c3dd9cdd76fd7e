"""What tools are called in rules: one name for the same thing, whichever runtime does it."""

import hashlib
import re

from trunkline import limits


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALIASES = {
    "Bash": "bash",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "NotebookEdit": "edit_file",
    "Write": "write_file",
    "Read": "read_file",
    "LS": "list_files",
    "Grep": "search_files",
    "Glob": "glob",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "execute": "bash",
    "edit": "edit_file",
    "delete": "edit_file",
    "move": "edit_file",
    "read": "read_file",
    "search": "search_files",
    "fetch": "web_fetch",
    "exec": "bash",
    "shell": "bash",
    "write": "write_file",
}
"""Names that Claude Code, OpenClaw and Goose give the same tools, and the kinds that ACP knows of
them."""

_FAMILIES = {
    "write_file": "edit_file",
    "apply_patch": "edit_file",
    "list_files": "read_file",
    "search_files": "read_file",
    "glob": "read_file",
}
"""A rule for `edit_file` is for every tool that changes files, one for `read_file` for every tool
that reads them."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARS = 8


def canonical(name: str) -> str:
    return _ALIASES.get(name, name)


def names_of(tool: str) -> tuple[str, ...]:
    """What a tool's rules may call it."""
    name = canonical(tool)
    return (name, _FAMILIES[name]) if name in _FAMILIES else (name,)


def mcp_name(server: str, tool: str) -> str:
    """How a tool of an MCP server is called: the same for the same pair, different for others.

    Where something had to be changed, or the two parts could be read in more than one way, a
    digest of the originals keeps names apart.
    """
    plain = f"mcp__{server}__{tool}" if tool else f"mcp__{server}"
    safe = _UNSAFE.sub("_", plain)
    is_clear = "__" not in f"{server}.{tool}" and not f"{server}.{tool}".startswith("_")
    is_clear = is_clear and not server.endswith("_") and not tool.startswith("_")
    if safe == plain and is_clear and len(plain) <= limits.TOOL_NAME_CHARS_MAX:
        return plain
    digest = hashlib.sha256(f"{len(server)}:{server}{tool}".encode(errors="replace")).hexdigest()
    kept = limits.TOOL_NAME_CHARS_MAX - _DIGEST_CHARS - 1
    return f"{safe[:kept]}_{digest[:_DIGEST_CHARS]}"
