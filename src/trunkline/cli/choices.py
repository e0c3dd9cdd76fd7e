"""The words that options take, where only some do: help lists them, and others are refused with
them. They are those of the API, which a test compares; loading that would take too long here.
"""

from enum import StrEnum
from typing import Literal

Confirm = Literal["never", "dangerous", "always"]
Mode = Literal["plan", "ask", "accept_edits", "free"]
Effect = Literal["allow", "ask", "deny"]
Lasts = Literal["once", "session", "always"]
Role = Literal["member", "org_admin", "admin"]
Status = Literal["active", "closed"]
ExportForm = Literal["jsonl", "markdown"]
UsageBy = Literal["model", "user", "session", "agent", "machine", "day"]
Provider = Literal["manual", "local"]
Dialect = Literal["documented", "deployed"]
KnownDialect = Literal["documented", "deployed", "unknown"]
LogLevel = Literal["debug", "info", "warning", "error"]
Wire = Literal["semibot", "agp", "yeaft"]
Fence = Literal["auto", "require", "off"]
Network = Literal["open", "off", "list"]
Adoptable = Literal["claude-code", "codex", "opencode"]


class Scope(StrEnum):
    """A class, because an option that may be repeated takes no `Literal`."""

    READ = "read"
    TALK = "talk"
    APPROVE = "approve"
    ADMIN = "admin"
