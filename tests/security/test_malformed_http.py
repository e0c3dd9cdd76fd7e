"""Found open: a request with two `Host` headers was checked by one of them and could be answered by
the other; and broken requests, and clients that left in the middle of one, were logged as faults
of ours, so that any peer could fill the log with errors."""

import asyncio
import logging
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from tests.support.control import ADMIN, LocalControl, running
from tests.support.eventually import until
from tests.support.wire import Wire, get, upgrade

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOST = b"Host: 127.0.0.1\r\n"
AUTH = f"Authorization: Bearer {ADMIN}\r\n".encode()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalControl]:
    data: Path = tmp_path_factory.mktemp("control") / "data"
    async with running(data) as control:
        yield control


@pytest.mark.parametrize(
    "request_of",
    [
        lambda host: get("/healthz", host, "Host: evil.example"),
        lambda host: get("/healthz", "evil.example", f"Host: {host}"),
        lambda host: get("/healthz", host, f"host: {host}"),
        lambda host: get("/api/v1/sessions/x/stream", host, "HOST: evil.example"),
        lambda host: upgrade("/ws/myagent", host, "Host: evil.example"),
        lambda host: get("/healthz", host, "X-Other: a\nHost: evil.example"),
        lambda host: get("/healthz", host, "X-Other: a\rHost: evil.example"),
    ],
)
async def test_two_host_headers_are_refused(control: LocalControl, request_of: Any) -> None:
    async with Wire(control) as wire:
        await wire.send(request_of(wire.host))
        assert (await wire.head())[0] == 400


async def test_two_host_headers_are_refused_on_a_connection_that_was_good_before(
    control: LocalControl,
) -> None:
    async with Wire(control) as wire:
        await wire.send(get("/healthz", wire.host))
        assert (await wire.answer())[0] == 200
        await wire.send(get("/healthz", wire.host, "Host: evil.example"))
        assert (await wire.head())[0] == 400


def open_connections(control: LocalControl) -> int:
    control.core.connections.sweep()
    return len(control.core.connections)


BROKEN = [
    b"POST /api/v1/sessions HTTP/1.1\r\n" + HOST + AUTH + b'Content-Length: 1000\r\n\r\n{"a":',
    b"POST /api/v1/sessions HTTP/1.1\r\n" + HOST + b'Content-Length: 1000\r\n\r\n{"a":',
    b"POST /api/v1/sessions HTTP/1.1\r\n"
    + HOST
    + AUTH
    + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /healthz HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    b"POST /api/v1/sessions HTTP/1.1\r\n"
    + HOST
    + AUTH
    + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde",
    b"POST /healthz HTTP/1.1\r\n"
    + HOST
    + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde",
    b"POST /api/v1/skills HTTP/1.1\r\n"
    + HOST
    + AUTH
    + b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 500\r\n\r\n--x\r\n",
    b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\nGARBAGE\x00\xff\r\n\r\n",
    b"GET http://[::1/ HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /%zz%ff\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /a HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
    b"GET /a HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET /a HTTP/1.9\r\n" + HOST + b"\r\n",
    b"GET /a HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 500 + b"\r\n",
    b"GET /api/v1/sessions HTTP/1.1\r\n" + HOST + b"Cookie: trunkline_session=\xff\xfe\r\n\r\n",
    b"GET /api/v1/sessions HTTP/1.1\r\n" + HOST + b"Authorization: Bearer \xff\r\n\r\n",
    b"GET /api/v1/sessions/%ed%a0%80 HTTP/1.1\r\n" + HOST + AUTH + b"\r\n",
]


@pytest.mark.parametrize("is_rude", [False, True])
async def test_broken_requests_and_clients_that_leave_log_no_error(
    control: LocalControl, caplog: pytest.LogCaptureFixture, is_rude: bool
) -> None:
    faults: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    with capture_logs() as logs, caplog.at_level(logging.WARNING):
        for request in BROKEN:
            async with Wire(control) as wire:
                await wire.send(request)
                if not is_rude:
                    wire.writer.write_eof()
                    await wire.rest()
        await until(partial(open_connections, control), lambda count: count == 0)
    assert [one for one in logs if one["log_level"] in ("warning", "error", "critical")] == []
    assert caplog.records == []
    assert faults == []


async def test_why_a_request_could_not_be_read_is_in_the_log_of_who_looks_for_it(
    control: LocalControl,
) -> None:
    with capture_logs() as logs:
        async with Wire(control) as wire:
            await wire.send(b"GET /a HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n")
            assert (await wire.head())[0] == 400
    [told] = [one for one in logs if one["event"] == "a request could not be read"]
    assert told["log_level"] == "debug"
    assert "Content-Length" in told["reason"]
