"""Which models a user's machines may call, and how: the keys and `llm_config` of `init`.

What the operator's environment names is lent to the first user's machines only: whoever gets a
key in `init` can read it there.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.errors import InvalidRequest
from trunkline.control.records.credentials import Credentials, Revealed
from trunkline.control.settings import Settings

PROVIDERS = ("openai", "anthropic", "tavily", "brave", "searxng")


class Access(msgspec.Struct, frozen=True):
    """Never logged, never stored."""

    api_keys: dict[str, str]
    llm_config: dict[str, Any]


class ModelAccess:
    """What the VM edge tells machines about models."""

    def __init__(self, credentials: Credentials, settings: Settings) -> None:
        self.credentials = credentials
        models = {
            "default_model": settings.default_model,
            "fallback_model": settings.fallback_model,
        }
        self._models = {name: model for name, model in models.items() if model}

    async def of(self, user_id: str) -> Access:
        keys = await self.credentials.reveal(user_id)
        urls = {key.provider: {"base_url": key.base_url} for key in keys if key.base_url}
        config = {**self._models, **({"providers": urls} if urls else {})}
        return Access({key.provider: key.api_key for key in keys if key.api_key}, config)


def from_environment(env: Mapping[str, str]) -> list[Revealed]:
    """The keys and addresses in `OPENAI_API_KEY`, `OPENAI_BASE_URL` and the like."""
    found = []
    for provider in PROVIDERS:
        api_key = env.get(f"{provider.upper()}_API_KEY", "").strip()
        base_url = env.get(f"{provider.upper()}_BASE_URL", "").strip()
        if len(api_key) > limits.API_KEY_CHARS_MAX or len(base_url) > limits.URL_CHARS_MAX:
            raise InvalidRequest(
                f"settings: {provider.upper()}_API_KEY or _BASE_URL is too long",
                code="INVALID_SETTINGS",
            )
        if api_key or base_url:
            found.append(Revealed(provider, api_key, base_url or None))
    return found
