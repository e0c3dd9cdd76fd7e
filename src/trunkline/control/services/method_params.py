"""Parameters of an execution plane's methods (document 000 §4.3, §4.4); unknown ones are ignored.

Those of `usage_report` and `evolution_submit` are the services' own inputs.
"""

from typing import Any

import msgspec


class SkillPackage(msgspec.Struct, frozen=True):
    skill_id: str
    version: str | None = None


class MemorySearch(msgspec.Struct, frozen=True):
    query: str
    top_k: int | None = None


class McpCall(msgspec.Struct, frozen=True):
    server: str
    tool: str
    arguments: dict[str, Any] | None = None


class Agent(msgspec.Struct, frozen=True):
    agent_id: str


class Session(msgspec.Struct, frozen=True):
    """Without an id: the session that asks."""

    session_id: str | None = None


class McpTools(msgspec.Struct, frozen=True):
    server: str


class Report(msgspec.Struct, frozen=True):
    """What every report may have: the machine's own name for it, so that it counts once."""

    report_id: str | None = None


class AuditLog(msgspec.Struct, frozen=True):
    event: str
    details: dict[str, Any] | None = None


class Snapshot(msgspec.Struct, frozen=True):
    checkpoint: dict[str, Any] | None = None
    short_term_memory: dict[str, Any] | None = None
    conversation_state: dict[str, Any] | None = None
    file_manifest: dict[str, Any] | None = None


class MemoryWrite(msgspec.Struct, frozen=True):
    content: str
    metadata: dict[str, Any] | None = None
