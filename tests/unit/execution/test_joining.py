"""A machine that joins: what it makes of every answer, and what it keeps."""

import contextlib
import errno
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web
from yarl import URL

from tests.support.control import free_port
from trunkline.execution import joining
from trunkline.execution.errors import NoLine, ServerRefused, SettingsError
from trunkline.execution.home import Home
from trunkline.execution.reaching import why_refused, why_unreached

GOOD = {
    **{"user_id": "u", "machine_id": "m", "token": "token-1", "ticket": "ticket-1"},
    **{"ws_url": "ws://elsewhere/ws/vm", "secret": "nd_secret", "more": 1},
}


@contextlib.asynccontextmanager
async def answering(*answers: tuple[int, bytes]) -> AsyncIterator[str]:
    """A server that says these things in turn, then the last one for ever."""
    left = list(answers)

    async def answer(_request: web.Request) -> web.Response:
        status, body = left.pop(0) if len(left) > 1 else left[0]
        return web.Response(status=status, body=body, headers={"Location": "/elsewhere"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def no_sleep(_seconds: float) -> None:
    pass


def error(message: str) -> bytes:
    return msgspec.json.encode({"error": {"code": "C", "message": message}})


async def test_a_code_becomes_what_is_kept_for_the_address_that_was_used(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.make()
    assert joining.read(home) is None
    busy = (429, error("too many attempts; try again in 1 s"))
    async with answering(busy, (201, msgspec.json.encode(GOOD))) as url:
        joined, ticket = await joining.redeem(url, "abcd-efgh-jkmn", sleep=no_sleep)
    assert (joined.ws_url, ticket) == (url.replace("http", "ws", 1) + "/ws/vm", "ticket-1")
    joining.keep(home, joined)
    assert joining.read(home) == joined
    assert home.joined_file.stat().st_mode & 0o777 == 0o600
    assert "token-1" not in repr(joined)
    assert joining.is_of_code(joined, "ABCD EFGH JKMN", url)
    assert not joining.is_of_code(joined, "ABCD-EFGH-JKMX", url)
    assert not joining.is_of_code(joined, "ABCD-EFGH-JKMN", url + "0")


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, error("used already"), ServerRefused, "used already"),
        (410, error("has ended"), ServerRefused, "has ended"),
        (401, error("\x1b[2Jgone"), ServerRefused, r"\x1b[2Jgone"),
        (403, error("does not answer to the name"), ServerRefused, "does not answer to the name"),
        (429, error("try again in 9 s"), NoLine, "try again in 9 s"),
        (403, b"<html>", NoLine, "public_url"),
        (404, b"not found", NoLine, "is no such server"),
        (201, b"<html>hello</html>", NoLine, "is no such server"),
        (201, b'{"user_id": "", "token": 7}', NoLine, "is no such server"),
        (201, b"\xff" * 100_000, NoLine, "is no such server"),
        (301, b"", NoLine, "leads elsewhere"),
        (502, b"bad gateway", NoLine, "is it running?"),
    ],
)
async def test_every_answer_says_what_to_do(
    status: int, body: bytes, kind: type[Exception], says: str
) -> None:
    async with answering((status, body)) as url:
        with pytest.raises(kind) as caught:
            await joining.redeem(url, "A", sleep=no_sleep)
    assert says in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b'{"url": 7}', b"\xff", b"[]"])
def test_what_was_kept_and_is_damaged_is_named(tmp_path: Path, content: bytes) -> None:
    home = Home(tmp_path)
    home.make()
    home.joined_file.write_bytes(content)
    with pytest.raises(SettingsError, match="cannot be read"):
        joining.read(home)


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://x", "http://", "http://a:b@x", "http://x/?q=1", "http://x/#f", "//x"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="--url must be like"):
        joining.checked_url(url)


def connector(kind: type[Any], cause: Exception) -> Exception:
    made: Exception = kind(SimpleNamespace(host="h", port=1, is_ssl=True, ssl=True), cause)
    return made


@pytest.mark.parametrize(
    ("url", "problem", "says"),
    [
        (
            "https://h",
            connector(aiohttp.ClientConnectorCertificateError, ssl.SSLCertVerificationError("x")),
            "the certificate of h:443 is not trusted here",
        ),
        (
            "wss://h",
            connector(aiohttp.ClientConnectorSSLError, ssl.SSLError(1, "wrong version")),
            "does not speak TLS",
        ),
        (
            "http://h",
            connector(aiohttp.ClientConnectorError, socket.gaierror(-2, "unknown")),
            "the name h is not known here (DNS)",
        ),
        (
            "ws://h:8080?ticket=tk_secret",
            connector(aiohttp.ClientConnectorError, OSError(errno.ECONNREFUSED, "refused")),
            "--host",
        ),
        (
            "ws://127.0.0.1:8080",
            connector(aiohttp.ClientConnectorError, OSError(errno.ECONNREFUSED, "refused")),
            "ssh -N -L 8080:127.0.0.1:8080",
        ),
        (
            "http://h",
            connector(aiohttp.ClientConnectorError, OSError(errno.EHOSTUNREACH, "no")),
            "on the server's network",
        ),
        ("http://h", TimeoutError(), "firewall"),
        ("https://h", ConnectionResetError(), "http://"),
        ("http://h", aiohttp.ServerDisconnectedError(), "https://"),
        ("http://h", ValueError("odd\nthing"), "odd thing"),
    ],
)
def test_what_was_not_reached_is_explained_without_a_secret(
    url: str, problem: Exception, says: str
) -> None:
    words = why_unreached(problem, URL(url))
    assert says in words
    assert "secret" not in words
    assert "\n" not in words


def test_a_refused_handshake_names_the_setting() -> None:
    assert "public_url" in why_refused(403, URL("wss://h/ws/vm?ticket=x"))
    assert "ticket" not in why_refused(400, URL("wss://h/ws/vm?ticket=x"))
