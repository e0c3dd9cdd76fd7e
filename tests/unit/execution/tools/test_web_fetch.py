"""`web_fetch`: readable text of public pages, within bounds, and no way to private ones."""

import asyncio
import codecs
import gzip
import threading
import zlib
from collections.abc import Callable
from functools import partial

import pytest
from aiohttp import web
from typing_extensions import Buffer

from tests.unit.execution.tools.support import Call
from tests.unit.execution.tools.web import (
    LOOPBACK,
    Handler,
    Names,
    loopback_connector,
    serving,
)
from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.permits import Permits
from trunkline.execution.tools.web_fetch import (
    WEB_REDIRECTS_MAX,
    WebFetch,
    guarded_connector,
)

PAGE = """<html><head><title>News</title><script>var hidden = 1;</script></head><body>
<nav><a href="/home">Home</a></nav><article><h1>A headline</h1><p>The first paragraph of this
article has enough words to be taken for text by any reader of pages.</p><p>And a second one says
more, about tea 茶 and harbours, so that there is something to read.</p></article></body></html>"""


@pytest.fixture
def fetch() -> WebFetch:
    return WebFetch(loopback_connector)


def answering(response: web.Response) -> Handler:
    """A server with one page, which it gives once."""

    async def handler(request: web.Request) -> web.Response:
        return response

    return handler


async def test_a_page_is_returned_as_readable_text(fetch: WebFetch, call: Call) -> None:
    async with serving(answering(web.Response(text=PAGE, content_type="text/html"))) as url:
        result = await call.run(fetch, url=f"{url}/news")
    assert "The first paragraph" in result.content
    assert "茶" in result.content
    assert "hidden" not in result.content
    assert "<p>" not in result.content
    assert result.details["status"] == 200


async def test_json_and_plain_text_come_as_they_are(fetch: WebFetch, call: Call) -> None:
    async with serving(answering(web.json_response({"a": 1}))) as url:
        assert (await call.run(fetch, url=url)).content == '{"a": 1}'
    text = web.Response(body="é".encode("latin-1"), content_type="text/plain", charset="latin-1")
    async with serving(answering(text)) as url:
        assert (await call.run(fetch, url=url)).content == "é"


@pytest.mark.parametrize(
    "charset",
    [
        *("utf-8", "UTF-16", "utf-32le", "iso-8859-15", "latin1", "windows-1252", "cp1251"),
        *("gb2312", "gbk", "gb18030", "big5", "big5-hkscs", "euc-jp", "euc-kr", "Shift_JIS"),
        *("shift-jis", "koi8-r", "us-ascii"),
    ],
)
async def test_charsets_that_pages_are_written_in_are_understood(
    fetch: WebFetch, call: Call, charset: str
) -> None:
    # A letter that the charset has and UTF-8 writes in another way.
    letter = next(one for one in "é茶дa한" if one.encode(charset, "ignore"))
    page = web.Response(body=letter.encode(charset))
    page.headers["Content-Type"] = f"text/plain; charset={charset}"
    async with serving(answering(page)) as url:
        assert (await call.run(fetch, url=url)).content == letter


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "utf-7", "unicode_escape", "rot13", "hex", "x-none", "gb-none"]
)
async def test_any_other_charset_is_read_as_utf_8(
    fetch: WebFetch, call: Call, charset: str
) -> None:
    text = "caf-茶 +AGE- \\x41"
    page = web.Response(body=text.encode() + b"\xff")
    page.headers["Content-Type"] = f"text/plain; charset={charset}"
    async with serving(answering(page)) as url:
        assert (await call.run(fetch, url=url)).content == f"{text}\ufffd"


async def test_a_page_is_decoded_beside_the_event_loop(fetch: WebFetch, call: Call) -> None:
    threads = set()

    def decode(data: Buffer, errors: str = "strict", /) -> tuple[str, int]:
        threads.add(threading.current_thread())
        return codecs.utf_8_decode(data, errors)

    def noted(name: str) -> codecs.CodecInfo | None:
        known = codecs.CodecInfo(codecs.utf_8_encode, decode)
        return known if name.replace("_", "-") == "gb-noted" else None

    codecs.register(noted)
    try:
        for kind in ("text/plain", "text/html"):
            page = web.Response(body=PAGE.encode())
            page.headers["Content-Type"] = f"{kind}; charset=gb-noted"
            async with serving(answering(page)) as url:
                await call.run(fetch, url=url)
    finally:
        codecs.unregister(noted)
    assert threads
    assert threading.main_thread() not in threads


async def test_the_text_is_cut_at_the_wanted_length_and_says_so(
    fetch: WebFetch, call: Call
) -> None:
    async with serving(answering(web.Response(text="x" * 1000))) as url:
        result = await call.run(fetch, url=url, max_chars=100)
    assert result.content == "x" * 100 + "\n[… 900 characters left out …]\n"
    assert result.details["output_cut_chars"] == 900


async def test_a_refusal_of_the_server_is_an_error_that_can_be_read(
    fetch: WebFetch, call: Call
) -> None:
    async with serving(answering(web.Response(text="no such page", status=404))) as url:
        result = await call.run(fetch, url=url)
    assert (result.is_error, result.content) == (True, "HTTP 404\nno such page")


async def test_a_redirect_is_followed_a_few_times(fetch: WebFetch, call: Call) -> None:
    async def handler(request: web.Request) -> web.Response:
        left = int(request.path.strip("/"))
        if left == 0:
            return web.Response(text="arrived")
        return web.Response(status=302, headers={"Location": f"/{left - 1}"})

    async with serving(handler) as url:
        result = await call.run(fetch, url=f"{url}/{WEB_REDIRECTS_MAX}")
        assert result.content == "arrived"
        assert result.details["url"] == f"{url}/0"
        with pytest.raises(ToolError, match="redirects more than"):
            await call.run(fetch, url=f"{url}/{WEB_REDIRECTS_MAX + 1}")


async def test_rules_hold_for_the_address_that_a_page_redirects_to(
    fetch: WebFetch, call: Call
) -> None:
    permits = Permits([{"effect": "deny", "rule": "web_fetch(domain:secret.example)"}])
    guards = partial(permits.guards_page, workspace=call.home.workspace)
    moved = web.Response(status=302, headers={"Location": "http://secret.example/"})
    async with serving(answering(moved)) as url:
        with pytest.raises(ToolError, match=r"redirects to http://secret\.example/, and a rule of"):
            await fetch.run({"url": url}, call.told_by(guards=guards))


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]:1/",
        "http://127.0.0.2:1/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "//127.0.0.2/",
        "http://user:pass@example.com/",
        "http://[broken",
        "http://127.0.0.1:99999/",
    ],
)
async def test_a_redirect_to_where_nobody_may_go_is_not_followed(
    fetch: WebFetch, call: Call, target: str
) -> None:
    moved = web.Response(status=302, headers={"Location": target})
    async with serving(answering(moved)) as url:
        with pytest.raises(ToolError):
            await call.run(fetch, url=url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://localhost:1/",
        "http://[::1]:1/",
        "http://10.0.0.1/",
        "http://169.254.169.254/",
    ],
)
async def test_private_addresses_are_refused(call: Call, url: str) -> None:
    with pytest.raises(ToolError, match="not a public address"):
        await call.run(WebFetch(), url=url)


@pytest.mark.parametrize("host", ["0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"])
async def test_odd_spellings_of_an_address_are_refused(call: Call, host: str) -> None:
    with pytest.raises(ToolError, match=r"cannot be fetched|not a public address"):
        await call.run(WebFetch(), url=f"http://{host}:1/")


async def test_a_public_name_that_answers_with_a_private_address_is_refused(call: Call) -> None:
    async def secret(request: web.Request) -> web.Response:
        raise AssertionError("the private server was reached")

    names = Names(rebound=["127.0.0.2"])
    fetch = WebFetch(lambda: guarded_connector(LOOPBACK, names))
    async with serving(secret) as url:
        port = url.rpartition(":")[2]
        with pytest.raises(ToolError, match=r"127\.0\.0\.2 is not a public address"):
            await call.run(fetch, url=f"http://rebound.example:{port}/")
    assert names.asked == 1


@pytest.mark.parametrize(
    "url", ["not a url", "file:///etc/passwd", "http://", "javascript:alert(1)", "http://a:b@c.d/"]
)
async def test_what_is_no_web_address_is_refused(fetch: WebFetch, call: Call, url: str) -> None:
    with pytest.raises(ToolError, match="URL"):
        await call.run(fetch, url=url)


async def test_a_page_that_is_too_large_is_refused(fetch: WebFetch, call: Call) -> None:
    body = b"x" * (limits.WEB_BODY_BYTES_MAX + 1)
    async with serving(answering(web.Response(body=body, content_type="text/plain"))) as url:
        with pytest.raises(ToolError, match="is over"):
            await call.run(fetch, url=url)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress], ids=["gzip", "deflate"])
async def test_a_packed_page_is_unpacked_but_not_without_end(
    fetch: WebFetch, call: Call, pack: Callable[[bytes], bytes]
) -> None:
    coding = "gzip" if pack is gzip.compress else "deflate"

    def packed(data: bytes) -> web.Response:
        return web.Response(
            body=pack(data), content_type="text/plain", headers={"Content-Encoding": coding}
        )

    async with serving(answering(packed(b"small"))) as url:
        assert (await call.run(fetch, url=url)).content == "small"
    async with serving(answering(packed(b"0" * (50 * limits.MIB)))) as url:
        with pytest.raises(ToolError, match="is over"):
            await call.run(fetch, url=url)


@pytest.mark.parametrize(("coding", "reason"), [("br", "not asked for"), ("gzip", "unpacked")])
async def test_a_page_packed_badly_is_refused(
    fetch: WebFetch, call: Call, coding: str, reason: str
) -> None:
    odd = web.Response(body=b"odd", headers={"Content-Encoding": coding})
    async with serving(answering(odd)) as url:
        with pytest.raises(ToolError, match=reason):
            await call.run(fetch, url=url)


async def test_what_is_no_text_is_named(fetch: WebFetch, call: Call) -> None:
    picture = web.Response(body=b"\x89PNG", content_type="image/png")
    async with serving(answering(picture)) as url:
        with pytest.raises(ToolError, match="image/png, 4 bytes"):
            await call.run(fetch, url=url)


async def test_a_server_that_does_not_answer_is_given_up(call: Call) -> None:
    release = asyncio.Event()

    async def silent(request: web.Request) -> web.Response:
        await release.wait()
        return web.Response()

    async with serving(silent) as url:
        with pytest.raises(ToolError, match="did not come within"):
            await call.run(WebFetch(loopback_connector, timeout_s=0.2), url=url)
        release.set()


async def test_hostile_html_is_only_text(fetch: WebFetch, call: Call) -> None:
    body = "<div>" * 20_000 + "<p>deep</p>" + "<!--" + "<a href='x'>" * 1000
    async with serving(answering(web.Response(text=body, content_type="text/html"))) as url:
        result = await call.run(fetch, url=url)
    assert isinstance(result.content, str)


async def test_a_server_that_is_not_there_is_an_error_in_words(fetch: WebFetch, call: Call) -> None:
    async with serving(answering(web.Response())) as url:
        pass
    with pytest.raises(ToolError, match="cannot be fetched"):
        await call.run(fetch, url=url)
