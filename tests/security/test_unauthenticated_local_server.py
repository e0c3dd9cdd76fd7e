"""A public incident of programs of this kind: a server on loopback asked nobody who they are, so
every page in a browser and every other user of the host could run commands through it.

Loopback is no login here: each route wants a token, and the local model's server a key.
"""

import re
from pathlib import Path

import aiohttp
import pytest

from tests.support.control import running
from trunkline.control.api.http import ROUTES
from trunkline.execution.llm.local_server import LocalModelServer

OPEN = {
    *("/", "/docs", "/healthz", "/login", "/metrics", "/openapi.json", "/asyncapi.json"),
    *("/pages/{name}", "/proof", "/readyz"),
    # What a Yeaft page asks before its login.
    *("/api/auth/login", "/api/auth/mode", "/api/auth/logout", "/api/version"),
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


def test_the_routes_that_ask_for_no_login_are_these() -> None:
    assert {route.path for route in ROUTES if route.is_open} <= OPEN


async def test_a_caller_on_this_host_gets_nothing_without_a_token(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control, aiohttp.ClientSession() as http:
        for route in ROUTES:
            if route.is_open:
                continue
            path = re.sub(r"\{\w+\}", "x", route.path)
            async with http.request(route.method, control.url + path) as answer:
                assert answer.status == 401, (route.method, path)


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
