"""What must be remembered of a turn while a provider's own events are translated: what it used,
when it began, which tools it called. `engine` and `acp` keep it; pure and bounded.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from trunkline.wire.events import keep
from trunkline.wire.yeaft import stream_json

Json = dict[str, Any]

_CALLS_MAX = 1_000
_COUNT_MAX = 2**53
_TOKENS = (
    ("input_tokens", ("input_tokens", "inputTokens")),
    ("output_tokens", ("output_tokens", "outputTokens")),
    ("cache_read_input_tokens", ("cache_read_input_tokens", "cacheReadTokens", "cachedReadTokens")),
    (
        "cache_creation_input_tokens",
        ("cache_creation_input_tokens", "cacheWriteTokens", "cachedWriteTokens"),
    ),
)
"""What `usage` of a `result` holds, and how providers call it."""
_COST = ("total_cost_usd", "totalCostUsd", "cost_usd", "costUsd")

_ENDS: Final = {
    "": stream_json.SUCCESS,
    "end_turn": stream_json.SUCCESS,
    "stop": stream_json.SUCCESS,
    "stop_sequence": stream_json.SUCCESS,
    "max_turns": stream_json.TOO_MANY_TURNS,
    "max_turn_requests": stream_json.TOO_MANY_TURNS,
}
"""A turn that ends otherwise has failed: `max_tokens`, `refusal`, `error`, what nobody knows."""
_CANCELLED = ("cancelled", "canceled", "aborted")


@dataclass(slots=True)
class ProviderTurn:
    """Of one conversation, one turn after the other. A value."""

    session_id: str
    """What its `result` calls the session, where its provider does not say."""
    calls: dict[str, str] = field(default_factory=dict)
    """Tools that were called: id to name."""
    _turn_id: str | None = None
    _began_ms: int | None = None
    _usage: dict[str, int] = field(default_factory=dict)
    _cost_usd: float | None = None

    def at(self, turn_id: str | None, now_ms: int) -> None:
        """What comes now is of that turn."""
        if turn_id != self._turn_id:
            self._forget()
            self._turn_id = turn_id
        if self._began_ms is None:
            self._began_ms = now_ms

    def called(self, call_id: str, name: str) -> None:
        keep(self.calls, call_id, name, _CALLS_MAX)

    def used(self, said: Any) -> None:
        """One call of a model: those of a turn add up."""
        if not isinstance(said, dict):
            return
        for name, others in _TOKENS:
            found = (said[one] for one in others if _is_count(said.get(one)))
            count = next(found, None)
            if count is not None:
                self._usage[name] = min(self._usage.get(name, 0) + int(count), _COUNT_MAX)
        cost = next((said[one] for one in _COST if _is_count(said.get(one))), None)
        if cost is not None:
            self._cost_usd = min((self._cost_usd or 0.0) + cost, float(_COUNT_MAX))

    def result(self, stop_reason: str, session_id: Any, now_ms: int) -> Json:
        """The turn's end."""
        subtype = _ENDS.get(stop_reason, stream_json.FAILED)
        more: Json = {"cancelled": True} if stop_reason in _CANCELLED else {}
        told = stream_json.result(
            subtype,
            session_id=session_id if isinstance(session_id, str) else self.session_id,
            is_error=subtype != stream_json.SUCCESS and not more,
            duration_ms=max(0, now_ms - (self._began_ms or now_ms)),
            cost_usd=self._cost_usd,
            usage=self._usage,
            **more,
        )
        self._forget()
        return told

    def _forget(self) -> None:
        self._began_ms, self._usage, self._cost_usd = None, {}, None
        self.calls = {}


def _is_count(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < _COUNT_MAX
