"""The whole API over a real core, a real SQLite store and a real HTTP server."""

import functools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from tests.support import fresh_data
from tests.unit.control.people import People
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.api.http import build_app
from trunkline.control.clock import now_ms
from trunkline.control.core import Core
from trunkline.control.door.door import Door
from trunkline.control.edges.sse.host import SseHost
from trunkline.control.log import events
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store
from trunkline.control.tuning import DEFAULT, Tuning

ADMIN_TOKEN = "the-fixed-admin-token"


class Api:
    """A client that speaks for anyone of `people`."""

    def __init__(
        self, core: Core, client: TestClient[Request, Application], people: People
    ) -> None:
        self.core = core
        self.client = client
        self.people = people

    @functools.cached_property
    def _tokens(self) -> dict[str, str]:
        return {}

    async def token(self, who: Principal) -> str:
        if who.user_id not in self._tokens:
            self._tokens[who.user_id], _ = await self.core.auth.issue(who.user_id)
        return self._tokens[who.user_id]

    async def send(
        self, who: Principal | None, method: str, path: str, **options: Any
    ) -> ClientResponse:
        headers = dict(options.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {await self.token(who)}"
        return await self.client.request(
            method, path, headers=headers, allow_redirects=False, **options
        )

    async def call(
        self, who: Principal | None, method: str, path: str, body: Any = None, **options: Any
    ) -> tuple[int, Any]:
        """A call under `/api/v1`: its status and its JSON."""
        if body is not None:
            options["json"] = body
        async with await self.send(who, method, f"/api/v1{path}", **options) as answer:
            text = await answer.text()
            return answer.status, await answer.json() if text else None

    async def make(self, who: Principal, path: str, body: Any) -> str:
        """Makes a record and returns its id."""
        status, answer = await self.call(who, "POST", path, body)
        assert status == 201, answer
        return str(answer["id"])

    async def ask(self, who: Principal, session_id: str, request_id: str, **fields: Any) -> None:
        """A question of the session's machine."""
        machine = await self.core.machines.of(await self.core.sessions.get(who, session_id))
        line = events.make("approval_request", now_ms(), request_id=request_id, **fields)
        self.core.machines.write(machine, machine.logs[session_id], line)
        await self.core.log.flushed()

    async def schedule(self, who: Principal) -> str:
        status, answer = await self.call(who, "POST", f"/users/{who.user_id}/vm")
        assert status == 201, answer
        return str(answer["vm_id"])


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path), allowed_origins="https://friend.example")


@pytest.fixture
def tuning() -> Tuning:
    return DEFAULT


@pytest.fixture
async def core(
    sqlite_store: Store, keys: Keys, settings: Settings, tmp_path: Path, tuning: Tuning
) -> AsyncIterator[Core]:
    fresh_data.copy_to(tmp_path / "data")
    segments = await SqliteSegments.open(tmp_path / "data" / "log.db", tuning=tuning)
    core = Core(settings, sqlite_store, segments, keys, ADMIN_TOKEN, tuning=tuning)
    yield core
    await core.vms.stop()
    await core.settle(5)
    await core.services.close()
    await segments.close()


def door(core: Core) -> Door:
    return Door(core.settings, {}, SseHost(core), core.connections, core.handshakes, core.surprises)


@pytest.fixture
async def app(core: Core) -> Application:
    return build_app(core, door(core).take_back)


@pytest.fixture
async def api(core: Core, app: Application) -> AsyncIterator[Api]:
    people = await People.settle(core.store, now_ms)
    assert await core.auth.load_first_user() == people.ada
    async with TestClient(TestServer(app)) as client:
        yield Api(core, client, people)
