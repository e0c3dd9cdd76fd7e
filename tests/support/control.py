"""A running control plane for tests: as a process of its own, or inside the test's event loop."""

import asyncio
import contextlib
import io
import json
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tests.support import fresh_data
from tests.support.eventually import eventually
from tests.support.faults import Disk, RecordStore, Writes
from tests.support.sse import SseReader
from tests.support.vm import ScriptedVm
from tests.support.warm_start import WarmProcess
from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock, Seconds, now_ms
from trunkline.control.core import Core, open_segments
from trunkline.control.files import store_url
from trunkline.control.server import Server
from trunkline.control.settings import Settings
from trunkline.control.store.engine import open_migrated
from trunkline.control.tuning import DEFAULT, Tuning

ADMIN = "test-admin-token-0123456789"
START_S = 60.0
LARGE_BODY_CHARS = 1_000_000
QUIET = {"model_titles": False}
"""Models of tests answer what they are asked, and no more."""


class Control:
    """The outside view of a control plane: its URL and what an operator does over REST."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = ADMIN,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Status and decoded body of one REST call."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        async with aiohttp.ClientSession() as http:
            url = self.url + (path if path.startswith("/api") else "/api/v1" + path)
            async with http.request(method, url, data=_sent(body, sent), headers=sent) as answer:
                text = await answer.read()
                is_json = "json" in answer.headers.get("Content-Type", "")
                return answer.status, await answer.json() if is_json else text

    @property
    def cookie(self) -> str:
        """The name of the cookie of a browser that is logged in there."""
        return f"trunkline_session_{urlsplit(self.url).port}"

    async def ok(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        status, answer = await self.call(method, path, body, **more)
        assert status < 300, (method, path, status, answer)
        return answer

    async def user(self, name: str = "ada", **fields: Any) -> "TestUser":
        user = await self.ok("POST", "/users", {"name": name, **fields})
        issued = await self.ok("POST", f"/users/{user['id']}/token")
        return TestUser(self, user["id"], issued["token"])


class TestUser:
    """A user with a bearer token."""

    __test__ = False

    def __init__(self, control: Control, user_id: str, token: str) -> None:
        self.control = control
        self.id = user_id
        self.token = token

    async def ok(self, method: str, path: str, body: Any = None) -> Any:
        return await self.control.ok(method, path, body, token=self.token)

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return await self.control.call(method, path, body, token=self.token)

    async def schedule(self, **fields: Any) -> dict[str, Any]:
        """000 §9: token and ticket of a new VM."""
        scheduled: dict[str, Any] = await self.ok(
            "POST", f"/users/{self.id}/vm", {"provider": "manual", **fields}
        )
        return scheduled

    async def vm(self, *capabilities: str, **fields: Any) -> ScriptedVm:
        """A new VM, scheduled with these fields, connected and authenticated."""
        scheduled = await self.schedule(**fields)
        vm = ScriptedVm(scheduled["ws_url"], self.id, scheduled["token"], scheduled["ticket"])
        await vm.connect()
        await vm.authenticate(*capabilities)
        return vm

    def again(self, vm: ScriptedVm) -> ScriptedVm:
        """The same VM for a reconnect: no ticket."""
        return ScriptedVm(f"{self.ws_url}", self.id, vm.token)

    @property
    def ws_url(self) -> str:
        return self.control.url.replace("http", "ws", 1) + "/ws/vm"

    async def session(self, **fields: Any) -> str:
        created = await self.ok("POST", "/sessions", fields)
        return str(created["id"])

    async def say(self, session_id: str, message: str, **fields: Any) -> str:
        answer = await self.ok(
            "POST", f"/sessions/{session_id}/messages", {"message": message, **fields}
        )
        return str(answer["turn_id"])

    async def turn_states(self, session_id: str) -> list[str]:
        """Of its turns, the oldest first."""
        snapshot = await self.ok("GET", f"/sessions/{session_id}/snapshot")
        return [turn["state"] for turn in snapshot["turns"]]

    async def until_turns(self, session_id: str, *states: str) -> None:
        """Waits until its turns have these states."""
        await eventually(lambda: self.turn_states(session_id), lambda seen: seen == list(states))

    def reader(self, session_id: str, **options: Any) -> SseReader:
        return SseReader(self.control.url, session_id, self.token, **options)


class ControlProcess(Control):
    """`trunkline control` as a real process, which can be killed and started again."""

    def __init__(self, data: Path, **settings: Any) -> None:
        self.port = free_port()
        super().__init__(f"http://127.0.0.1:{self.port}")
        values = {"port": self.port, "data": data, "admin_token": ADMIN, **QUIET, **settings}
        self._env = {name: value for name, value in os.environ.items() if "TRUNKLINE" not in name}
        self._env |= {f"TRUNKLINE_{name.upper()}": str(value) for name, value in values.items()}
        self._data = data
        self._is_embedded = "database_url" not in settings
        self._log = data.with_suffix(".log")
        self.process: WarmProcess

    async def __aenter__(self) -> "ControlProcess":
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.terminate()

    async def start(self) -> "ControlProcess":
        if self._is_embedded:
            fresh_data.copy_to(self._data)
        self.process = await WarmProcess.start(["control"], self._env, self._log)
        async with asyncio.timeout(START_S):
            while not await self._answers():
                if self.process.returncode is not None:
                    raise AssertionError(f"control plane ended: {self.log[-2000:]}")
                await asyncio.sleep(0.02)
        return self

    async def _answers(self) -> bool:
        try:
            async with aiohttp.ClientSession() as http, http.get(self.url + "/healthz") as answer:
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    async def kill(self) -> None:
        """kill -9: no goodbye, no flush."""
        self.process.kill()
        await self.process.wait()

    async def terminate(self) -> int:
        """SIGTERM; returns the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        return await self.process.wait()


class LocalControl(Control):
    """One inside of the test's own event loop, whose time and stores are in the test's hands."""

    def __init__(self, url: str, server: Server, disk: Disk, records: RecordStore) -> None:
        super().__init__(url)
        self.core = server.core
        self.disk = disk
        """Where its log is."""
        self.records = records
        self.writes = records.writes
        """Of both."""
        self.sweep = server.sweep
        """What it does once a second by itself."""

    async def stalled(self, wanted: bool = True) -> None:
        """Waits until the log does not keep up with its machines, or does again."""

        async def look() -> bool:
            return (self.core.log.stalled is not None) is wanted

        await eventually(look)


@contextlib.asynccontextmanager
async def running(
    data: Path,
    clock: Clock = now_ms,
    tuning: Tuning = DEFAULT,
    now: Seconds = time.monotonic,
    lost: Callable[[str], None] | None = None,
    **settings: Any,
) -> AsyncIterator[LocalControl]:
    """A control plane inside this event loop: for tests that turn its clocks and limits."""
    if "database_url" not in settings:
        fresh_data.copy_to(data)
    chosen = Settings(data=str(data), admin_token=ADMIN, **{"port": 0, **QUIET, **settings})
    keys = await asyncio.to_thread(Keys.open, data / "keys")
    records = RecordStore(await open_migrated(store_url(chosen), "records"))
    records.writes = Writes()
    disk = Disk(await open_segments(chosen, tuning), records.writes)
    server = Server(Core(chosen, records, disk, keys, ADMIN, clock, tuning, now), lost)
    info = await server.start()
    try:
        yield LocalControl(info.url, server, disk, records)
    finally:
        disk.heal()
        await server.stop()


def _sent(body: Any, headers: dict[str, str]) -> io.BytesIO | None:
    """As a stream: the library warns of large ones that are not. Those are not escaped either."""
    if body is None:
        return None
    headers.setdefault("Content-Type", "application/json")
    text = json.dumps(body)
    if len(text) > LARGE_BODY_CHARS:
        text = json.dumps(body, ensure_ascii=False)
    return io.BytesIO(text.encode())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
