"""What one turn has cost, out of what the program says of its whole conversation. Pure.

A `result` has running totals; newer versions also say what was spent since the last one. A program
that was started anew may go on with the old totals, or begin at nothing.
"""

from typing import Any

import msgspec

from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.claude_code.output import Line, count_of, money_of, text_of

MODELS_MAX = 20


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """On one model, in one turn."""

    model: str
    tokens_in: int
    tokens_out: int
    cache_read_tokens: int = 0
    cost_usd: float | None = None


class Spending:
    """The totals of one conversation, as they were said last. `total_usd` is saved with it."""

    def __init__(self, total_usd: float = 0.0) -> None:
        self.total_usd = total_usd
        self._models: dict[str, Json] = {}

    def share(self, line: Line, model: str) -> list[Spent]:
        """What this `result` adds; `model` is the one that is used, where it names none."""
        total = money_of(line.total_cost_usd)
        before, self.total_usd = self.total_usd, self.total_usd if total is None else total
        totals = _by_model(line.model_usage)
        earlier, self._models = self._models, totals or self._models
        since = line.model_usage_since_last_result
        if isinstance(since, dict):
            return [_spent(name, one) for name, one in _by_model(since).items()]
        cost = None if total is None else total - before if total >= before else total
        if earlier and totals:
            return [_spent(name, _less(one, earlier.get(name, {}))) for name, one in totals.items()]
        usage = line.usage if isinstance(line.usage, dict) else {}
        given = {
            "inputTokens": usage.get("input_tokens"),
            "outputTokens": usage.get("output_tokens"),
            "cacheReadInputTokens": usage.get("cache_read_input_tokens"),
            "cacheCreationInputTokens": usage.get("cache_creation_input_tokens"),
            "costUSD": cost,
        }
        return [_spent(model or next(iter(totals), ""), given)] if usage or cost else []


def _by_model(usage: Any) -> dict[str, Json]:
    given = usage if isinstance(usage, dict) else {}
    found = {text_of(name)[:200]: one for name, one in given.items() if isinstance(one, dict)}
    return dict(list(found.items())[:MODELS_MAX])


def _less(now: Json, before: Json) -> Json:
    """What has been added; numbers that got smaller were begun anew."""

    def more(name: str) -> int:
        new, old = count_of(now.get(name)), count_of(before.get(name))
        return new - old if new >= old else new

    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    cost, old = money_of(now.get("costUSD")), money_of(before.get("costUSD")) or 0.0
    added = cost if cost is None or cost < old else cost - old
    return {**{name: more(name) for name in names}, "costUSD": added}


def _spent(model: str, given: Json) -> Spent:
    read = count_of(given.get("cacheReadInputTokens"))
    written = count_of(given.get("cacheCreationInputTokens"))
    cost = money_of(given.get("costUSD"))
    return Spent(
        model=model,
        tokens_in=count_of(given.get("inputTokens")) + read + written,
        tokens_out=count_of(given.get("outputTokens")),
        cache_read_tokens=read,
        cost_usd=None if cost is None else round(cost, 9),
    )
