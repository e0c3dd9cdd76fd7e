"""What an ACP agent's turn used: agents tell their session's totals, or only the turn's.

The protocol means totals; a program that is known to mean the turn is named here.
"""

from typing import Any

import msgspec

from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.content import count, obj

_CODEX = "@agentclientprotocol/codex-acp"
_BY_TURN = frozenset({"OpenCode", "gemini-cli", _CODEX})
# They leave out of their input what the cache had and got.
_WITHOUT_CACHE = frozenset({_CODEX})


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    tokens_in: int = 0
    tokens_out: int = 0
    cache_read_tokens: int = 0

    def minus(self, other: "Counts") -> "Counts":
        return Counts(
            tokens_in=self.tokens_in - other.tokens_in,
            tokens_out=self.tokens_out - other.tokens_out,
            cache_read_tokens=max(0, self.cache_read_tokens - other.cache_read_tokens),
        )


class Usage(msgspec.Struct, kw_only=True):
    """The totals at the end of the last turn, kept with the session."""

    total: Counts = Counts()
    cost_usd: float = 0.0

    @classmethod
    def of(cls, saved: Any) -> "Usage":
        try:
            return msgspec.convert(saved, cls)
        except msgspec.ValidationError:
            return cls()

    def share(self, agent: str, result: Json) -> Counts:
        """The turn's, of what the agent says at its end: in `usage`, or where Gemini has it. A
        total that is less than the last one began anew."""
        quota = obj(obj(result.get("_meta")).get("quota"))
        fields = obj(result.get("usage")) or obj(quota.get("token_count"))
        read, written = (count(fields.get(f"cached{one}Tokens")) for one in ("Read", "Write"))
        aside = read + written if agent in _WITHOUT_CACHE else 0
        now = Counts(
            tokens_in=count(fields.get("inputTokens", fields.get("input_tokens"))) + aside,
            tokens_out=count(fields.get("outputTokens", fields.get("output_tokens"))),
            cache_read_tokens=read,
        )
        if agent in _BY_TURN:
            return now
        before, self.total = self.total, now
        began_anew = now.tokens_in < before.tokens_in or now.tokens_out < before.tokens_out
        return now if began_anew else now.minus(before)

    def cost_share(self, total_usd: float | None) -> float | None:
        if total_usd is None:
            return None
        before, self.cost_usd = self.cost_usd, total_usd
        return total_usd - before if total_usd >= before else total_usd

    def saved(self) -> Json:
        built: Json = msgspec.to_builtins(self)
        return built
