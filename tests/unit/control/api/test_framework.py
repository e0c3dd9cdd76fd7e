"""The typed-route layer: what handlers get, what callers get back, whatever they send."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Annotated, Any, cast

import msgspec
import pytest
from aiohttp import FormData, web
from aiohttp.test_utils import TestClient, TestServer
from msgspec import Meta
from sqlalchemy import insert

from tests.unit.control.api.conftest import Api
from trunkline import limits
from trunkline.control.api.framework import Routes, bind
from trunkline.control.api.responses import handle_errors
from trunkline.control.core import Core
from trunkline.control.errors import LimitReached
from trunkline.control.store import schema

routes = Routes("test", prefix="")
Client = TestClient[web.Request, web.Application]


class Query(msgspec.Struct):
    count: Annotated[int, Meta(ge=1, le=9)] = 5
    loud: bool = False
    word: str | None = None


class Body(msgspec.Struct):
    name: str
    tags: list[str] = []


class Echo(msgspec.Struct):
    got: Any


@routes.get("/query", is_open=True)
async def read_query(query: Query) -> Echo:
    """Echo the query."""
    return Echo(msgspec.structs.asdict(query))


@routes.get("/path/{name}", is_open=True)
async def read_path(name: str) -> Echo:
    """Echo the path."""
    return Echo(name)


@routes.get("/nothing", is_open=True)
async def read_nothing() -> None:
    """Say nothing."""


@routes.get("/crash", is_open=True)
async def crash() -> None:
    """Fail."""
    raise RuntimeError("a secret detail")


@routes.get("/full", is_open=True)
async def full() -> None:
    """Be full."""
    raise LimitReached("come back later", code="QUEUE_FULL")


@routes.get("/clash", is_open=True)
async def clash(core: Core) -> None:
    """Break a constraint."""
    async with core.store.write() as connection:
        for _ in range(2):
            await connection.execute(insert(schema.orgs).values(id="same", name="x", created_at=1))


@routes.post("/body")
async def read_body(body: Body) -> Echo:
    """Echo the body."""
    return Echo(msgspec.structs.asdict(body))


@routes.post("/optional", status=202)
async def read_optional(body: Body = Body("none")) -> None:  # noqa: B008 - read, never changed
    """Take a body or not."""


@routes.post("/upload")
async def read_upload(upload: bytes) -> Echo:
    """Measure an upload."""
    return Echo(len(upload))


@pytest.fixture
async def client(api: Api) -> AsyncIterator[Client]:
    @web.middleware
    async def errors(request: web.Request, handler: Any) -> web.StreamResponse:
        return await handle_errors(request, handler)

    app = web.Application(middlewares=[errors])
    for route in routes.items:
        app.router.add_route(route.method, route.path, bind(route, api.core))
    headers = {"Authorization": f"Bearer {await api.token(api.people.ann)}"}
    async with TestClient(TestServer(app), headers=headers) as client:
        yield client


async def code_of(client: Client, method: str, path: str, **options: Any) -> tuple[int, str]:
    async with client.request(method, path, **options) as answer:
        error = (await answer.json())["error"]
        assert set(error) == {"code", "message"}
        return answer.status, error["code"]


async def got(client: Client, method: str, path: str, **options: Any) -> Any:
    async with client.request(method, path, **options) as answer:
        assert answer.status == 200, await answer.text()
        return (await answer.json())["got"]


async def test_a_query_is_converted_checked_and_its_unknown_names_ignored(client: Client) -> None:
    found = await got(client, "GET", "/query?count=7&loud=true&word=%E4%BD%A0&x=1&count=8")
    assert found == {"count": 7, "loud": True, "word": "你"}
    assert await got(client, "GET", "/query") == {"count": 5, "loud": False, "word": None}


@pytest.mark.parametrize(
    "query",
    [
        "count=0",
        "count=10",
        "count=",
        "count=five",
        "count=1.5",
        "count=" + "9" * 5000,
        "loud=maybe",
        "word=%00",
        "word=a%00b",
    ],
)
async def test_a_wrong_query_is_refused(client: Client, query: str) -> None:
    assert await code_of(client, "GET", f"/query?{query}") == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("name", ["..%2F..%2Fetc%2Fpasswd", "%E4%BD%A0", "%ff%fe", "a%20b"])
async def test_a_path_parameter_is_text_and_nothing_else(client: Client, name: str) -> None:
    async with client.get(f"/path/{name}", skip_auto_headers=()) as answer:
        assert answer.status in (200, 400, 404)
        assert await answer.json()


async def test_a_path_parameter_with_nul_is_refused(client: Client) -> None:
    assert await code_of(client, "GET", "/path/a%00b") == (400, "INVALID_REQUEST")


async def test_the_path_of_a_wrong_field_is_named(client: Client) -> None:
    async with client.post("/body", json={"name": "x", "tags": ["a", 7]}) as answer:
        assert answer.status == 400
        assert "body: tags[1]: must be a text" in (await answer.json())["error"]["message"]


async def test_unknown_fields_are_ignored_and_known_ones_kept(client: Client) -> None:
    body = {"name": "x", "tags": ["a"], "later": 1}
    assert await got(client, "POST", "/body", json=body) == {"name": "x", "tags": ["a"]}


async def test_a_body_may_be_left_out_only_where_there_is_a_default(client: Client) -> None:
    assert await code_of(client, "POST", "/body") == (400, "INVALID_REQUEST")
    async with client.post("/optional") as answer:
        assert (answer.status, await answer.text()) == (202, "")
    assert await code_of(client, "POST", "/optional", data=b"{") == (400, "INVALID_REQUEST")


async def test_a_body_at_its_bound_is_taken_and_beyond_it_refused(client: Client) -> None:
    frame = b'{"name": ""}'
    fits = b'{"name": "' + b"x" * (limits.BODY_BYTES_MAX - len(frame)) + b'"}'
    assert len(fits) == limits.BODY_BYTES_MAX
    assert len((await got(client, "POST", "/body", data=BytesIO(fits)))["name"]) > 1_000_000
    beyond = BytesIO(fits + b" ")
    assert await code_of(client, "POST", "/body", data=beyond) == (413, "TOO_LARGE")


async def test_a_body_without_a_length_is_bounded_too(client: Client) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(limits.BODY_BYTES_MAX // 65_536 + 2):
            yield b" " * 65_536

    assert await code_of(client, "POST", "/body", data=endless()) == (413, "TOO_LARGE")


async def test_a_compressed_bomb_is_bounded_by_what_it_unpacks_to(client: Client) -> None:
    bomb = gzip.compress(b" " * (limits.BODY_BYTES_MAX * 8))
    assert len(bomb) < limits.BODY_BYTES_MAX / 100
    answer = await code_of(client, "POST", "/body", data=bomb, headers={"Content-Encoding": "gzip"})
    assert answer == (413, "TOO_LARGE")


async def test_a_body_that_is_not_what_its_encoding_says_is_refused(client: Client) -> None:
    answer = await code_of(
        client, "POST", "/body", data=b"plain", headers={"Content-Encoding": "gzip"}
    )
    assert answer == (400, "INVALID_REQUEST")


async def test_the_person_is_known_before_the_body_is_read(client: Client) -> None:
    """A stranger's body is never waited for: the answer comes while it is still being sent."""
    held = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await held.wait()

    async with asyncio.timeout(30):
        async with client.post(
            "/body", data=slow(), headers={"Authorization": "Bearer wrong"}
        ) as answer:
            assert answer.status == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        held.set()


async def test_an_upload_comes_raw_or_as_a_form(client: Client) -> None:
    assert await got(client, "POST", "/upload", data=b"12345") == 5
    form = FormData()
    form.add_field("note", "not a file")
    form.add_field("file", b"1234567", filename="skill.zip")
    assert await got(client, "POST", "/upload", data=form) == 7


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "application/zip"),
        (b"", "multipart/form-data; boundary=x"),
        (b"no form", "multipart/form-data; boundary=x"),
        (b"no form", "multipart/form-data"),
        (b"no form", "multipart/form-data; boundary=" + "x" * 100),
        (b"--x\r\n\r\n", "multipart/form-data; boundary=x"),
        (
            b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--x--",
            "multipart/mixed; boundary=x",
        ),
        (b"--x\r\n" + b"A: b\r\n" * 100_000 + b"\r\n", "multipart/form-data; boundary=x"),
    ],
)
async def test_a_broken_upload_is_refused(client: Client, content: bytes, kind: str) -> None:
    status, code = await code_of(
        client, "POST", "/upload", data=content, headers={"Content-Type": kind}
    )
    assert (status, code) == (400, "INVALID_REQUEST")


async def test_an_upload_beyond_its_bound_is_refused(client: Client) -> None:
    async def endless() -> AsyncIterator[bytes]:
        chunk = b"x" * (4 * limits.MIB)
        for _ in range(limits.UPLOAD_BYTES_MAX // len(chunk) + 1):
            yield chunk

    assert await code_of(client, "POST", "/upload", data=endless()) == (413, "TOO_LARGE")


async def test_none_is_an_empty_answer(client: Client) -> None:
    async with client.get("/nothing") as answer:
        assert (answer.status, await answer.read()) == (204, b"")


async def test_every_error_has_the_one_shape(client: Client) -> None:
    assert await code_of(client, "GET", "/full") == (429, "QUEUE_FULL")
    assert await code_of(client, "GET", "/nowhere") == (404, "NOT_FOUND")
    assert await code_of(client, "DELETE", "/query") == (405, "METHOD_NOT_ALLOWED")
    assert await code_of(client, "GET", "/clash") == (409, "CONFLICT")


async def test_an_unexpected_error_tells_nothing(client: Client) -> None:
    async with client.get("/crash") as answer:
        assert answer.status == 500
        text = await answer.text()
        assert "INTERNAL_ERROR" in text
        assert "secret" not in text
        assert "RuntimeError" not in text


@pytest.mark.parametrize("authorization", ["Bearer", "Bearer wrong", "Basic x", "", "Bearer \xff"])
async def test_a_wrong_token_is_unauthorized(client: Client, authorization: str) -> None:
    answer = await code_of(
        client, "POST", "/body", json={}, headers={"Authorization": authorization}
    )
    assert answer == (401, "UNAUTHORIZED")


def test_a_handler_must_say_what_it_does_and_take_what_is_known() -> None:
    declared = Routes("wrong")

    async def silent() -> None: ...

    async def odd(surprise: str) -> None:
        """Take something unheard of."""

    for handler in (silent, odd):
        with pytest.raises(TypeError):
            declared.get("/x")(cast(Any, handler))
