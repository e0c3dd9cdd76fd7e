"""Requests: where they go, what they carry, what comes of the answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from trunkline.client import ApiError, Client, ClientError, Unreachable


class Server:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bytes, dict[str, str]]] = []
        self.answers: list[web.Response] = []
        self.is_silent = False
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.seen.append((request.method, request.raw_path, body, dict(request.headers)))
        if self.is_silent:
            await asyncio.Event().wait()
        return self.answers.pop(0)

    def answer(self, value: Any, status: int = 200) -> None:
        self.answers.append(web.json_response(value, status=status))


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = "http://{}:{}".format(*runner.addresses[0][:2])
    yield server
    await runner.cleanup()


async def test_a_request_carries_token_path_query_and_body(server: Server) -> None:
    server.answer({"id": "a"}, 201)
    server.answer({"id": "a"})
    async with Client(server.url + "/", "tl_x") as client:
        await client.post("agents", body={"name": "Ä"})
        await client.get("skills", "pdf", version=None, top_k=3, shared=True)
    method, path, body, headers = server.seen[0]
    assert (method, path, json.loads(body)) == ("POST", "/api/v1/agents", {"name": "Ä"})
    assert headers["Authorization"] == "Bearer tl_x"
    assert server.seen[1][1] == "/api/v1/skills/pdf?top_k=3&shared=true"


async def test_an_id_cannot_leave_its_place_in_the_path(server: Server) -> None:
    server.answer({})
    async with Client(server.url) as client:
        await client.get("sessions", "../../x?y=1#z/ä")
    assert server.seen[0][1] == "/api/v1/sessions/%2E%2E%2F%2E%2E%2Fx%3Fy%3D1%23z%2F%C3%A4"


async def test_a_list_is_read_page_by_page(server: Server) -> None:
    server.answer({"items": [{"id": "1"}, {"id": "2"}], "next_cursor": "2"})
    server.answer({"items": [{"id": "3"}], "next_cursor": None})
    async with Client(server.url) as client:
        assert [item["id"] async for item in client.each("users", limit=2)] == ["1", "2", "3"]
    assert server.seen[1][1] == "/api/v1/users?limit=2&cursor=2"


async def test_an_error_has_status_code_and_message(server: Server) -> None:
    server.answer({"error": {"code": "SESSION_NOT_FOUND", "message": "session 'x' not found"}}, 404)
    async with Client(server.url) as client:
        with pytest.raises(ApiError, match="session 'x' not found") as caught:
            await client.sessions.get("x")
    assert (caught.value.status, caught.value.code) == (404, "SESSION_NOT_FOUND")
    assert not caught.value.is_passing


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"<html>", 200), (b'{"items": 3}', 200), (b"[1]", 200), (b"\xff", 200), (b"<html>", 404)],
)
async def test_a_server_that_is_no_trunkline_is_recognised(
    server: Server, body: bytes, status: int
) -> None:
    server.answers.append(web.Response(body=body, status=status))
    async with Client(server.url) as client:
        with pytest.raises(Unreachable):
            await client.sessions.page()


async def test_a_gateway_that_fails_may_be_asked_again(server: Server) -> None:
    server.answers.append(web.Response(body=b"<html>", status=502))
    async with Client(server.url) as client:
        with pytest.raises(ApiError) as caught:
            await client.me()
    assert caught.value.is_passing


async def test_a_redirect_is_not_followed(server: Server) -> None:
    server.answers.append(web.Response(status=302, headers={"Location": "/stolen"}))
    async with Client(server.url, "tl_x") as client:
        with pytest.raises(Unreachable):
            await client.me()
    assert len(server.seen) == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://no such host", "http://[bad"])
async def test_nobody_there_is_one_clear_error(url: str) -> None:
    async with Client(url) as client:
        with pytest.raises(ClientError, match="does not answer"):
            await client.me()


async def test_a_message_carries_its_own_id_and_returns_its_turn(server: Server) -> None:
    server.answer({"turn_id": "t-1"}, 202)
    async with Client(server.url) as client:
        turn = await client.sessions.send("s", "hi", client_message_id="m-1")
    assert turn == "t-1"
    assert json.loads(server.seen[0][2]) == {"message": "hi", "client_message_id": "m-1"}


async def no_wait(_seconds: float) -> None:
    """Between attempts, for whoever is in a hurry."""


@pytest.mark.parametrize("status", [200, 502, 503, 504])
async def test_a_message_that_a_proxy_answers_goes_again_under_the_same_id(
    server: Server, status: int
) -> None:
    server.answers.append(web.Response(body=b"<html>", status=status))
    server.answer({"turn_id": "t-1"}, 202)
    async with Client(server.url, sleep=no_wait) as client:
        assert await client.sessions.send("s", "hi") == "t-1"
    first, second = (json.loads(body) for _, _, body, _ in server.seen)
    assert first == second
    assert first["client_message_id"]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b"\xff"])
async def test_a_message_that_is_never_answered_by_trunkline_is_one_clear_error(
    server: Server, body: bytes
) -> None:
    server.answers += [web.Response(body=body) for _ in range(7)]
    async with Client(server.url, sleep=no_wait) as client:
        with pytest.raises(Unreachable, match="no Trunkline server"):
            await client.sessions.send("s", "hi")
    assert not server.answers


@pytest.mark.parametrize("status", [404, 409, 429, 503])
async def test_a_message_that_the_server_refuses_is_not_repeated(
    server: Server, status: int
) -> None:
    server.answer({"error": {"code": "MACHINE_OFFLINE", "message": "it is away"}}, status)
    async with Client(server.url) as client:
        with pytest.raises(ApiError, match="it is away"):
            await client.sessions.send("s", "hi")
    assert len(server.seen) == 1


async def test_one_deadline_holds_for_all_attempts_of_a_message(
    server: Server,
) -> None:
    server.is_silent = True
    async with Client(server.url, timeout_s=0.2) as client:
        with pytest.raises(Unreachable, match="does not answer"):
            await client.sessions.send("s", "hi")
    assert len(server.seen) == 1


async def test_a_request_that_has_no_time_left_does_not_wait_for_ever(server: Server) -> None:
    server.is_silent = True
    async with asyncio.timeout(60), Client(server.url) as client:
        with pytest.raises(Unreachable, match="does not answer"):
            await client.http.call("GET", "me", timeout_s=0)


async def test_an_answer_to_an_unknown_question_is_refused_at_once(server: Server) -> None:
    server.answer({"error": {"code": "APPROVAL_NOT_FOUND", "message": "no such question"}}, 404)
    async with Client(server.url) as client:
        with pytest.raises(ApiError, match="no such question"):
            await client.sessions.answer("q-1", True, session_id="s")
    assert len(server.seen) == 1


async def test_an_upload_is_the_body_itself(server: Server) -> None:
    server.answer({"id": "x"}, 201)
    async with Client(server.url) as client:
        await client.upload("skills", content=b"PK")
    assert server.seen[0][2] == b"PK"
    assert server.seen[0][3]["Content-Type"] == "application/zip"


async def test_the_log_is_read_to_its_end(server: Server) -> None:
    server.answer({"items": [{"id": 1, "event": {"type": "a"}}], "next_after": 1})
    server.answer({"items": [{"id": 2, "event": "odd"}], "next_after": None})
    async with Client(server.url) as client:
        found = [event async for event in client.sessions.events("s")]
    assert [(event.id, event.type) for event in found] == [(1, "a"), (2, "")]
    assert server.seen[1][1] == "/api/v1/sessions/s/events?after=1"
