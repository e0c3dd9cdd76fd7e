"""The environment variable of document 001 that switches LLM messages on."""

import pytest

from trunkline.control.settings import load


@pytest.mark.proves("001-5-llm-messages-values")
@pytest.mark.parametrize(
    ("value", "is_on"),
    [
        ("true", True),
        ("1", True),
        ("yes", True),
        ("on", True),
        ("TRUE", True),
        ("false", False),
        ("0", False),
        ("no", False),
        ("", False),
        ("maybe", False),
    ],
)
def test_the_documented_values_switch_llm_messages_on(value: str, is_on: bool) -> None:
    assert load(env={"SEND_LLM_MESSAGE": value}).send_llm_message is is_on


@pytest.mark.proves("001-5-llm-messages-off-by-default")
def test_without_the_variable_they_are_off() -> None:
    assert load(env={}).send_llm_message is False
