"""The names of document 004 §3.1 for what sessions ask and report, in terms of two verbs."""

from abc import ABC, abstractmethod
from typing import Any

Json = dict[str, Any]


class Calls(ABC):
    """Whoever can ask and report has these too."""

    @abstractmethod
    async def request(self, session_id: str, method: str, /, **params: Any) -> Any:
        """Asks and returns the result."""

    @abstractmethod
    def fire_and_forget(self, session_id: str, method: str, /, **params: Any) -> None:
        """Reports."""

    async def get_skill_package(
        self, session_id: str, skill_id: str, version: str = "latest"
    ) -> Any:
        return await self.request(
            session_id, "get_skill_package", skill_id=skill_id, version=version
        )

    async def search_long_term_memory(self, session_id: str, query: str, top_k: int = 5) -> Any:
        return await self.request(session_id, "memory_search", query=query, top_k=top_k)

    async def call_remote_mcp(
        self, session_id: str, server: str, tool: str, arguments: Json
    ) -> Any:
        return await self.request(
            session_id, "mcp_call", server=server, tool=tool, arguments=arguments
        )

    def report_usage(
        self, session_id: str, model: str, tokens_in: int, tokens_out: int, **more: Any
    ) -> None:
        self.fire_and_forget(
            session_id,
            "usage_report",
            model=model,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            **more,
        )

    def submit_evolution(self, session_id: str, skill_data: Json) -> None:
        self.fire_and_forget(session_id, "evolution_submit", **skill_data)

    def log_audit(self, session_id: str, event: str, details: Json) -> None:
        self.fire_and_forget(session_id, "audit_log", event=event, details=details)
