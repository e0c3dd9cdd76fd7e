"""The built page as it is served: which file, in which form, for how long; and nothing else."""

import gzip
from pathlib import Path

import pytest
from aiohttp.web import Application
from yarl import URL

from tests.unit.control.api.conftest import Api, door
from trunkline.control.api.http import build_app
from trunkline.control.api.site import Site
from trunkline.control.core import Core

SCRIPT = "console.log('the page');\n" * 40
PACKED = {"br": b"as if it were Brotli", "gzip": gzip.compress(SCRIPT.encode())}
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "below" / "dist"
    (folder / "assets").mkdir(parents=True)
    (tmp_path / "below" / "secret.js").write_text("secret")
    (folder / "index.html").write_text("<!doctype html><title>first</title>")
    (folder / "assets" / "main-a1b2.js").write_text(SCRIPT)
    (folder / "assets" / "main-a1b2.js.gz").write_bytes(PACKED["gzip"])
    (folder / "assets" / "main-a1b2.js.br").write_bytes(PACKED["br"])
    (folder / "assets" / "main-a1b2.js.map").write_text("{}")
    (folder / "sw.js").write_text("self")
    (folder / "manifest.webmanifest").write_text("{}")
    (folder / "icon.svg").write_text("<svg/>")
    return folder


@pytest.fixture
async def app(core: Core, built: Path) -> Application:
    return build_app(core, door(core).take_back, Site(built))


@pytest.mark.parametrize(
    ("path", "media", "is_kept"),
    [
        ("/", "text/html; charset=utf-8", False),
        ("/assets/main-a1b2.js", "text/javascript; charset=utf-8", True),
        ("/sw.js", "text/javascript; charset=utf-8", False),
        ("/manifest.webmanifest", "application/manifest+json", False),
        ("/icon.svg", "image/svg+xml", False),
    ],
)
async def test_a_file_has_its_type_its_policy_and_its_time(
    api: Api, path: str, media: str, is_kept: bool
) -> None:
    async with await api.send(None, "GET", path) as answer:
        assert (answer.status, answer.headers["Content-Type"]) == (200, media)
        assert ("immutable" in answer.headers["Cache-Control"]) is is_kept
        assert is_kept or answer.headers["Cache-Control"] == "no-cache"
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        tag, length = answer.headers["ETag"], answer.headers["Content-Length"]
    async with await api.send(None, "HEAD", path) as head:
        assert (head.status, head.headers["Content-Length"]) == (200, length)
        assert await head.read() == b""
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        async with await api.send(None, "GET", path, headers={"If-None-Match": known}) as again:
            assert (again.status, await again.read(), again.headers["ETag"]) == (304, b"", tag)
    async with await api.send(None, "GET", path, headers={"If-None-Match": '"other"'}) as other:
        assert other.status == 200


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("br, gzip", "br"),
        ("gzip, deflate, br;q=0.5", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("br; q=0.0, *", "gzip"),
        ("*", "br"),
        ("identity", None),
        ("brotli, x-gzip", None),
        (";;,q=,=", None),
        ("", None),
    ],
)
async def test_the_smallest_form_that_the_caller_takes_is_sent(
    api: Api, accepted: str, encoding: str | None
) -> None:
    headers = {"Accept-Encoding": accepted}
    path = "/assets/main-a1b2.js"
    async with api.client.session.get(
        api.client.make_url(path), headers=headers, auto_decompress=False
    ) as answer:
        body = await answer.read()
        assert answer.headers.get("Content-Encoding") == encoding
        assert answer.headers["Vary"] == "Accept-Encoding"
    sent = {None: SCRIPT.encode(), "br": PACKED["br"], "gzip": PACKED["gzip"]}
    assert body == sent[encoding]


@pytest.mark.parametrize(
    "path", ["/sessions/01a1dd16", "/settings/rules", "/nothing.at.all", "/%00"]
)
async def test_an_address_of_the_page_shows_the_page(api: Api, path: str) -> None:
    async with await api.send(None, "GET", path, headers=HTML) as answer:
        assert (answer.status, await answer.text()) == (200, "<!doctype html><title>first</title>")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/api/v1/nothing", HTML),
        ("GET", "/api", HTML),
        ("GET", "/ws/nothing", HTML),
        ("GET", "/pages/nothing.js", HTML),
        ("GET", "/assets/gone-c3d4.js", HTML),
        ("GET", "/sessions/01a1dd16", {"Accept": "application/json"}),
        ("GET", "/favicon.ico", {"Accept": "image/avif,image/webp,*/*"}),
        ("POST", "/sessions/01a1dd16", HTML),
        ("GET", "/../secret.js", {}),
        ("GET", "/..%2fsecret.js", {}),
        ("GET", "/assets/..%2f..%2fsecret.js", {}),
        ("GET", "/assets/%2e%2e/%2e%2e/secret.js", {}),
        ("GET", "//secret.js", {}),
        ("GET", "/assets/main-a1b2.js%00.css", {}),
        ("GET", "/assets/main-a1b2.js.map", {}),
        ("GET", "/assets/main-a1b2.js.gz", {}),
        ("GET", "/assets", {}),
        ("GET", "/" + "a/" * 2000, {}),
    ],
)
async def test_nothing_else_is_served(
    api: Api, method: str, path: str, headers: dict[str, str]
) -> None:
    url = URL(str(api.client.make_url("/")).rstrip("/") + path, encoded=True)
    async with api.client.session.request(method, url, headers=headers) as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (404, "NOT_FOUND")


async def test_a_page_that_is_built_anew_is_served_at_once(api: Api, built: Path) -> None:
    async with await api.send(None, "GET", "/") as answer:
        assert "first" in await answer.text()
        tag = answer.headers["ETag"]
    draft = built / "draft"
    draft.write_text("<!doctype html><title>second</title>")
    draft.replace(built / "index.html")
    async with await api.send(None, "GET", "/", headers={"If-None-Match": tag}) as answer:
        assert (answer.status, "second" in await answer.text()) == (200, True)


@pytest.mark.parametrize(("language", "text"), [("en", "not built yet"), ("zh-CN", "尚未构建")])
async def test_before_it_is_built_the_page_says_how_to(
    api: Api, built: Path, language: str, text: str
) -> None:
    (built / "index.html").unlink()
    async with await api.send(None, "GET", "/", headers={"Accept-Language": language}) as answer:
        body = await answer.text()
        assert (answer.status, text in body, "make web" in body) == (503, True, True)
    async with await api.send(None, "GET", "/assets/main-a1b2.js") as answer:
        assert answer.status == 404
