"""A misspelt model is refused when a session is made, by the list of the provider itself, and
nobody has tested a key for that."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from tests.support.clock import Clock
from tests.support.eventually import until
from tests.unit.control.api.conftest import Api
from tests.unit.control.api.test_machines import SAYS, online
from tests.unit.control.services.test_model_lists import KEY, Server, says, serving
from trunkline.control.services.model_lists import AGAIN_S, ModelLists

LISTED = {"data": [{"id": "gpt-99-mini"}, {"id": "gpt-98"}]}
WITH_KEY: dict[str, Any] = {
    **SAYS,
    "runtime_details": {
        "semigraph": {"usable": True, "models": {"providers": ["openai"], "any": False}}
    },
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def openai() -> AsyncIterator[Server]:
    async with serving(says(LISTED)) as server:
        yield server


def ask(api: Api, server: Server, clock: Clock) -> ModelLists:
    """The provider's own address is that server's from now on."""
    reveal = api.core.records.credentials.reveal
    usual = {"openai": f"{server.url}/v1"}
    lists = ModelLists("127.0.0.1", now=clock, reveal=reveal, usual=usual)
    api.core.services.model_lists = lists
    return lists


async def with_key(api: Api, **key: Any) -> str:
    """A machine of Ann's, who has a key."""
    ann = api.people.ann
    path = f"/users/{ann.user_id}/credentials/openai"
    assert (await api.call(ann, "PUT", path, {"api_key": KEY, **key}))[0] == 200
    return await online(api, ann, WITH_KEY)


async def make(api: Api, machine_id: str, model: str) -> tuple[int, Any]:
    body = {"machine_id": machine_id, "agent_config": {"model": model}}
    return await api.call(api.people.ann, "POST", "/sessions", body)


async def test_a_misspelt_model_is_refused_without_a_test_of_the_key(
    api: Api, openai: Server, clock: Clock
) -> None:
    lists = ask(api, openai, clock)
    machine_id = await with_key(api)
    await make(api, machine_id, "gpt-99-mni")  # which waits no longer than a moment for the list
    await until(lambda: lists.of(api.people.ann.user_id) != {})
    status, answer = await make(api, machine_id, "gpt-99-mni")
    assert (status, answer["error"]["code"]) == (400, "MODEL_NOT_FOUND")
    assert "did you mean 'gpt-99-mini'?" in answer["error"]["message"]
    assert openai.keys == [f"Bearer {KEY}"]
    for name in ("gpt-99-mini", "openai/gpt-98", "gpt-4o"):
        assert (await make(api, machine_id, name))[0] == 201, name
    assert (await make(api, machine_id, "gpt-97"))[0] == 400
    assert len(openai.requests) == 1  # it was asked a moment ago
    clock.now += AGAIN_S
    assert (await make(api, machine_id, "gpt-97"))[0] == 400
    assert len(openai.requests) == 2  # it may have that one by now


async def test_a_list_that_cannot_be_had_lets_every_name_pass(api: Api, clock: Clock) -> None:
    async with serving(says("no", status=500)) as server:
        ask(api, server, clock)
        assert (await make(api, await with_key(api), "gpt-99-mni"))[0] == 201
        assert len(server.requests) == 1


async def test_a_list_that_is_late_holds_up_nobody_for_long_and_is_kept(
    api: Api, clock: Clock
) -> None:
    let_go = asyncio.Event()

    async def answer(_: web.Request) -> web.StreamResponse:
        await let_go.wait()
        return web.json_response(LISTED)

    async with serving(answer) as server:
        lists = ask(api, server, clock)
        machine_id = await with_key(api)
        assert (await make(api, machine_id, "gpt-99-mni"))[0] == 201
        let_go.set()
        await until(lambda: lists.of(api.people.ann.user_id) != {})
        assert (await make(api, machine_id, "gpt-99-mni"))[0] == 400


async def test_a_key_for_another_server_is_not_shown_to_the_provider(
    api: Api, openai: Server, clock: Clock
) -> None:
    ask(api, openai, clock)
    machine_id = await with_key(api, base_url="http://models.example/v1")
    assert (await make(api, machine_id, "gpt-99-mni"))[0] == 201
    assert openai.requests == []


async def test_another_key_may_open_other_models(api: Api) -> None:
    ann = api.people.ann
    api.core.services.model_lists.heard(ann.user_id, "openai", ["gpt-99-mini"])
    path = f"/users/{ann.user_id}/credentials/openai"
    assert (await api.call(ann, "PUT", path, {"api_key": KEY}))[0] == 200
    assert api.core.services.model_lists.of(ann.user_id) == {}
