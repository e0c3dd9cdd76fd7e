"""`web_search`: titles, addresses and snippets from a search service."""

import aiohttp
import msgspec

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.tools.base import Json, Tool, ToolResult, ToolRun, object_schema
from trunkline.execution.tools.excerpt import shortened
from trunkline.execution.tools.search_engines import NONE_SET, Engine, Found


class WebSearch(Tool):
    name = "web_search"
    description = "Searches the web. Returns title, address and a snippet of each result."
    parameters = object_schema(
        {
            "query": {"type": "string", "minLength": 1, "maxLength": limits.WEB_QUERY_CHARS_MAX},
            "max_results": {"type": "integer", "minimum": 1, "maximum": limits.WEB_RESULTS_MAX},
        },
        required=["query"],
    )

    def __init__(self, engine: Engine | None, timeout_s: float = limits.WEB_TIMEOUT_S) -> None:
        self._engine = engine
        self._timeout_s = timeout_s

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        if self._engine is None:
            raise ToolError(NONE_SET)
        count = arguments.get("max_results", limits.WEB_RESULTS)
        found = (await self._ask(self._engine, arguments["query"], count))[:count]
        text = "\n\n".join(_shown(number, one) for number, one in enumerate(found, 1))
        return ToolResult(
            content=text or "(nothing found)",
            details={"engine": self._engine.name, "results": len(found)},
        )

    async def _ask(self, engine: Engine, query: str, count: int) -> list[Found]:
        asked = engine.request(query, count)
        try:
            async with (
                aiohttp.ClientSession(
                    timeout=aiohttp.ClientTimeout(total=self._timeout_s),
                    cookie_jar=aiohttp.DummyCookieJar(),
                ) as session,
                session.request(
                    asked.method,
                    asked.url,
                    params=asked.params,
                    headers=asked.headers,
                    json=asked.body,
                    allow_redirects=False,  # the key is for this address only
                ) as response,
            ):
                if response.status != 200:
                    raise ToolError(_refusal(engine.name, response.status))
                return engine.results(msgspec.json.decode(await _body(response)))
        except TimeoutError as error:
            raise ToolError(f"{engine.name} did not answer in {self._timeout_s:g} s") from error
        except msgspec.DecodeError as error:
            raise ToolError(f"{engine.name} answered with something that is no JSON") from error
        except (aiohttp.ClientError, ValueError) as error:
            # Without the text of the error, which may hold the request with its key.
            raise ToolError(f"{engine.name} cannot be reached") from error


async def _body(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limits.WEB_BODY_BYTES_MAX:
            raise ToolError("the search service's answer is too large")
    return bytes(body)


def _refusal(name: str, status: int) -> str:
    if status in (401, 403):
        return f"{name} refused the key or does not offer JSON (HTTP {status})"
    if status == 429:
        return f"{name} wants fewer searches for now (HTTP 429)"
    return f"{name} failed (HTTP {status})"


def _shown(number: int, found: Found) -> str:
    url = shortened(found.url, limits.WEB_URL_CHARS_MAX)
    snippet = shortened(found.snippet, limits.WEB_SNIPPET_CHARS_MAX)
    title = shortened(found.title, limits.NAME_CHARS_MAX)
    return f"{number}. {title}\n   {url}\n   {snippet}".rstrip()
