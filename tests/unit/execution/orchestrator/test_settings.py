"""Settings from outside: the good ones count, the others are named and change nothing."""

from typing import Any

import pytest

from trunkline import limits
from trunkline.execution.orchestrator.settings import Settings, read_settings, unknown_names


def test_an_agent_without_settings_has_the_documented_ones() -> None:
    settings, problems = read_settings({}, {})
    assert problems == []
    assert (settings.max_turns, settings.timeout_seconds) == (50, 3600)
    assert settings.max_tool_calls == 10
    assert settings.approval_timeout_seconds == 300
    assert settings.confirm == "never"


def test_the_sessions_own_settings_win_and_other_names_are_left_to_others() -> None:
    agent = {"id": "a", "name": "Ada", "model": "gpt-x", "confirm": "always", "temperature": None}
    settings, problems = read_settings(agent, {"max_turns": 3, "confirm": "dangerous"})
    assert problems == []
    assert (settings.model, settings.confirm, settings.max_turns) == ("gpt-x", "dangerous", 3)
    assert settings.temperature is None


BAD: dict[str, list[Any]] = {
    "temperature": ["hot", -0.1, 2.1, [], True],
    "max_tokens": [0, -5, 1.5, 10**30, "many"],
    "confirm": ["sometimes", 1, {}],
    "tools": ["bash", [1], ["x"] * (limits.NAMES_MAX + 1)],
    "max_turns": [0, 10**9, "3"],
    "timeout_seconds": [0, -1, 10**9],
    "model": [5, "m" * 1000],
    "system_prompt": ["x" * (limits.TEXT_CHARS_MAX + 1)],
    "evolution": ["yes"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_a_bad_value_is_named_and_the_rest_counts(name: str, value: Any) -> None:
    before = Settings(max_tokens=7)
    after, problems = before.changed({name: value, "thinking_tokens": 5})
    assert len(problems) == 1
    assert problems[0].startswith(name)
    assert after == Settings(max_tokens=7, thinking_tokens=5)


def test_null_brings_the_default_back() -> None:
    after, problems = Settings(temperature=1.0, confirm="always").changed(
        {"temperature": None, "confirm": None}
    )
    assert problems == []
    assert after == Settings()


def test_names_that_are_no_settings_are_known_as_such() -> None:
    assert unknown_names({"model": "x", "colour": "red", "Model": 1}) == ["Model", "colour"]
