"""`web_search`: each service in its own format, and what is said when none is set."""

from typing import Any

import pytest
from aiohttp import web

from tests.unit.execution.tools.support import Call
from tests.unit.execution.tools.web import serving
from trunkline.execution.errors import ToolError
from trunkline.execution.tools.web_search import WEB_RESULTS, Engine, WebSearch, chosen

HIT = {"title": "Tea  time", "url": "https://tea.example/", "content": "All about\n tea"}
SHOWN = "1. Tea time\n   https://tea.example/\n   All about tea"


def engine_at(name: str, url: str) -> Engine:
    found = chosen({name: "key-1"}, {"providers": {name: {"base_url": url}}}, {})
    assert found is not None
    return found


class Service:
    """A search service that remembers what it was asked."""

    def __init__(self, answer: Any, status: int = 200) -> None:
        self.answer = answer
        self.status = status
        self.asked: list[tuple[str, dict[str, str], dict[str, str], Any]] = []

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        self.asked.append((request.path, dict(request.query), dict(request.headers), body))
        return web.json_response(self.answer, status=self.status)


async def test_searxng_is_asked_by_its_address(call: Call) -> None:
    service = Service({"results": [HIT]})
    async with serving(service.handle) as url:
        result = await call.run(WebSearch(engine_at("searxng", f"{url}/")), query="tea & 茶")
    assert result.content == SHOWN
    assert service.asked[0][:2] == ("/search", {"q": "tea & 茶", "format": "json"})
    assert "Authorization" not in service.asked[0][2]


async def test_tavily_is_asked_with_its_key(call: Call) -> None:
    service = Service({"results": [HIT]})
    async with serving(service.handle) as url:
        result = await call.run(WebSearch(engine_at("tavily", url)), query="tea", max_results=3)
    assert result.content == SHOWN
    path, _, headers, body = service.asked[0]
    assert (path, headers["Authorization"]) == ("/search", "Bearer key-1")
    assert body == {"query": "tea", "max_results": 3}


async def test_brave_is_asked_with_its_key(call: Call) -> None:
    hit = {"title": "Tea time", "url": "https://tea.example/", "description": "All about tea"}
    service = Service({"web": {"results": [hit]}})
    async with serving(service.handle) as url:
        result = await call.run(WebSearch(engine_at("brave", url)), query="tea")
    assert result.content == SHOWN
    path, query, headers, _ = service.asked[0]
    assert (path, query) == ("/res/v1/web/search", {"q": "tea", "count": "5"})
    assert headers["X-Subscription-Token"] == "key-1"


def test_the_first_that_is_set_is_used_wherever_it_is_set() -> None:
    def name(keys: dict[str, str], config: dict[str, Any], env: dict[str, str]) -> str | None:
        engine = chosen(keys, config, env)
        return engine.name if engine else None

    assert name({}, {}, {}) is None
    assert name({}, {}, {"BRAVE_API_KEY": "k"}) == "Brave"
    assert name({"tavily": "k"}, {}, {"BRAVE_API_KEY": "k"}) == "Tavily"
    assert name({"tavily": "k"}, {}, {"SEARXNG_URL": "http://s"}) == "SearXNG"
    assert name({}, {"providers": {"searxng": {"base_url": "http://s"}}}, {}) == "SearXNG"
    assert name({}, {"providers": ["odd"]}, {}) is None
    assert name({}, {"providers": {"searxng": "odd"}}, {}) is None


async def test_without_any_service_it_says_how_to_get_one(call: Call) -> None:
    with pytest.raises(ToolError, match=r"SEARXNG_URL.*TAVILY_API_KEY.*BRAVE_API_KEY"):
        await call.run(WebSearch(None), query="tea")


@pytest.mark.parametrize(
    "answer",
    [
        {"results": "none"},
        {"results": [1, None, {"title": "no address"}, {"url": 7}, {"url": ""}]},
        [],
        "text",
        None,
    ],
    ids=repr,
)
async def test_an_answer_of_another_shape_is_no_result(call: Call, answer: Any) -> None:
    async with serving(Service(answer).handle) as url:
        result = await call.run(WebSearch(engine_at("searxng", url)), query="tea")
    assert result.content == "(nothing found)"


async def test_results_are_bounded(call: Call) -> None:
    hit = {"title": "t" * 9_000, "url": "https://x.example/" + "u" * 9_000, "content": "c" * 9_000}
    async with serving(Service({"results": [hit] * 50}).handle) as url:
        result = await call.run(WebSearch(engine_at("searxng", url)), query="tea")
    assert result.details["results"] == WEB_RESULTS
    assert len(result.content) < 30_000


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "refused the key"), (429, "fewer searches"), (500, "HTTP 500")]
)
async def test_a_refusal_is_told_without_the_key(call: Call, status: int, reason: str) -> None:
    async with serving(Service({}, status).handle) as url:
        with pytest.raises(ToolError, match=reason) as caught:
            await call.run(WebSearch(engine_at("tavily", url)), query="tea")
    assert "key-1" not in str(caught.value)


async def test_a_redirect_does_not_take_the_key_elsewhere(call: Call) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with serving(handler) as url:
        with pytest.raises(ToolError, match="HTTP 307"):
            await call.run(WebSearch(engine_at("tavily", url)), query="tea")
    assert seen == ["/search"]


async def test_a_service_that_is_not_there_or_talks_nonsense_is_told(call: Call) -> None:
    async def nonsense(request: web.Request) -> web.Response:
        return web.Response(text="<html>")

    async with serving(nonsense) as url:
        with pytest.raises(ToolError, match="no JSON"):
            await call.run(WebSearch(engine_at("searxng", url)), query="tea")
    with pytest.raises(ToolError, match="cannot be reached"):
        await call.run(WebSearch(engine_at("searxng", url)), query="tea")
    with pytest.raises(ToolError, match="cannot be reached"):
        await call.run(WebSearch(engine_at("searxng", "no address")), query="tea")


async def test_an_endless_answer_is_cut_off(call: Call) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b" " * 65536)
        except ConnectionError:
            return response

    async with serving(endless) as url:
        with pytest.raises(ToolError, match="answer is over"):
            await call.run(WebSearch(engine_at("searxng", url)), query="tea")
