"""Asks a model's server how much the model can read: its own list of models, and what llama.cpp,
Ollama and Anthropic say besides. Everything that comes back is from outside: bounded, and taken
only where it is a number that can be a window."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import httpx2
import msgspec
import structlog

from trunkline import limits
from trunkline.execution.llm.routes import Route
from trunkline.execution.llm.windows import listed_window

ASKING_S = 5.0  # for everything together
_ANSWER_BYTES_MAX = 8 * limits.MIB  # lists of gateways are long
_OLLAMA_DEFAULT = 4_096  # what it serves where nothing says otherwise

log = structlog.get_logger(__name__)


async def asked_window(
    http: httpx2.AsyncClient, route: Route, base_url: str, key: str
) -> int | None:
    """None: it does not say, or cannot be asked."""
    asking = _Asking(http, route, base_url, key)
    try:
        async with asyncio.timeout(ASKING_S):
            async for window in asking.answers():
                if window is not None:
                    return window
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError, OSError) as error:
        log.info("window_not_told", model=route.model, reason=repr(error)[:200])
    return None


class _Asking:
    def __init__(self, http: httpx2.AsyncClient, route: Route, base_url: str, key: str) -> None:
        self._http = http
        self._route = route
        self._base_url = base_url.rstrip("/")
        self._key = key
        parts = urlsplit(self._base_url)
        path = parts.path.rstrip("/").removesuffix("/v1")
        self._root = urlunsplit((parts.scheme, parts.netloc, path, "", ""))

    async def answers(self) -> AsyncIterator[int | None]:
        model = self._route.model
        if self._route.api == "anthropic":
            yield listed_window(await self._get(f"{self._root}/v1/models/{quote(model, safe='')}"))
            return
        entry = _named(await self._get(f"{self._base_url}/models"), model)
        owner = entry.get("owned_by")
        if owner == "llamacpp":
            yield _llama_cpp(await self._get(f"{self._root}/props"))
        yield listed_window(entry)
        if entry:
            yield await self._ollama(model)

    async def _ollama(self, model: str) -> int | None:
        """The window that it has the model loaded with, else what the model's own file sets, else
        what it loads everything with: it says nothing of what it leaves out."""
        running = await self._get(f"{self._root}/api/ps")
        if not isinstance(running, dict) or "models" not in running:
            return None
        if window := listed_window(_named({"data": running["models"]}, model)):
            return window
        shown = await self._post(f"{self._root}/api/show", {"model": model})
        parameters = shown.get("parameters") if isinstance(shown, dict) else None
        for line in str(parameters or "").splitlines():
            name, _, value = line.strip().partition(" ")
            if name == "num_ctx" and value.strip().isdigit():
                return listed_window({"n_ctx": int(value)})
        return _OLLAMA_DEFAULT

    async def _get(self, url: str) -> Any:
        return await self._json(self._http.build_request("GET", url, headers=self._headers()))

    async def _post(self, url: str, body: Any) -> Any:
        request = self._http.build_request("POST", url, headers=self._headers(), json=body)
        return await self._json(request)

    async def _json(self, request: httpx2.Request) -> Any:
        response = await self._http.send(request, stream=True)
        try:
            if response.status_code != 200:
                return None
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > _ANSWER_BYTES_MAX:
                    return None
            return msgspec.json.decode(body)
        finally:
            await response.aclose()

    def _headers(self) -> dict[str, str]:
        if not self._key:
            return {}
        if self._route.api == "anthropic":
            return {"x-api-key": self._key, "anthropic-version": "2023-06-01"}
        return {"authorization": f"Bearer {self._key}"}


def _named(listed: Any, model: str) -> dict[str, Any]:
    """The entry of a model in a list; `latest` is what Ollama means where no tag is named."""
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return {}
    for entry in entries:
        if isinstance(entry, dict):
            names = (entry.get("id"), entry.get("name"), entry.get("model"))
            if model in names or f"{model}:latest" in names:
                return entry
    # llama.cpp serves one model, whatever it is asked for.
    only = entries[0] if len(entries) == 1 else None
    return only if isinstance(only, dict) and only.get("owned_by") == "llamacpp" else {}


def _llama_cpp(props: Any) -> int | None:
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    return listed_window(settings)
