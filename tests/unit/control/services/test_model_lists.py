"""A key or an address is tried against a real server, with whatever such a server may answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tests.support.eventually import until
from trunkline.control.errors import InvalidRequest, LimitReached
from trunkline.control.records.credentials import Revealed
from trunkline.control.services import model_lists
from trunkline.control.services.model_lists import (
    HEARD_MAX,
    HEARD_S,
    ModelList,
    ModelLists,
)

KEY = "sk-a-key-that-nobody-may-read"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Says one thing at one path; every request is kept."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[web.Request] = []

    @property
    def keys(self) -> list[str | None]:
        return [
            one.headers.get("x-api-key") or one.headers.get("authorization")
            for one in self.requests
        ]


@asynccontextmanager
async def serving(answer: Answer, path: str = "/v1/models") -> AsyncIterator[Server]:
    server = Server("")

    async def keep(request: web.Request) -> web.StreamResponse:
        server.requests.append(request)
        if path not in (request.path, "*"):
            return web.json_response({"error": "not here"}, status=404)
        return await answer(request)

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", keep)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


def says(body: Any, status: int = 200, **options: Any) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(text=text, status=status, **options)

    return answer


async def ask(
    base_url: str | None,
    provider: str = "openai",
    known: Revealed | None = None,
    *,
    api_key: str | None = KEY,
    is_admin: bool = True,
) -> ModelList:
    lists = ModelLists("")
    return await lists.ask(
        "ann", provider, known, api_key=api_key, base_url=base_url, is_admin=is_admin
    )


async def test_a_server_lists_its_models() -> None:
    async with serving(says({"data": [{"id": "llama3.2"}, {"id": "qwen"}]})) as server:
        found = await ask(f"{server.url}/v1")
        assert (found.ok, found.models, found.base_url) == (
            True,
            ["llama3.2", "qwen"],
            f"{server.url}/v1",
        )
        assert server.keys == [f"Bearer {KEY}"]
        found = await ask(f"{server.url}/v1/", "anthropic")
        assert (found.models, found.base_url) == (["llama3.2", "qwen"], server.url)
        assert server.keys[1:] == [KEY]
        assert (await ask(f"{server.url}/v1", api_key=None)).ok, "some need no key"
        assert server.keys[2:] == [None]


async def test_a_version_that_was_left_out_of_an_address_is_found() -> None:
    async with serving(says({"data": [{"id": "llama3.2"}]})) as server:
        found = await ask(server.url, "ollama")
        assert (found.ok, found.base_url) == (True, f"{server.url}/v1")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (says({"error": "who are you"}, 401), "KEY_REFUSED"),
        (says("no", 403), "KEY_REFUSED"),
        (says("slow down", 429), "SERVER_FAILED"),
        (says("oh", 500), "SERVER_FAILED"),
        (says("<html>a shop</html>"), "NOT_A_MODEL_SERVER"),
        (says({"data": {"id": "x"}}), "NOT_A_MODEL_SERVER"),
        (says("[" * 100_000), "NOT_A_MODEL_SERVER"),
        (says("x" * (8 * 1024 * 1024 + 1)), "NOT_A_MODEL_SERVER"),
        (says("", headers={"Content-Encoding": "gzip"}), "NOT_A_MODEL_SERVER"),
        (says("gone", 404), "NOT_A_MODEL_SERVER"),
    ],
)
async def test_what_is_wrong_is_told_apart_without_the_key(answer: Answer, code: str) -> None:
    async with serving(answer) as server:
        found = await ask(f"{server.url}/v1")
        assert (found.ok, found.models, found.code) == (False, [], code)
        assert found.error
        assert KEY not in found.error


async def test_a_redirect_is_not_followed_with_a_key() -> None:
    async with serving(says({"data": []})) as thief:
        away = says("", 302, headers={"Location": f"{thief.url}/v1/models"})
        async with serving(away) as server:
            assert (await ask(f"{server.url}/v1")).code == "NOT_A_MODEL_SERVER"
        assert thief.requests == []


async def test_names_of_models_are_bounded_and_printable() -> None:
    entries = [{"id": "ok"}, {"id": "a\nb"}, {"id": "x" * 201}, {"id": 7}, {"id": ""}, "x", None]
    entries += [{"id": f"m-{number}"} for number in range(3_000)]
    async with serving(says({"data": entries})) as server:
        found = await ask(f"{server.url}/v1")
        assert len(found.models) == model_lists.MODELS_MAX
        assert all(name.isprintable() and len(name) <= 200 for name in found.models)


@pytest.mark.parametrize(
    "base_url",
    ["http://127.0.0.1:1/v1", "http://nobody.invalid/v1"],
)
async def test_nobody_there_is_unreachable(base_url: str) -> None:
    assert (await ask(base_url)).code == "UNREACHABLE"


@pytest.mark.parametrize(
    "base_url",
    ["http://[::1", "http://127.0.0.1:99999/v1", "http://a..b/v1", "http://\u2028/v1"],
)
async def test_an_address_that_is_none_is_told_in_words(base_url: str) -> None:
    found = await ask(base_url)
    assert (found.ok, bool(found.error)) == (False, True)


async def test_only_an_administrator_reaches_the_hosts_own_network() -> None:
    async with serving(says({"data": []})) as server:
        refused = await ask(f"{server.url}/v1", is_admin=False)
        assert (refused.code, server.requests) == ("ADDRESS_REFUSED", [])


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "::ffff:127.0.0.1"])
async def test_nobody_reaches_what_a_cloud_tells_its_hosts(address: str) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return [address]

    found = await ModelLists("", resolve).ask(
        "ada", "openai", None, api_key=KEY, base_url="http://models.example/v1", is_admin=True
    )
    assert found.code == "ADDRESS_REFUSED"


async def test_a_stored_key_goes_only_where_it_is_stored_for() -> None:
    async with serving(says({"data": []})) as server, serving(says({"data": []})) as thief:
        known = Revealed("openai", "stored-key", f"{server.url}/v1")
        await ask(None, known=known, api_key=None)
        await ask(f"{server.url}/v1", known=known, api_key=None)
        await ask(f"{thief.url}/v1", known=known, api_key=None)
        assert server.keys == ["Bearer stored-key"] * 2
        assert thief.keys == [None]


async def test_a_key_that_cannot_travel_is_refused_here() -> None:
    assert (await ask("http://127.0.0.1:1/v1", api_key="sk-\x00\x7f")).code == "KEY_REFUSED"
    assert (await ask("http://127.0.0.1:1/v1", api_key="鑰匙")).code == "KEY_REFUSED"


async def test_a_provider_without_an_address_or_models_is_a_wrong_request() -> None:
    for provider in ("groq", "tavily"):
        with pytest.raises(InvalidRequest):
            await ask(None, provider)


async def test_tests_of_one_user_are_few_at_a_time() -> None:
    let_go = asyncio.Event()

    async def wait(_: web.Request) -> web.StreamResponse:
        await let_go.wait()
        return web.json_response({"data": []})

    async with serving(wait) as server:
        lists = ModelLists("")

        async def one(user: str) -> ModelList:
            url = f"{server.url}/v1"
            return await lists.ask(user, "openai", None, api_key=KEY, base_url=url, is_admin=True)

        asking = [asyncio.create_task(one("ann")) for _ in range(model_lists.PER_USER_MAX)]
        await until(lambda: len(server.requests) == model_lists.PER_USER_MAX)
        with pytest.raises(LimitReached):
            await one("ann")
        other = asyncio.create_task(one("bob"))
        let_go.set()
        assert all(found.ok for found in await asyncio.gather(*asking, other))
        assert (await one("ann")).ok


def test_a_providers_list_is_remembered_for_its_user_and_for_a_while() -> None:
    now = [0.0]
    lists = ModelLists("", now=lambda: now[0])
    lists.heard("ann", "openai", ["gpt-x"])
    lists.heard("bob", "openai", ["gpt-y"])
    assert lists.of("ann") == {"openai": ["gpt-x"]}
    for number in range(HEARD_MAX - 1):
        lists.heard(f"user {number}", "openai", ["gpt-z"])
    assert lists.of("ann") == {}
    assert lists.of("bob") == {"openai": ["gpt-y"]}
    now[0] += HEARD_S + 1
    assert lists.of("bob") == {}
