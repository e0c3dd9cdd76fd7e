"""`web_fetch`: a page from the web as text. Only public addresses are connected to.

The check is made on the address that a socket is opened for. A name that changes its mind between
two answers, a redirect, an address written in the URL: all pass here.
"""

import asyncio
import ipaddress
import re
import socket
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import aiohttp
from yarl import URL

from trunkline import limits
from trunkline.addresses import is_public
from trunkline.execution.errors import AddressRefused, ToolError
from trunkline.execution.fence.hosts import EVERYWHERE, Reach
from trunkline.execution.json_object import Json
from trunkline.execution.texts import Excerpt, shortened
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, object_schema

WEB_REDIRECTS_MAX = 5
WEB_TEXT_CHARS = 20_000
WEB_TEXT_CHARS_MAX = 100_000

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
AddressInfo = tuple[
    int | socket.AddressFamily,
    int | socket.SocketKind,
    int,
    str,
    tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes],
]


def guarded_connector(
    allowed: Iterable[Network] = (), resolver: aiohttp.abc.AbstractResolver | None = None
) -> aiohttp.TCPConnector:
    """Connects to public addresses, and to `allowed` networks. Raises AddressRefused inside of
    aiohttp's ClientConnectorError for all others."""
    networks = list(allowed)

    def open_socket(info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, target = info
        if not _may_connect(str(target[0]), networks):
            raise AddressRefused(f"{target[0]} is not a public address")
        return socket.socket(family=family, type=kind, proto=protocol)

    return aiohttp.TCPConnector(
        socket_factory=open_socket, resolver=resolver, use_dns_cache=False, force_close=True
    )


def _may_connect(text: str, allowed: list[Network]) -> bool:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return is_public(address) or any(address in network for network in allowed)


_REDIRECTS = (301, 302, 303, 307, 308)
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/javascript")
_HTML_TYPES = ("text/html", "application/xhtml+xml")
# Those that pages are written in. Python knows others, which are no charsets or take for ever.
_CHARSETS = re.compile(
    r"utf-?(?:8|16|32)(?:[lb]e|-[lb]e)?|us-ascii|(?:iso-?8859|latin)-?\d+|(?:windows-|cp)125\d"
    r"|gb[\w-]+|big5[\w-]*|euc-?\w+|shift[_-]jis|koi8-\w",
    re.IGNORECASE,
)
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; Trunkline)",
    "Accept": "text/html,application/xhtml+xml,text/plain,application/json;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}


class WebFetch(Tool):
    name = "web_fetch"
    reveals = True
    brings = True
    description = "Fetches a page of the public web and returns its readable text."
    parameters = object_schema(
        {
            "url": {"type": "string", "minLength": 1, "maxLength": limits.WEB_URL_CHARS_MAX},
            "max_chars": {"type": "integer", "minimum": 1, "maximum": WEB_TEXT_CHARS_MAX},
        },
        required=["url"],
    )

    def __init__(
        self,
        connector: Callable[[], aiohttp.TCPConnector] = guarded_connector,
        timeout_s: float = limits.WEB_TIMEOUT_S,
        reach: Reach = EVERYWHERE,
    ) -> None:
        self._reach = reach
        self._connector = connector
        self._timeout_s = timeout_s

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        try:
            async with asyncio.timeout(self._timeout_s):
                page = await self._fetch(_checked(arguments["url"]), run.guards)
                text = await page.text()
        except TimeoutError as error:
            raise ToolError(f"the page did not come within {self._timeout_s:g} s") from error
        except aiohttp.ClientError as error:
            raise ToolError(_reason(error)) from error
        shown = Excerpt(arguments.get("max_chars", WEB_TEXT_CHARS), head_only=True)
        shown.add(text)
        return ToolResult(
            content=str(shown) or "(the page has no readable text)",
            is_error=page.status >= 400,
            details={
                "url": str(page.url),
                "status": page.status,
                "output_cut_chars": shown.cut_chars,
            },
        )

    async def _fetch(self, url: URL, guards: Callable[[str], str]) -> "_Page":
        # A jar that keeps nothing, no proxy and no credentials of the machine: an anonymous visit.
        async with aiohttp.ClientSession(
            connector=self._connector(),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            headers=_HEADERS,
        ) as session:
            for _ in range(WEB_REDIRECTS_MAX + 1):
                self._reach.check(url.host)
                async with session.get(url, allow_redirects=False) as response:
                    target = response.headers.get("Location")
                    if response.status not in _REDIRECTS or target is None:
                        return await _read(response)
                    url = _checked(target, url)
                    if why := guards(str(url)):
                        raise ToolError(f"the page redirects to {str(url)[:500]}, and {why}")
        raise ToolError(f"the page redirects more than {WEB_REDIRECTS_MAX} times")


class _Page:
    def __init__(self, response: aiohttp.ClientResponse, body: bytes) -> None:
        self.url = response.url
        self.status = response.status
        self._type = response.content_type.lower()
        self._charset = response.charset
        self._body = body

    async def text(self) -> str:
        text = await self._readable()
        return f"HTTP {self.status}\n{text}".rstrip() if self.status >= 400 else text

    async def _readable(self) -> str:
        # Slow code on unknown input: in a thread, where it holds nobody up.
        if self._type in _HTML_TYPES:
            return await asyncio.to_thread(lambda: _extracted(self._decoded(), str(self.url)))
        if self._type.startswith(_TEXT_TYPES) or self._type.endswith(("+json", "+xml")):
            return await asyncio.to_thread(self._decoded)
        raise ToolError(f"this is no page of text but {self._type}, {len(self._body)} bytes")

    def _decoded(self) -> str:
        charset = self._charset or ""
        try:
            return self._body.decode(
                charset if _CHARSETS.fullmatch(charset) else "utf-8", "replace"
            )
        except LookupError:
            return self._body.decode("utf-8", "replace")


def _extracted(html: str, url: str) -> str:
    """The text that a person came for. Imported late: this library is large, and rarely needed."""
    import trafilatura

    text = trafilatura.extract(html, url=url, include_links=True, favor_recall=True)
    return text or trafilatura.html2txt(html)


def _checked(text: str, base: URL | None = None) -> URL:
    try:
        url = URL(text) if base is None else base.join(URL(text))
        port_is_fine = url.port is not None
    except ValueError as error:
        raise ToolError(f"{shortened(text, 200)!r} is no URL") from error
    if url.scheme not in ("http", "https") or not url.host or not port_is_fine:
        raise ToolError(f"only http and https URLs can be fetched, not {shortened(text, 200)!r}")
    if url.user is not None or url.password is not None:
        raise ToolError("a URL with a password in it is not fetched")
    return url


async def read_body(response: aiohttp.ClientResponse, what: str) -> bytes:
    """Raises ToolError for one without end."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limits.WEB_BODY_BYTES_MAX:
            raise ToolError(f"{what} is over {limits.WEB_BODY_BYTES_MAX} bytes")
    return bytes(body)


async def _read(response: aiohttp.ClientResponse) -> _Page:
    body = await read_body(response, "the page")
    return _Page(response, _unpacked(body, response.headers.get("Content-Encoding", "")))


def _unpacked(body: bytes, coding: str) -> bytes:
    """A small compressed body may have any size unpacked: so no more of it than is allowed."""
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return body
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(f"the server packed the page in a way not asked for ({coding[:40]!r})")
    unpacker: Any = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        data = bytes(unpacker.decompress(body, limits.WEB_BODY_BYTES_MAX))
    except zlib.error as error:
        raise ToolError("the server sent a page that cannot be unpacked") from error
    if unpacker.unconsumed_tail:
        raise ToolError(f"the page is over {limits.WEB_BODY_BYTES_MAX} bytes")
    return data


def _reason(error: aiohttp.ClientError) -> str:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, AddressRefused):
        return f"{cause}; private and local addresses are not fetched"
    return shortened(f"the page cannot be fetched: {cause}", limits.TOOL_ERROR_CHARS_MAX)
