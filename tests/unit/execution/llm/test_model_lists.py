"""Servers are asked how much their models read, and what they say is checked."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from trunkline.execution.llm.model_lists import asked_window
from trunkline.execution.llm.routes import Route

Json = dict[str, Any]
ROUTE = Route(provider="openai", model="m", api="openai", base_url="http://there/v1")


def answering(pages: dict[str, Any], seen: list[httpx2.Request]) -> httpx2.AsyncClient:
    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        page = pages.get(request.url.path)
        if page is None:
            return httpx2.Response(404)
        return httpx2.Response(
            200, **({"content": page} if isinstance(page, bytes) else {"json": page})
        )

    return httpx2.AsyncClient(transport=httpx2.MockTransport(answer))


@pytest.fixture
def seen() -> list[httpx2.Request]:
    return []


@pytest.fixture
def ask(seen: list[httpx2.Request]) -> Callable[..., Any]:
    async def asked(pages: dict[str, Any], route: Route = ROUTE) -> int | None:
        async with answering(pages, seen) as http:
            return await asked_window(http, route, route.base_url, "sk-secret")

    return asked


def listed(**fields: Any) -> Json:
    return {"/v1/models": {"data": [{"id": "other", "context_length": 777}, {"id": "m", **fields}]}}


OLLAMA = listed(owned_by="library")


@pytest.mark.parametrize(
    ("pages", "window"),
    [
        (listed(context_length=131_072), 131_072),
        (listed(max_model_len=16_384, owned_by="vllm"), 16_384),
        # llama.cpp serves less than the model was trained for, and one model under any name.
        (
            {
                **listed(owned_by="llamacpp", meta={"n_ctx_train": 131_072}),
                "/props": {"default_generation_settings": {"n_ctx": 4096}},
            },
            4096,
        ),
        (
            {
                "/v1/models": {"data": [{"id": "file.gguf", "owned_by": "llamacpp"}]},
                "/props": {"default_generation_settings": {"n_ctx": 8192}},
            },
            8192,
        ),
        # Ollama: as it is loaded, as its own file says, as it loads what says nothing.
        ({**OLLAMA, "/api/ps": {"models": [{"name": "m:latest", "context_length": 8192}]}}, 8192),
        (
            {
                **OLLAMA,
                "/api/ps": {"models": []},
                "/api/show": {"parameters": "stop x\nnum_ctx    16384\n"},
            },
            16_384,
        ),
        ({**OLLAMA, "/api/ps": {"models": []}, "/api/show": {"model_info": {}}}, 4096),
        # Those that do not say, or say nonsense.
        (OLLAMA, None),
        ({}, None),
        ({"/v1/models": {"data": [{"id": "other", "context_length": 8192}]}}, None),
        ({"/v1/models": b"<html>no</html>"}, None),
        ({"/v1/models": [1, 2]}, None),
        ({"/v1/models": {"data": {"m": 1}}}, None),
        ({"/v1/models": {"data": [None, 5, {"id": ["m"]}]}}, None),
        ({"/v1/models": b'{"data": [' + b"1," * 5_000_000 + b"1]}"}, None),
        (listed(context_length=10**30), None),
    ],
)
async def test_a_server_says_what_it_serves(
    ask: Callable[..., Any], pages: dict[str, Any], window: int | None
) -> None:
    assert await ask(pages) == window


async def test_anthropic_is_asked_for_the_one_model(
    ask: Callable[..., Any], seen: list[httpx2.Request]
) -> None:
    route = Route(provider="anthropic", model="claude/x", api="anthropic", base_url="http://there")
    pages = {"/v1/models/claude/x": {"id": "claude/x", "max_input_tokens": 1_000_000}}
    assert await ask(pages, route) == 1_000_000
    assert seen[0].url.raw_path == b"/v1/models/claude%2Fx"
    assert seen[0].headers["x-api-key"] == "sk-secret"


async def test_the_key_goes_to_its_own_server_only(
    ask: Callable[..., Any], seen: list[httpx2.Request]
) -> None:
    await ask({**OLLAMA, "/api/ps": {"models": []}})
    assert {one.url.host for one in seen} == {"there"}
    assert {one.headers["authorization"] for one in seen} == {"Bearer sk-secret"}


async def test_one_that_cannot_be_reached_says_nothing() -> None:
    def broken(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("no")

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(broken)) as http:
        assert await asked_window(http, ROUTE, ROUTE.base_url, "") is None
        assert await asked_window(http, ROUTE, "no url at all", "") is None
