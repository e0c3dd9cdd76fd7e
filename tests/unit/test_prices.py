"""What models cost: by name, with and without a cache, by an operator's own table."""

import json
from pathlib import Path
from typing import Any

import pytest

from trunkline import prices, tables
from trunkline.control.errors import TrunklineError
from trunkline.control.settings import load
from trunkline.prices import Cost, Prices

MILLION = {"tokens_in": 1_000_000, "tokens_out": 1_000_000}


@pytest.mark.parametrize(
    ("model", "used", "amount"),
    [
        ("gpt-4o", MILLION, 12.5),
        ("gpt-4o-2024-08-06", MILLION, 12.5),
        ("openai/gpt-4o", MILLION, 12.5),
        ("gpt-4o-mini", MILLION, 0.75),
        ("codex-mini-latest", MILLION, 7.5),
        ("gpt-5.1-chat-latest", MILLION, 11.25),
        ("claude-sonnet-5-5", MILLION, 12.0),
        ("claude-haiku-4-5-20251001", MILLION, 6.0),
        ("demo", MILLION, 0.0),
        ("gpt-4o", {"tokens_in": 1_000_000, "cache_read_tokens": 1_000_000}, 1.25),
        (
            "claude-sonnet-5-5",
            {"tokens_in": 1_000_000, "cache_read_tokens": 500_000, "cache_write_tokens": 100_000},
            0.4 * 2 + 0.5 * 0.2 + 0.1 * 2.5,
        ),
        ("gpt-4o", {"tokens_in": "many", "tokens_out": -5, "cache_read_tokens": True}, 0.0),
        ("gpt-4o", {"tokens_in": 1, "cache_read_tokens": 1_000_000}, 1.25),
    ],
)
def test_the_built_in_table(model: str, used: dict[str, Any], amount: float) -> None:
    cost = prices.built_in().cost(model, used)
    assert cost is not None
    assert cost.amount == pytest.approx(amount)
    assert cost.currency == "USD"


@pytest.mark.parametrize("model", ["llama3.2", "gpt-4o-new-kind", "", "x/y/z"])
def test_a_model_that_is_not_in_the_table_has_no_price(model: str) -> None:
    assert prices.built_in().cost(model, MILLION) is None
    assert prices.built_in().total({"gpt-4o": MILLION, model: MILLION}) is None
    assert prices.built_in().total({}) is None


def test_an_operators_table_stands_over_ours_unless_it_is_in_other_money(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    own = {"models": {"llama3.2": {"input": 1, "output": 2}, "gpt-4o": {"input": 0, "output": 0}}}
    file.write_text(json.dumps(own))
    table = prices.over_built_in(prices.read(file))
    assert table.cost("llama3.2", MILLION) == Cost(3.0, "USD")
    assert table.cost("gpt-4o", MILLION) == Cost(0.0, "USD")
    assert table.cost("gpt-4o-mini", MILLION) == Cost(0.75, "USD")
    assert load({"prices": str(file)}, {}).prices == str(file)
    euros = Prices(currency="EUR", models=prices.read(file).models)
    assert prices.over_built_in(euros).cost("gpt-4o-mini", MILLION) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "\xff",
        '{"models": {"x": {"input": -1, "output": 1}}}',
        '{"models": {"x": {"input": 1}}}',
        '{"models": {"x": {"input": 1, "output": 1, "outputs": 1}}}',
        '{"models": {"x": {"input": "1", "output": 1}}}',
        '{"currency": "dollars"}',
        "[" * 100_000,
        " " * (tables.BYTES_MAX + 1),
    ],
    ids=range(11),
)
def test_a_table_that_is_none_is_refused_at_the_start(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(TrunklineError, match="prices"):
        load({"prices": str(file)}, {})
    with pytest.raises(TrunklineError, match="cannot be read"):
        load({"prices": str(tmp_path / "none.json")}, {})


@pytest.mark.parametrize("told", [7, [], {"models": 3}, {"models": {"x": {}}}])
def test_what_a_control_plane_sends_that_is_no_table_counts_for_nothing(told: Any) -> None:
    assert prices.told(told) == prices.told(None) == prices.built_in()
