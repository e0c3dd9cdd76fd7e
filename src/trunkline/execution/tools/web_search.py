"""`web_search`: titles, addresses and snippets from a search service.

Which of the services a machine uses is decided by what is set for it: an address or a key.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.fence.hosts import EVERYWHERE, Reach
from trunkline.execution.json_object import Json
from trunkline.execution.texts import shortened
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, object_schema
from trunkline.execution.tools.web_fetch import read_body

WEB_QUERY_CHARS_MAX = 400
WEB_RESULTS = 5
WEB_RESULTS_MAX = 20
WEB_SNIPPET_CHARS_MAX = 500

NONE_SET = (
    "web search is not set up on this machine. It works with a SearXNG server (SEARXNG_URL), a "
    "Tavily key (TAVILY_API_KEY) or a Brave key (BRAVE_API_KEY)."
)


class Found(msgspec.Struct, frozen=True):
    title: str
    url: str
    snippet: str


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """A service: how it is asked, and where in its answer the hits are."""

    name: str
    url: str
    question: Callable[[str, int], Json]
    """The words and how many hits, in the service's names."""
    headers: dict[str, str] = {}
    is_post: bool = False
    results: tuple[str, ...] = ("results",)
    snippet: str = "content"

    def hits(self, answer: Any) -> list[Found]:
        for key in self.results:
            answer = answer.get(key) if isinstance(answer, dict) else None
        return _hits(answer, self.snippet)


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
        return Engine(
            name="SearXNG",
            url=f"{searxng}/search",
            question=lambda query, _count: {"q": query, "format": "json"},
        )
    if key := api_keys.get("tavily") or env.get("TAVILY_API_KEY"):
        return Engine(
            name="Tavily",
            url=f"{address('tavily', 'https://api.tavily.com')}/search",
            question=lambda query, count: {"query": query, "max_results": count},
            headers={"Authorization": f"Bearer {key}"},
            is_post=True,
        )
    if key := api_keys.get("brave") or env.get("BRAVE_API_KEY"):
        return Engine(
            name="Brave",
            url=f"{address('brave', 'https://api.search.brave.com')}/res/v1/web/search",
            question=lambda query, count: {"q": query, "count": count},
            headers={"X-Subscription-Token": key},
            results=("web", "results"),
            snippet="description",
        )
    return None


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


class WebSearch(Tool):
    name = "web_search"
    reveals = True
    brings = True
    description = "Searches the web. Returns title, address and a snippet of each result."
    parameters = object_schema(
        {
            "query": {"type": "string", "minLength": 1, "maxLength": WEB_QUERY_CHARS_MAX},
            "max_results": {"type": "integer", "minimum": 1, "maximum": WEB_RESULTS_MAX},
        },
        required=["query"],
    )

    def __init__(
        self,
        engine: Engine | None,
        timeout_s: float = limits.WEB_TIMEOUT_S,
        reach: Reach = EVERYWHERE,
    ) -> None:
        self._reach = reach
        self._engine = engine
        self._timeout_s = timeout_s

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        if self._engine is None:
            raise ToolError(NONE_SET)
        self._reach.check(urlsplit(self._engine.url).hostname)
        count = arguments.get("max_results", WEB_RESULTS)
        found = (await self._ask(self._engine, arguments["query"], count))[:count]
        text = "\n\n".join(_shown(number, one) for number, one in enumerate(found, 1))
        return ToolResult(
            content=text or "(nothing found)",
            details={"engine": self._engine.name, "results": len(found)},
        )

    async def _ask(self, engine: Engine, query: str, count: int) -> list[Found]:
        question = engine.question(query, count)
        try:
            async with (
                aiohttp.ClientSession(
                    timeout=aiohttp.ClientTimeout(total=self._timeout_s),
                    cookie_jar=aiohttp.DummyCookieJar(),
                ) as session,
                session.request(
                    "POST" if engine.is_post else "GET",
                    engine.url,
                    params=None if engine.is_post else question,
                    json=question if engine.is_post else None,
                    headers=engine.headers,
                    allow_redirects=False,  # the key is for this address only
                ) as response,
            ):
                if response.status != 200:
                    raise ToolError(_refusal(engine.name, response.status))
                return engine.hits(
                    msgspec.json.decode(await read_body(response, "the search service's answer"))
                )
        except TimeoutError as error:
            raise ToolError(f"{engine.name} did not answer in {self._timeout_s:g} s") from error
        except msgspec.DecodeError as error:
            raise ToolError(f"{engine.name} answered with something that is no JSON") from error
        except (aiohttp.ClientError, ValueError) as error:
            # Without the text of the error, which may hold the request with its key.
            raise ToolError(f"{engine.name} cannot be reached") from error


def _refusal(name: str, status: int) -> str:
    if status in (401, 403):
        return f"{name} refused the key or does not offer JSON (HTTP {status})"
    if status == 429:
        return f"{name} wants fewer searches for now (HTTP 429)"
    return f"{name} failed (HTTP {status})"


def _shown(number: int, found: Found) -> str:
    url = shortened(found.url, limits.WEB_URL_CHARS_MAX)
    snippet = shortened(found.snippet, WEB_SNIPPET_CHARS_MAX)
    title = shortened(found.title, limits.NAME_CHARS_MAX)
    return f"{number}. {title}\n   {url}\n   {snippet}".rstrip()
