"""Providers that the operator's environment names: keys and addresses for the first user.

Lent to that user's machines only: whoever gets a key in `init` can read it there.
"""

from collections.abc import Mapping

from trunkline import limits
from trunkline.control.errors import InvalidRequest
from trunkline.control.records.credentials import Revealed

PROVIDERS = ("openai", "anthropic", "tavily", "brave", "searxng")


def from_environment(env: Mapping[str, str]) -> list[Revealed]:
    """What `OPENAI_API_KEY`, `OPENAI_BASE_URL` and their like say. An address needs no key."""
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
