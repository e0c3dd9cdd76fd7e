"""What models cost, by name: a table that comes with us, and an operator's own over it.

For both planes. Pure but for reading the files. A model that is not in the table has no price,
which is something else than a price of nothing.
"""

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trunkline import tables

_MODELS_MAX = 1_000
_PER = 1_000_000  # tokens
_BUILT_IN = Path(__file__).with_name("prices.json")
# Snapshots of a model cost what it costs: `-2024-08-06`, `-20250929`, `-latest`.
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)\Z")

_Amount = Annotated[float, Meta(ge=0, le=1_000_000)]
_Name = Annotated[str, Meta(min_length=1, max_length=200)]


class Cost(msgspec.Struct, frozen=True):
    amount: float
    currency: str


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a million tokens. What was read from or written to a cache costs what other input does,
    unless it says otherwise."""

    input: _Amount
    output: _Amount
    cache_read: _Amount | None = None
    cache_write: _Amount | None = None


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    currency: Annotated[str, Meta(pattern="^[A-Z]{3}$")] = "USD"
    models: Annotated[dict[_Name, Price], Meta(max_length=_MODELS_MAX)] = {}

    def of(self, model: str) -> Price | None:
        """By its whole name, else without its provider's, else as the model it is a snapshot of."""
        plain = model.rpartition("/")[2]
        names = (model, plain, _SNAPSHOT.sub("", plain))
        return next((self.models[name] for name in names if name in self.models), None)

    def cost(self, model: str, used: Mapping[str, Any]) -> Cost | None:
        """Of `tokens_in` (what the cache had and got is part of it), `tokens_out`,
        `cache_read_tokens` and `cache_write_tokens`; None where nobody knows."""
        price = self.of(model)
        if price is None:
            return None
        names = ("tokens_in", "tokens_out", "cache_read_tokens", "cache_write_tokens")
        tokens_in, out, read, written = (_count(used.get(name)) for name in names)
        fresh = max(tokens_in - read - written, 0)
        total = fresh * price.input + out * price.output
        total += read * (price.input if price.cache_read is None else price.cache_read)
        total += written * (price.input if price.cache_write is None else price.cache_write)
        return Cost(round(total / _PER, 9), self.currency)

    def total(self, models: Mapping[str, Mapping[str, Any]]) -> Cost | None:
        """Of several models; None where one of them has no price."""
        costs = [self.cost(model, used) for model, used in models.items()]
        known = [one.amount for one in costs if one is not None]
        if not costs or len(known) < len(costs):
            return None
        return Cost(round(sum(known), 9), self.currency)


@functools.cache
def built_in() -> Prices:
    return msgspec.json.decode(_BUILT_IN.read_bytes(), type=Prices)


def over_built_in(own: Prices) -> Prices:
    """An operator's prices, and ours for what they leave out, where those are in the same money."""
    if own.currency != built_in().currency:
        return own
    return Prices(currency=own.currency, models={**built_in().models, **own.models})


def read(path: Path) -> Prices:
    """An operator's own table. Raises ValueError that says what is wrong with it."""
    return tables.read(path, Prices)


def told(value: Any) -> Prices:
    """As a control plane has sent it with `init`; ours where that is nothing, or no table."""
    if value is None:
        return built_in()
    try:
        return over_built_in(msgspec.convert(value, Prices))
    except msgspec.ValidationError:
        return built_in()


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
