"""Who may knock at the one port and where: foreign pages, foreign names, strange paths."""

import json

import pytest

from tests.support.control import Control, TestUser
from tests.support.raw_ws import RawWs
from tests.support.wire import Wire, get, upgrade

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


FOREIGN = [
    "https://evil.example",
    "http://127.0.0.1.evil.example",
    "http://localhost:1",
    "http://user@127.0.0.1",
    "null",
    "file://",
    "",
]


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_page_of_another_site_reaches_neither_websocket_nor_stream_nor_rest(
    control: Control, user: TestUser, session: str, origin: str
) -> None:
    line = await RawWs(f"{user.ws_url}?user_id={user.id}").connect(Origin=origin)
    assert line.status == 403
    assert json.loads(line.body)["error"]["code"] == "ORIGIN_REFUSED"
    async with Wire(control) as wire:
        bearer = f"Authorization: Bearer {user.token}"
        path = f"/api/v1/sessions/{session}/stream"
        await wire.send(get(path, wire.host, bearer, f"Origin: {origin}"))
        status, body = await wire.answer()
        assert (status, body["error"]["code"]) == (403, "ORIGIN_REFUSED")
    for method, path in (("GET", "/sessions"), ("POST", "/sessions"), ("GET", "/api/v1/nothing")):
        status, body = await control.call(
            method, path, token=user.token, headers={"Origin": origin}
        )
        assert (status, body["error"]["code"]) == (403, "ORIGIN_REFUSED")


async def test_the_servers_own_page_is_let_in_everywhere(
    control: Control, user: TestUser, session: str
) -> None:
    async with await RawWs(f"{user.ws_url}?user_id={user.id}").connect(Origin=control.url) as line:
        assert line.status == 101
    async with user.reader(session, Origin=control.url) as reader:
        assert reader.status == 200
        await reader.until_text("hello")
    status, _ = await control.call(
        "GET", "/sessions", token=user.token, headers={"Origin": control.url}
    )
    assert status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "x/../", "[::2]"]
)
async def test_a_foreign_name_in_the_host_header_is_refused(
    control: Control, user: TestUser, session: str, host: str
) -> None:
    bearer = f"Authorization: Bearer {user.token}"
    for request in (
        upgrade(f"/ws/vm?user_id={user.id}", host),
        get(f"/api/v1/sessions/{session}/stream", host, bearer),
        get("/api/v1/sessions", host, bearer),
        get("/healthz", host),
    ):
        async with Wire(control) as wire:
            await wire.send(request)
            status, body = await wire.answer()
            assert (status, body["error"]["code"]) == (403, "HOST_REFUSED"), request


@pytest.mark.parametrize(
    "path", ["/ws", "/ws/vm/", "/ws/vm/x", "/ws/../ws/vm", "/ws/none", "//ws/vm", "/api/v1/me"]
)
async def test_a_websocket_to_an_unknown_path_is_a_404(control: Control, path: str) -> None:
    async with Wire(control) as wire:
        await wire.send(upgrade(path, wire.host))
        status, body = await wire.answer()
        assert status == 404
        assert body["error"]["code"] == "PATH_NOT_FOUND"
        assert await wire.rest() == b""


STRANGE_IDS = [
    "..",
    "%2e%2e",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2ftrunkline.db",
    "..%5c..%5cwindows",
    "a%2fb",
    "%2f",
    "%00",
    "x%00%2f..",
    "%ff%fe",
    "%0d%0aset-cookie:x",
    "'%20or%201=1--",
    "x" * 4000,
    "%F0%9F%98%80",
    "*",
    "_",
]


@pytest.mark.parametrize("name", STRANGE_IDS)
async def test_a_strange_id_in_a_path_finds_nothing_and_breaks_nothing(
    control: Control, user: TestUser, name: str
) -> None:
    bearer = f"Authorization: Bearer {user.token}"
    for path in (f"/api/v1/sessions/{name}/stream", f"/api/v1/sessions/{name}"):
        async with Wire(control) as wire:
            await wire.send(get(path, wire.host, bearer))
            status, body = await wire.answer()
            assert status in (400, 404), (path, status, body)
            assert body["error"]["code"] in (
                "SESSION_NOT_FOUND",
                "NOT_FOUND",
                "INVALID_REQUEST",
            ) or (body["error"]["code"] == "PATH_NOT_FOUND")
            await wire.send(b"")


async def test_a_stream_whose_id_hides_a_slash_is_answered_once(
    control: Control, user: TestUser
) -> None:
    # The door sees a path that is no stream's, the router one that is: neither may pass it on.
    async with Wire(control) as wire:
        bearer = f"Authorization: Bearer {user.token}"
        await wire.send(get("/api/v1/sessions/a%2Fb/stream", wire.host, bearer))
        assert (await wire.answer())[0] == 404
        await wire.send(get("/healthz", wire.host))
        assert (await wire.answer())[0] == 200
