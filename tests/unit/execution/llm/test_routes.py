"""Which provider serves which name."""

from typing import Any

import pytest

from trunkline.execution.errors import ModelError
from trunkline.execution.llm.routes import Routes

OPENAI_KEY = {"openai": "sk"}


def routes(
    keys: dict[str, str] | None = None,
    config: dict[str, Any] | None = None,
    env: dict[str, str] | None = None,
) -> Routes:
    return Routes(keys or {}, config or {}, env or {})


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("gpt-4o", "openai", "gpt-4o"),
        ("o3-mini", "openai", "o3-mini"),
        ("chatgpt-4o-latest", "openai", "chatgpt-4o-latest"),
        ("claude-sonnet-5-5", "anthropic", "claude-sonnet-5-5"),
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("anthropic/claude-opus-5", "anthropic", "claude-opus-5"),
        ("demo", "demo", "demo"),
        ("local", "local", "local"),
        ("local/anything", "local", "local"),
    ],
)
def test_a_name_says_who_serves_it(name: str, provider: str, model: str) -> None:
    route = routes().find(name)
    assert (route.provider, route.model) == (provider, model)


@pytest.mark.parametrize("name", ["llama3", "", "meta-llama/Llama-3", "orca", "x" * 10_000])
def test_an_unknown_name_is_refused_in_words(name: str) -> None:
    with pytest.raises(ModelError, match="No provider is known") as failed:
        routes(OPENAI_KEY).find(name)
    assert failed.value.code == "MODEL_NOT_FOUND"
    assert len(failed.value.message) < 400


def test_an_unknown_name_goes_to_the_base_url_of_ones_own() -> None:
    route = routes(env={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}).find("meta-llama/Llama-3")
    assert (route.provider, route.model) == ("openai", "meta-llama/Llama-3")
    assert route.base_url == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("name", "keys", "provider", "model"),
    [
        ("anthropic/claude-opus-5", OPENAI_KEY, "openai", "anthropic/claude-opus-5"),
        ("anthropic/claude-opus-5", {"anthropic": ""}, "openai", "anthropic/claude-opus-5"),
        ("anthropic/claude-opus-5", {"anthropic": "sk"}, "anthropic", "claude-opus-5"),
        ("openai/gpt-4o", OPENAI_KEY, "openai", "openai/gpt-4o"),
        ("openai/gpt-4o", {}, "openai", "openai/gpt-4o"),
        ("groq/llama", {"groq": ""}, "openai", "groq/llama"),
        ("gpt-4o", OPENAI_KEY, "openai", "gpt-4o"),
    ],
)
def test_a_gateway_gets_full_names_unless_the_provider_is_set_up(
    name: str, keys: dict[str, str], provider: str, model: str
) -> None:
    route = routes(keys, env={"OPENAI_BASE_URL": "https://gateway.example/api/v1"}).find(name)
    assert (route.provider, route.model) == (provider, model)


@pytest.mark.parametrize("url", ["", "https://api.openai.com/v1", "http://api.openai.com"])
def test_openai_itself_gets_the_name_without_its_own(url: str) -> None:
    route = routes(OPENAI_KEY, env={"OPENAI_BASE_URL": url}).find("openai/gpt-4o")
    assert (route.provider, route.model) == ("openai", "gpt-4o")


def test_a_provider_in_the_configuration_counts_without_a_key() -> None:
    config = {"providers": {"groq": {"base_url": "http://g/v1"}}}
    env = {"OPENAI_BASE_URL": "http://b/v1"}
    route = routes(config=config, env=env).find("groq/llama")
    assert (route.provider, route.model, route.base_url) == ("groq", "llama", "http://g/v1")


def test_the_configured_base_url_wins_over_the_environment() -> None:
    config = {"providers": {"openai": {"base_url": "http://a/v1"}}}
    found = routes(config=config, env={"OPENAI_BASE_URL": "http://b/v1"})
    assert found.base_url("openai") == "http://a/v1"


def test_a_version_at_the_end_of_anthropics_base_url_is_not_doubled() -> None:
    found = routes(env={"ANTHROPIC_BASE_URL": "http://a/v1/"})
    assert found.base_url("anthropic") == "http://a"


def test_a_provider_without_a_base_url_is_refused_in_words() -> None:
    with pytest.raises(ModelError, match="“groq” has no base URL"):
        routes({"groq": "key"}).find("groq/llama")


@pytest.mark.parametrize(
    ("keys", "config", "env", "wanted"),
    [
        ({}, {}, {}, "demo"),
        ({"openai": ""}, {}, {}, "demo"),
        ({}, {"default_model": "local"}, {}, "local"),
        (OPENAI_KEY, {"default_model": "claude-opus-5"}, {}, "claude-opus-5"),
        (OPENAI_KEY, {}, {}, "gpt-5.4-mini"),
        ({"anthropic": "sk"}, {}, {}, "claude-sonnet-5-5"),
        ({}, {}, {"ANTHROPIC_BASE_URL": "http://a"}, "claude-sonnet-5-5"),
    ],
)
def test_the_default_model_is_one_that_can_be_asked(
    keys: dict[str, str], config: dict[str, Any], env: dict[str, str], wanted: str
) -> None:
    assert routes(keys, config, env).default_model() == wanted


@pytest.mark.parametrize(
    "config",
    [
        {"default_model": 5, "fallback_model": ["x"], "providers": "openai"},
        {"providers": {"openai": "http://a"}},
        {"providers": {"openai": {"base_url": {"a": 1}}}},
        {"providers": {"openai": {"api": 7}}},
    ],
)
def test_a_configuration_of_the_wrong_shape_counts_as_none(config: dict[str, Any]) -> None:
    found = routes(OPENAI_KEY, config)
    assert found.default_model() == "gpt-5.4-mini"
    assert found.fallback_model() == ""
    assert found.find("gpt-4o").base_url == ""
    assert found.find("gpt-4o").api == "openai"
