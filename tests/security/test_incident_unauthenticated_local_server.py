"""opencode, CVE-2026-22812 (GHSA-vxw4-wv6m-9hhh): a coding agent's local server took commands from
any process and any web page on the machine, because it trusted whoever reached the port.

Here the port opens nothing.
"""

from pathlib import Path

import aiohttp
import pytest

from tests.support.control import running
from trunkline.control.api.http import ROUTES
from trunkline.execution.llm.local_server import LocalModelServer

SOCKETS = ("/", "/ws/myagent", "/ws/agp?guid=g&user_id=u", "/ws/vm?user_id=u")
OPEN = {
    *("/healthz", "/readyz", "/metrics", "/login", "/", "/docs", "/pages/{name}"),
    *("/openapi.json", "/asyncapi.json"),
    # The way in, for people who have none yet, and the server's proof of who it is.
    *("/api/auth/mode", "/api/auth/login", "/api/auth/logout", "/api/version", "/proof"),
    # For a machine that has no token yet: a code that works once, or its own secret, is the proof.
    *("/api/v1/join", "/api/v1/join/renew"),
}
# Notes what the server is started with.
LIBRARY = """
import json
class _Any:
    def __getattr__(self, name):
        made = _Any(); object.__setattr__(self, name, made); return made
class CommonParams(_Any): pass
class Server:
    listening_address = "http://127.0.0.1:1"
    def __init__(self, params):
        known = {"hosts": params.hostnames, "keys": params.api_keys}
        open(params.model.path + ".json", "w").write(json.dumps(known))
"""


def test_only_pages_health_and_documents_are_served_without_a_token() -> None:
    assert {one.path for one in ROUTES if one.is_open} <= OPEN


async def test_a_process_on_this_host_without_a_token_can_do_nothing(tmp_path: Path) -> None:
    nowhere = "01a1dd16-7fed-7860-a4ee-8e35ee94311f"
    async with running(tmp_path / "data") as control, aiohttp.ClientSession() as http:
        for route in ROUTES:
            if route.is_open:
                continue
            path = route.path
            for name in route.path_params:
                path = path.replace(f"{{{name}}}", nowhere)
            async with http.request(route.method, control.url + path, json={}) as answer:
                assert answer.status == 401, (route.method, path)
        for path in SOCKETS:
            assert await refused(http, control.url + path), path


async def refused(http: aiohttp.ClientSession, url: str) -> bool:
    """Whether a socket there is refused, or closed before it has said anything of use."""
    try:
        async with http.ws_connect(url) as socket:
            await socket.send_json({"type": "auth", "token": "wrong"})
            message = await socket.receive()
            return message.type is aiohttp.WSMsgType.CLOSE
    except aiohttp.WSServerHandshakeError as error:
        return error.status in (400, 401)


@pytest.mark.parametrize("header", ["Origin", "Host"])
async def test_a_page_of_another_site_reaches_nothing_though_the_browser_is_on_this_host(
    tmp_path: Path, header: str
) -> None:
    stranger = {"Origin": "https://evil.example", "Host": "evil.example"}[header]
    async with running(tmp_path / "data") as control, aiohttp.ClientSession() as http:
        for path in ("/api/v1/me", "/api/v1/sessions"):
            async with http.get(control.url + path, headers={header: stranger}) as answer:
                assert answer.status in (400, 403)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(f"{control.url}/ws/myagent", headers={header: stranger})
        assert refused.value.status in (400, 403)


@pytest.mark.slow
async def test_the_local_model_is_served_on_loopback_and_under_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xllamacpp.py").write_text(LIBRARY)
    weights = tmp_path / "tiny.gguf"
    weights.touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = LocalModelServer(find=lambda: weights)
    try:
        key = (await server.ensure(lambda _: None))["api_key"]
    finally:
        await server.stop()
    assert len(key) >= 32
    found = Path(f"{weights}.json").read_text()
    assert found == f'{{"hosts": ["127.0.0.1"], "keys": ["{key}"]}}'
