"""The search services `web_search` can use: where each is asked, how, and what it answers.

Which one a machine uses is decided by what is set for it: an address or a key.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from trunkline.execution.tools.base import Json

NONE_SET = (
    "web search is not set up on this machine. It works with a SearXNG server (SEARXNG_URL), a "
    "Tavily key (TAVILY_API_KEY) or a Brave key (BRAVE_API_KEY)."
)


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    url: str
    params: dict[str, str] = {}
    headers: dict[str, str] = {}
    body: Json | None = None


class Found(msgspec.Struct, frozen=True):
    title: str
    url: str
    snippet: str


class Engine(msgspec.Struct, frozen=True):
    """`request` makes the question, `results` finds the hits in the answer."""

    name: str
    request: Callable[[str, int], SearchRequest]
    results: Callable[[Any], list[Found]]


def chosen(api_keys: Mapping[str, str], llm_config: Json, env: Mapping[str, str]) -> Engine | None:
    """The first that is set: SearXNG, Tavily, Brave. Addresses and keys come with the session's
    configuration, or from the machine's environment."""
    providers = llm_config.get("providers")
    settings = providers if isinstance(providers, dict) else {}

    def address(name: str, default: str) -> str:
        found = settings.get(name)
        base_url = found.get("base_url") if isinstance(found, dict) else None
        return str(base_url or default).rstrip("/")

    searxng = address("searxng", env.get("SEARXNG_URL") or env.get("SEARXNG_BASE_URL") or "")
    if searxng:
        return _searxng(searxng)
    if key := api_keys.get("tavily") or env.get("TAVILY_API_KEY"):
        return _tavily(address("tavily", "https://api.tavily.com"), key)
    if key := api_keys.get("brave") or env.get("BRAVE_API_KEY"):
        return _brave(address("brave", "https://api.search.brave.com"), key)
    return None


def _searxng(base_url: str) -> Engine:
    def request(query: str, count: int) -> SearchRequest:
        params = {"q": query, "format": "json"}
        return SearchRequest(method="GET", url=f"{base_url}/search", params=params)

    return Engine("SearXNG", request, lambda answer: _hits(_at(answer, "results"), "content"))


def _tavily(base_url: str, key: str) -> Engine:
    def request(query: str, count: int) -> SearchRequest:
        return SearchRequest(
            method="POST",
            url=f"{base_url}/search",
            headers={"Authorization": f"Bearer {key}"},
            body={"query": query, "max_results": count},
        )

    return Engine("Tavily", request, lambda answer: _hits(_at(answer, "results"), "content"))


def _brave(base_url: str, key: str) -> Engine:
    def request(query: str, count: int) -> SearchRequest:
        return SearchRequest(
            method="GET",
            url=f"{base_url}/res/v1/web/search",
            params={"q": query, "count": str(count)},
            headers={"X-Subscription-Token": key},
        )

    def results(answer: Any) -> list[Found]:
        return _hits(_at(_at(answer, "web"), "results"), "description")

    return Engine("Brave", request, results)


def _at(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _hits(items: Any, snippet: str) -> list[Found]:
    """What a stranger calls results: only what has an address and is of the right shape."""
    if not isinstance(items, list):
        return []
    return [
        Found(_text(item.get("title")) or item["url"], item["url"], _text(item.get(snippet)))
        for item in items
        if isinstance(item, dict) and isinstance(item.get("url"), str) and item["url"]
    ]


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
