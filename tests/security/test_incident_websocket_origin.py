"""OpenClaw, CVE-2026-25253 and CVE-2026-26317: a server on this host took WebSockets, or requests
that change something, from any page that its user looked at, and the page spoke as the user. Or a
page has its own name point to this host.

A page of another site opens none of the wires here, nor a stream, cookie or not.
"""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.control import LocalControl, running
from tests.support.wire import Wire, get, upgrade

pytestmark = pytest.mark.asyncio(loop_scope="module")

WIRES = [
    "/",
    "/ws/myagent",
    "/ws/vm?user_id=x",
    "/ws/agp?guid=g&user_id=u",
    "/ws/yeaft?type=web",
    "/ws/yeaft?type=agent&id=x",
    "/api/v1/sessions/x/stream",
    "/api/v1/sessions",
    "/metrics",
]
FOREIGN = [
    "https://evil.example",
    "null",
    "http://127.0.0.1.evil.example",
    "http://localhost:1",
    "file://",
    "",
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalControl]:
    data = tmp_path_factory.mktemp("control") / "data"
    async with running(data, open_myagent=True, open_agp=True) as control:
        yield control


async def refusal(control: LocalControl, path: str, host: str, *headers: str) -> tuple[int, str]:
    is_socket = path == "/" or path.startswith("/ws/")
    async with Wire(control) as wire:
        request = upgrade if is_socket else get
        await wire.send(request(path, host or wire.host, *headers))
        status, body = await wire.answer()
        return status, json.loads(json.dumps(body))["error"]["code"]


@pytest.mark.parametrize("path", WIRES)
@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_page_of_another_site_speaks_to_nothing_here(
    control: LocalControl, path: str, origin: str
) -> None:
    cookie = "Cookie: trunkline_session=whatever"
    found = await refusal(control, path, "", f"Origin: {origin}", cookie)
    assert found == (403, "ORIGIN_REFUSED")


@pytest.mark.parametrize("path", WIRES)
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8080"])
async def test_a_page_whose_own_name_points_here_speaks_to_nothing_here(
    control: LocalControl, path: str, host: str
) -> None:
    """DNS rebinding: to the browser it is the page's own server, so its `Origin` fits."""
    found = await refusal(control, path, host, f"Origin: http://{host}")
    assert found == (403, "HOST_REFUSED")
