"""Estimates of tokens: near enough for every script, and put right by what providers report."""

import pytest

from trunkline.execution.llm import tokens
from trunkline.execution.llm.base import Message, ToolCall, ToolSpec, Usage


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog.", 9, 15),  # 10 by OpenAI's tokenizer
        ("敏捷的棕色狐狸跳过了懒狗。", 10, 20),
        ("Быстрая коричневая лиса прыгает через ленивую собаку.", 12, 32),
        ("🦊" * 10, 10, 30),
        ("\ud800", 0, 3),  # half of a character
    ],
)
def test_a_text_is_estimated_by_its_script(text: str, least: float, most: float) -> None:
    assert least <= tokens.of_text(text) <= most


def test_everything_in_a_message_counts() -> None:
    plain = tokens.of_message(Message(role="user", content="hi"))
    for more in (
        {"note": "x" * 360},
        {"summary": "x" * 360},
        {"tool_calls": [ToolCall(id="1", name="bash", arguments={"command": "x" * 360})]},
        {"provider_blocks": {"blocks": [{"thinking": "x" * 360}]}},
        {"pictures": [{"media_type": "image/png", "path": "p"}]},
    ):
        message = Message(role="user", content="hi")
        message.update(more)  # type: ignore[typeddict-item]
        assert tokens.of_message(message) >= plain + 100
    assert tokens.of_tools([ToolSpec("bash", "x" * 360, {})]) >= 100


def test_what_a_provider_reports_counts_for_the_next_call() -> None:
    meter = tokens.Meter()
    meter.saw(1_000, Usage(tokens_in=1_500))
    assert meter.measured(1_000) == 1_500
    assert meter.measured(1_200) == 1_800
    assert meter.unmeasured(1_500) == 1_000


@pytest.mark.parametrize("reported", [0, 11, 10**12])
def test_what_cannot_have_been_is_not_believed(reported: int) -> None:
    meter = tokens.Meter()
    meter.saw(1_000, Usage(tokens_in=reported))
    assert meter.measured(1_000) == 1_000


def test_a_refusal_makes_the_estimate_grow() -> None:
    meter = tokens.Meter()
    meter.refused(1_000, 2_000)
    assert meter.measured(1_000) == 2_000
    meter.refused(1_000, 2_000)
    assert 2_000 < meter.measured(1_000) <= 3_000
