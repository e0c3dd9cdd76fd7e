"""Found open: `/metrics` was for callers on this host, and everybody who came through the proxy on
this host was one.

Without a token it is for direct callers on this host, and for addresses on the operator's list.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.control import ADMIN, Control, ControlProcess, running
from tests.support.wire import Wire, get

pytestmark = pytest.mark.asyncio(loop_scope="module")

FAR, MONITOR = "203.0.113.9", "198.51.100.4"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def proxied(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlProcess]:
    """A control plane with a proxy in front that the operator has not named."""
    data = tmp_path_factory.mktemp("control") / "data"
    settings = {"public_url": "https://agents.example", "metrics_allowed": MONITOR}
    async with ControlProcess(data, **settings) as process:
        yield process


async def status(control: Control, *headers: str, host: str = "") -> int:
    async with Wire(control) as wire:
        await wire.send(get("/metrics", host or wire.host, *headers))
        return (await wire.head())[0]


@pytest.mark.parametrize(
    ("header", "host", "expected"),
    [
        ("", "", 200),
        ("", "localhost", 200),
        (f"X-Forwarded-For: {FAR}", "", 401),
        ("X-Forwarded-For: 127.0.0.1", "", 401),
        ("X-Forwarded-For:", "", 401),
        ("Forwarded: for=127.0.0.1", "", 401),
        ("X-Real-IP: 127.0.0.1", "", 401),
        ("X-Forwarded-Proto: https", "", 401),
        ("Via: 1.1 proxy", "", 401),
        ("X-Other: x", "agents.example", 401),  # a proxy that adds nothing keeps the name
    ],
)
async def test_nobody_behind_a_proxy_reads_metrics_without_a_token(
    proxied: ControlProcess, header: str, host: str, expected: int
) -> None:
    headers = [header] if header else []
    assert await status(proxied, *headers, host=host) == expected
    assert await status(proxied, *headers, f"Authorization: Bearer {ADMIN}", host=host) == 200


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (f"X-Forwarded-For: {MONITOR}", 200),
        (f"X-Forwarded-For: {FAR}", 401),
        (f"X-Forwarded-For: {MONITOR}, {FAR}", 401),  # the first is what the caller wrote itself
        ("X-Forwarded-For: nonsense", 401),
        (f"X-Real-IP: {MONITOR}", 401),
    ],
)
async def test_only_a_named_proxys_word_puts_a_caller_on_the_list(
    tmp_path: Path, header: str, expected: int
) -> None:
    data = tmp_path / "data"
    async with running(data, trusted_proxies="127.0.0.1", metrics_allowed=MONITOR) as control:
        assert await status(control, header) == expected


@pytest.mark.parametrize(("scope", "expected"), [("read", 200), ("admin", 403)])
async def test_an_admins_token_reads_metrics_if_it_may_read(
    proxied: ControlProcess, scope: str, expected: int
) -> None:
    admin = (await proxied.ok("GET", "/me"))["user"]["id"]
    issued = await proxied.ok("POST", f"/users/{admin}/token", {"scopes": [scope]})
    headers = f"X-Forwarded-For: {FAR}", f"Authorization: Bearer {issued['token']}"
    assert await status(proxied, *headers) == expected


async def test_a_header_of_nobodys_puts_no_caller_on_the_list(tmp_path: Path) -> None:
    async with running(tmp_path / "data", metrics_allowed=f"{MONITOR},127.0.0.1") as control:
        assert await status(control, f"X-Forwarded-For: {MONITOR}") == 401
