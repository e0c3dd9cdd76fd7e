"""Which provider serves a model, by the model's name and what is configured.

Names: `gpt-…`, `o3…` go to OpenAI, `claude-…` to Anthropic, `provider/model` to the provider it
names, if that is set up; `demo` and `local` need no key. Any other name goes to OpenAI's base URL,
if one is set.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.llm.errors import Service, no_base_url, unknown_model

DEMO, LOCAL = "demo", "local"
_OPENAI = re.compile(r"(?:gpt-|chatgpt-|codex-|o\d)", re.IGNORECASE)
_ANTHROPIC = re.compile(r"claude", re.IGNORECASE)
_OPENAI_HOST = "api.openai.com"
_DEFAULT_MODELS = {"openai": "gpt-5.4-mini", "anthropic": "claude-sonnet-5-5"}


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where a call goes. `api`: the format that is spoken there, or `demo`, or `local`."""

    provider: str
    model: str
    api: str
    base_url: str = ""


class Routes:
    """Reads the configuration that came with `init`; it is data from outside."""

    def __init__(
        self, api_keys: Mapping[str, str], llm_config: Mapping[str, Any], env: Mapping[str, str]
    ) -> None:
        self._keys = api_keys
        self._config = llm_config
        self._env = env

    def default_model(self) -> str:
        """The model of an agent that names none."""
        if named := _text(self._config, "default_model"):
            return named
        for provider, model in _DEFAULT_MODELS.items():
            if self._keys.get(provider) or self.base_url(provider):
                return model
        return DEMO

    def fallback_model(self) -> str:
        return _text(self._config, "fallback_model")

    def base_url(self, provider: str) -> str:
        url = _text(self._provider(provider), "base_url")
        if not url and provider in _DEFAULT_MODELS:
            url = self._env.get(f"{provider.upper()}_BASE_URL", "").strip()
        # The SDK adds the version to the path by itself.
        return url.rstrip("/").removesuffix("/v1") if provider == "anthropic" else url

    def offered(self) -> dict[str, Any]:
        """Whose models can be asked for, as the machine tells it."""
        is_any = bool(self.base_url("openai"))
        return {"providers": self.set_up(), "any": is_any, "default": self.default_model()}

    def set_up(self) -> list[str]:
        """The providers that there is a key or an address for."""
        config = self._config.get("providers")
        named = {*self._keys, *(config if isinstance(config, Mapping) else ()), *_DEFAULT_MODELS}
        return sorted(one for one in named if isinstance(one, str) and self._is_set_up(one))

    def find(self, name: str) -> Route:
        """Raises ModelError for a name that nobody serves."""
        named, _, rest = name.partition("/")
        if DEMO in (name, named):
            return Route(provider=DEMO, model=DEMO, api=DEMO)
        if LOCAL in (name, named):
            return Route(provider=LOCAL, model=LOCAL, api=LOCAL)
        if rest and self._is_set_up(named):
            return self._route(named, name if self._is_gateway(named) else rest)
        if _ANTHROPIC.match(name):
            return self._route("anthropic", name)
        if _OPENAI.match(name) or self.base_url("openai"):
            return self._route("openai", name)
        if rest and named in _DEFAULT_MODELS:
            return self._route(named, rest)  # the provider says what it lacks: a key
        raise unknown_model(name, self.set_up())

    def _route(self, provider: str, model: str) -> Route:
        url = self.base_url(provider)
        if not url and provider not in _DEFAULT_MODELS:
            raise no_base_url(provider)
        spoken = _text(self._provider(provider), "api")
        usual = provider if provider in _DEFAULT_MODELS else "openai"
        api = spoken if spoken in _DEFAULT_MODELS else usual
        return Route(provider=provider, model=model, api=api, base_url=url)

    def _is_set_up(self, name: str) -> bool:
        return bool(self._keys.get(name) or self.base_url(name) or self._provider(name))

    def _is_gateway(self, name: str) -> bool:
        """Whether OpenAI's calls go to another server: one with models of many, by full names."""
        url = self.base_url(name)
        return name == "openai" and bool(url) and Service.at(name, url).host != _OPENAI_HOST

    def _provider(self, name: str) -> Mapping[str, Any]:
        providers = self._config.get("providers")
        found = providers.get(name) if isinstance(providers, Mapping) else None
        return found if isinstance(found, Mapping) else {}


def _text(config: Mapping[str, Any], name: str) -> str:
    value = config.get(name)
    return value.strip()[: limits.URL_CHARS_MAX] if isinstance(value, str) else ""
