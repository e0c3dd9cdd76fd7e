"""A server that proves itself on each connection, while requests come and are given up."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from trunkline.client import Client
from trunkline.client.locate import ServerAccess
from trunkline.places import proof_of

KEY = "pr_of-the-folder"


class Prover:
    """Answers challenges and requests when it is let, and notes which connection had which."""

    def __init__(self) -> None:
        self.url = ""
        self.challenged = asyncio.Semaphore(0)
        self.asked = asyncio.Semaphore(0)
        self.proofs = asyncio.Event()
        self.answers = asyncio.Event()
        self.connections: Counter[Any] = Counter()
        self.challenges = 0
        self.unproved = 0
        """Requests with a token on connections that had carried no proof."""
        self._proved: set[Any] = set()

    async def take(self, request: web.Request) -> web.Response:
        self.connections[request.transport] += 1
        if request.path == "/proof":
            nonce = (await request.json())["nonce"]
            self.challenges += 1
            self.challenged.release()
            await self.proofs.wait()
            self._proved.add(request.transport)
            return web.json_response({"proof": proof_of(KEY, nonce, self.url)})
        self.unproved += request.transport not in self._proved
        self.asked.release()
        await self.answers.wait()
        return web.json_response({"id": "me"})


@pytest.fixture
async def server() -> AsyncIterator[Prover]:
    server = Prover()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = "http://{}:{}".format(*runner.addresses[0][:2])
    yield server
    await runner.cleanup()


@pytest.fixture
async def client(server: Prover) -> AsyncIterator[Client]:
    async with Client(ServerAccess(server.url, "tl_x", KEY)) as client:
        yield client


def ask(client: Client) -> asyncio.Task[Any]:
    return asyncio.create_task(client.get("me"))


async def given_up(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_request_that_is_given_up_while_the_server_proves_itself_ends_no_other(
    server: Prover, client: Client
) -> None:
    server.proofs.set()
    working = ask(client)
    await server.asked.acquire()
    server.proofs.clear()
    hasty = ask(client)  # on a connection of its own, which has yet to carry a proof
    await server.challenged.acquire()  # of the first
    await server.challenged.acquire()
    await given_up(hasty)
    server.proofs.set()
    server.answers.set()
    assert await working == {"id": "me"}
    assert await client.get("me") == {"id": "me"}
    assert server.unproved == 0
    assert len(server.connections) == 2


async def test_who_waits_for_the_same_proof_is_served_though_its_first_asker_gave_up(
    server: Prover, client: Client
) -> None:
    hasty, patient = ask(client), ask(client)
    await server.challenged.acquire()
    await given_up(hasty)
    server.proofs.set()
    server.answers.set()
    assert await patient == {"id": "me"}
    assert server.unproved == 0


@pytest.mark.parametrize("count", [2, 3, 20])
async def test_requests_at_the_same_time_take_no_proved_connection_from_each_other_for_ever(
    server: Prover, client: Client, count: int
) -> None:
    server.proofs.set()
    together = [ask(client) for _ in range(count)]
    for _ in together:
        await server.asked.acquire()
    server.answers.set()
    assert await asyncio.gather(*together) == count * [{"id": "me"}]
    assert server.unproved == 0
    assert server.challenges <= 2 * count


async def test_a_client_that_is_closed_asks_for_no_more_proofs(server: Prover) -> None:
    async with Client(ServerAccess(server.url, "tl_x", KEY)) as client:
        hasty = [ask(client), ask(client)]
        await server.challenged.acquire()
        for one in hasty:
            await given_up(one)
    running = [str(one.get_coro()) for one in asyncio.all_tasks()]
    assert not any("Http." in one for one in running)
