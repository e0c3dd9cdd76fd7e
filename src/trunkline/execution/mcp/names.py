"""Names of MCP tools as models may call them: `mcp__<server>__<tool>`, in 64 safe characters."""

import hashlib
import re

from trunkline import limits

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARS = 8


def tool_name(server: str, tool: str) -> str:
    """The same for the same pair, and different for different ones.

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
