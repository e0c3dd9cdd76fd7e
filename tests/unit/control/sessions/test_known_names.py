"""Names that a session chooses, on machines that say what they know and on others."""

import pytest

from trunkline.control.machines.runtimes import Models, Runtime, runtimes_of
from trunkline.control.sessions.known_names import (
    unknown_model,
    unknown_setting,
    unlisted_model,
)

SAYS = Runtime(True, settings=["max_turns", "timeout_seconds"], models=Models(["groq"]))
KEYED = Runtime(True, models=Models(["groq", "openai", "anthropic"]))


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        *((name, True) for name in ("demo", "local", "local/x", "gpt-9", "o7-mini", "claude-x")),
        *((name, True) for name in ("groq/llama", "stored/x", "openai/anything", "anthropic/x")),
        *((name, False) for name in ("lama3.2", "gtp-4o", "nobody/x", "groq", "stored", "/", "💥")),
    ],
)
def test_a_model_that_nobody_serves_is_refused(name: str, is_known: bool) -> None:
    problem = unknown_model(KEYED, name, ["stored"], has_base_url=False)
    assert (problem is None) is is_known
    if problem is not None:
        assert problem.code == "MODEL_NOT_FOUND"
        assert "anthropic, groq, openai, stored have a key here" in problem.message
    assert unknown_model(SAYS, name, [], has_base_url=True) is None
    anything = Runtime(True, models=Models(["openai"], any=True))
    assert unknown_model(anything, name, [], has_base_url=False) is None
    assert unknown_model(Runtime(True), name, [], has_base_url=False) is None


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        *((name, "openai") for name in ("gpt-99", "GPT-4o", "o3-mini", "openai/x", " codex-1 ")),
        *((name, "anthropic") for name in ("claude-sonnet-5", "anthropic/claude-x")),
    ],
)
def test_a_model_of_a_provider_without_a_key_is_refused_with_those_that_have_one(
    name: str, provider: str
) -> None:
    problem = unknown_model(SAYS, name, ["stored"], has_base_url=False)
    assert problem is not None
    assert problem.code == "MODEL_KEY_MISSING"
    assert f"no API key for {provider}. groq, stored have a key here" in problem.message
    assert unknown_model(SAYS, name, [provider], has_base_url=False) is None
    assert unknown_model(KEYED, name, [], has_base_url=False) is None


@pytest.mark.parametrize(
    ("fallback", "is_answered"),
    [("groq/llama", True), ("demo", True), ("claude-x", False), ("gpt-99", False), (None, False)],
)
def test_a_model_without_a_key_passes_where_the_fallback_would_answer(
    fallback: str | None, is_answered: bool
) -> None:
    problem = unknown_model(SAYS, "gpt-99", [], has_base_url=False, fallback=fallback)
    assert (problem is None) is is_answered
    assert unknown_model(SAYS, "gtp-4o", [], has_base_url=False, fallback=fallback) is not None


@pytest.mark.parametrize("model", [None, "", " ", 7, ["gpt-4o"]])
def test_no_model_is_no_slip(model: object) -> None:
    assert unknown_model(SAYS, model, [], has_base_url=False) is None


def test_the_nearest_known_model_is_named() -> None:
    problem = unknown_model(SAYS, "gtp-4o", [], has_base_url=False)
    assert problem is not None
    assert "did you mean 'gpt-4o'? groq has a key here;" in problem.message
    assert "demo or local, which need no key" in problem.message
    nobody = unknown_model(Runtime(True, models=Models([])), "x", [], has_base_url=False)
    assert nobody is not None
    assert (
        "unknown model 'x'. No provider has a key here: `trunkline user set-key" in nobody.message
    )


def test_a_settings_name_is_refused_with_the_nearest_one() -> None:
    assert unknown_setting(SAYS, ["max_turns", "temperature", "system_prompt"]) is None
    problem = unknown_setting(SAYS, ["max_turn"])
    assert problem is not None
    assert (problem.code, problem.message) == (
        "UNKNOWN_FIELD",
        "unknown setting 'max_turn': did you mean 'max_turns'?",
    )
    assert unknown_setting(Runtime(True), ["whatever"]) is None


@pytest.mark.parametrize("said", [None, 7, {"providers": 3}, {"providers": None}, "x", []])
def test_what_a_machine_says_is_checked(said: object) -> None:
    details = {"semigraph": {"usable": True, "settings": said, "models": said}}
    health = {"runtimes": ["semigraph"], "runtime_details": details}
    found = runtimes_of(health)["semigraph"]
    assert found.models is None
    assert found.settings in (None, [])


def test_what_a_machine_says_is_bounded() -> None:
    names = ["x" * 41, 5, *(f"n{number}" for number in range(500))]
    details = {"semigraph": {"settings": names, "models": {"providers": names, "any": 1}}}
    found = runtimes_of({"runtimes": ["semigraph"], "runtime_details": details})["semigraph"]
    assert found.settings is not None
    assert found.models is not None
    assert len(found.settings) == len(found.models.providers) == 98
    assert found.models.any is False


@pytest.mark.parametrize(
    ("model", "nearest"),
    [
        ("gpt-nwe", "gpt-new"),
        ("openai/gpt-99", ""),
        ("claude-sonet-9", "claude-sonnet-9-20270101"),
        ("gpt-new", None),
        ("openai/gpt-new", None),
        ("claude-sonnet-9", None),
        ("claude-sonnet-9-latest", None),
        ("gpt-4o", None),
        ("groq/gpt-99", None),
        ("ft:mine", None),
        ("demo", None),
        (7, None),
    ],
)
def test_a_name_like_a_providers_is_held_against_the_providers_own_list(
    model: object, nearest: str | None
) -> None:
    listed = {
        "openai": ["gpt-new", "gpt-4.1-mini-2025", "whisper"],
        "anthropic": ["claude-sonnet-9-20270101"],
    }
    problem = unlisted_model(model, listed)
    assert (problem is None) is (nearest is None)
    if problem is not None and nearest:
        assert f"did you mean '{nearest}'?" in problem.message
    assert unlisted_model(model, {}) is None
