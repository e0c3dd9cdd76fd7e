"""A turn's share of what a conversation has cost, and why a turn failed."""

import json
from typing import Any

import pytest

from trunkline.execution.runtimes.claude_code import output
from trunkline.execution.runtimes.claude_code.failures import failure
from trunkline.execution.runtimes.claude_code.spending import Spending


def result(**fields: Any) -> output.Line:
    line = output.read(json.dumps({"type": "result", "subtype": "success", **fields}).encode())
    assert line is not None
    return line


def of_model(cost: float, tokens: int = 0) -> dict[str, Any]:
    return {"claude": {"inputTokens": tokens, "outputTokens": 1, "costUSD": cost}}


def test_what_was_spent_since_the_last_result_is_the_turns() -> None:
    total = {"total_cost_usd": 9.0, "modelUsage": of_model(9.0, 900)}
    spent = Spending(8.0).share(
        result(**total, model_usage_since_last_result=of_model(0.5, 50)), "claude"
    )
    assert [(one.model, one.tokens_in, one.cost_usd) for one in spent] == [("claude", 50, 0.5)]


def test_running_totals_become_differences() -> None:
    spending = Spending()
    spending.share(result(total_cost_usd=1.0, modelUsage=of_model(1.0, 10)), "claude")
    [spent] = spending.share(result(total_cost_usd=1.5, modelUsage=of_model(1.5, 14)), "claude")
    assert (spent.tokens_in, spent.cost_usd) == (4, 0.5)


def test_totals_that_begin_anew_are_the_turns_own() -> None:
    spending = Spending()
    spending.share(result(total_cost_usd=3.0, modelUsage=of_model(3.0, 30)), "claude")
    [spent] = spending.share(result(total_cost_usd=0.5, modelUsage=of_model(0.5, 5)), "claude")
    assert (spent.tokens_in, spent.cost_usd) == (5, 0.5)


def test_a_new_process_goes_on_from_the_total_that_was_saved() -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 2}
    [spent] = Spending(1.0).share(result(total_cost_usd=1.25, usage=usage), "claude")
    assert (spent.tokens_in, spent.cache_read_tokens, spent.tokens_out) == (7, 4, 2)
    assert spent.cost_usd == 0.25


@pytest.mark.parametrize("odd", [None, "x", -1, 1e300, [], {"m": None}, {"m": {"costUSD": "x"}}])
def test_odd_numbers_cost_nothing(odd: Any) -> None:
    spent = Spending().share(result(total_cost_usd=odd, usage=odd, modelUsage=odd), "m")
    assert all(not one.cost_usd and not one.tokens_in for one in spent)


def test_a_turn_that_succeeded_has_no_failure() -> None:
    assert failure(result(is_error=False), "") is None


@pytest.mark.parametrize(
    ("fields", "error", "code"),
    [
        ({"is_error": True, "result": "Not logged in"}, "authentication_failed", "RUNTIME_LOGIN"),
        ({"is_error": True, "api_error_status": 401}, "", "RUNTIME_LOGIN"),
        ({"is_error": True, "api_error_status": 429}, "", "MODEL_RATE_LIMITED"),
        ({"is_error": True, "api_error_status": 529}, "server_error", "MODEL_OVERLOADED"),
        ({"is_error": True, "terminal_reason": "prompt_too_long"}, "", "MODEL_CONTEXT_FULL"),
        ({"is_error": True, "terminal_reason": "api_error"}, "", "MODEL_ERROR"),
        ({"subtype": "error_max_turns"}, "", "TURN_LIMIT"),
        ({"subtype": "error_during_execution"}, "", "RUNTIME_FAILED"),
        (
            {"is_error": True, "api_error_status": [], "errors": 7, "result": 7},
            "?",
            "RUNTIME_FAILED",
        ),
    ],
)
def test_each_failure_has_its_code(fields: dict[str, Any], error: str, code: str) -> None:
    failed = failure(result(**fields), error)
    assert failed is not None
    assert failed.code == code


def test_a_long_reason_is_cut() -> None:
    failed = failure(result(is_error=True, errors=["x" * 100_000]), "")
    assert failed is not None
    assert len(failed.message) < 5_000
