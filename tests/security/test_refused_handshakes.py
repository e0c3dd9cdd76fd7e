"""A handshake that is refused leaves a line in the log with wire, path and reason, whatever the
wire and whatever was wrong: an operator sees why a program does not get through, and who tries."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from tests.support.control import LocalControl, TestUser, running
from tests.support.wire import Wire, get, upgrade

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "not-a-token-of-ours-0123456789"
STREAM = "/api/v1/sessions/s-1/stream"
PATHS = {
    "semibot": f"/ws/vm?user_id=u&ticket={SECRET}",
    "myagent": f"/ws/myagent?token={SECRET}",
    "agp": f"/ws/agp?guid=g&user_id=u&token={SECRET}",
    "yeaft": f"/ws/yeaft?type=web&token={SECRET}",
    "sse": f"{STREAM}?token={SECRET}",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalControl]:
    async with running(tmp_path_factory.mktemp("control") / "data") as control:
        yield control


async def _refused(control: LocalControl, *requests: bytes) -> tuple[int, list[Mapping[str, Any]]]:
    """The status of the last answer, and what the log says."""
    with capture_logs() as logs:
        async with Wire(control) as wire:
            for request in requests:
                await wire.send(request.replace(b"Host: \r\n", f"Host: {wire.host}\r\n".encode()))
                status, _ = await wire.answer()
    return status, [one for one in logs if one["event"] == "a client was not let in"]


def _said(logs: list[Mapping[str, Any]]) -> tuple[str, str]:
    """Wire and path of the one line that there is."""
    [line] = logs
    assert line["log_level"] == "warning"
    assert line["reason"]
    assert SECRET not in str(line)
    return line["wire"], line["path"]


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("header", ["Origin: https://evil.example", ""])
async def test_a_page_or_a_name_that_is_foreign(
    control: LocalControl, wire: str, header: str
) -> None:
    ask, path = (get if wire == "sse" else upgrade), PATHS[wire]
    request = ask(path, "", header) if header else ask(path, "evil.example")
    status, logs = await _refused(control, request)
    assert (status, _said(logs)) == (403, (wire, path.partition("?")[0]))
    assert "evil.example" in logs[0]["reason"]


@pytest.mark.parametrize("path", ["/ws/other", "/socket.io/"])
async def test_a_path_where_no_wire_is(control: LocalControl, path: str) -> None:
    status, logs = await _refused(control, upgrade(f"{path}?token={SECRET}", ""))
    assert (status, _said(logs)) == (404, ("websocket", path))
    assert control.core.surprises.counts["http", f"socket {path}"] == 1


@pytest.mark.parametrize("wire", [one for one in PATHS if one != "sse"])
@pytest.mark.parametrize(
    "left_out", ["Sec-WebSocket-Version", "Sec-WebSocket-Key", "Connection: Upgrade"]
)
async def test_an_upgrade_that_lacks_a_header(
    control: LocalControl, wire: str, left_out: str
) -> None:
    whole = upgrade(PATHS[wire], "").split(b"\r\n")
    lines = [one for one in whole if not one.startswith(left_out.encode())]
    status, logs = await _refused(control, b"\r\n".join(lines))
    assert (status, _said(logs)) == (400, (wire, PATHS[wire].partition("?")[0]))
    assert left_out.partition(":")[0] in logs[0]["reason"]


@pytest.mark.parametrize(
    ("request_", "status", "wire", "path"),
    [
        (get(STREAM, ""), 401, "sse", STREAM),
        (get(STREAM, "", f"Authorization: Bearer {SECRET}"), 401, "sse", STREAM),
        (upgrade("/ws/myagent", ""), 401, "myagent", "/ws/myagent"),
        (upgrade(PATHS["myagent"], ""), 401, "myagent", "/ws/myagent"),
        (upgrade("/ws/vm", ""), 400, "semibot", "/ws/vm"),
        (upgrade("/ws/yeaft", ""), 400, "yeaft", "/ws/yeaft"),
        (upgrade("/ws/vm?user_id=u", "", "Host: two.example"), 400, "http", ""),
        (upgrade("/ws/vm?" + "a=b&" * 100, ""), 400, "http", ""),
    ],
)
async def test_no_good_token_and_a_url_that_is_not_whole(
    control: LocalControl, request_: bytes, status: int, wire: str, path: str
) -> None:
    found, logs = await _refused(control, request_)
    assert (found, _said(logs)) == (status, (wire, path))


@pytest.mark.parametrize("ask", [upgrade, get])
async def test_a_connection_that_served_http_before(control: LocalControl, ask: Any) -> None:
    path = "/ws/vm" if ask is upgrade else STREAM
    foreign = ask(path, "", "Origin: https://evil.example")
    status, logs = await _refused(control, get("/healthz", ""), foreign)
    assert (status, _said(logs)[1]) == (403, path)


async def test_a_stream_of_somebody_elses_session(control: LocalControl) -> None:
    user: TestUser = await control.user()
    request = get(STREAM, "", f"Authorization: Bearer {user.token}")
    status, logs = await _refused(control, request)
    assert (status, _said(logs)) == (404, ("sse", STREAM))


async def test_firefox_is_let_in_though_it_names_more_than_the_upgrade(
    control: LocalControl,
) -> None:
    """It sends `Connection: keep-alive, Upgrade`."""
    user: TestUser = await control.user()
    request = upgrade(f"/ws/myagent?token={user.token}", "HOST").decode()
    async with Wire(control) as wire:
        request = request.replace("HOST", wire.host)
        request = request.replace("Connection: Upgrade", "Connection: keep-alive, Upgrade")
        await wire.send(request.encode())
        status, headers = await wire.head()
    assert (status, headers["upgrade"]) == (101, "websocket")
