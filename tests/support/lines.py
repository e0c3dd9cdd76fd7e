"""The registry of lines in memory, and a small server on a real socket that fills it.

For tests of what schedules VMs; the whole control plane takes their place in tests/e2e.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import WSMsgType, web

from trunkline.control.access.auth import Auth
from trunkline.control.errors import Unauthorized
from trunkline.control.machines.machine import LineEnd
from trunkline.wire.semibot.close_codes import CloseCode


class MemoryLines:
    """Implements `machines.local_vm.Lines`; a test can set machines on and off line."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._lines: dict[str, web.WebSocketResponse | None] = {}
        self.failures: dict[str, str] = {}
        self.ended: list[str] = []
        self.closed: list[tuple[str, LineEnd]] = []
        self.connections: Counter[str] = Counter()
        self.revived: Counter[str] = Counter()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits for something to be true of what is recorded here."""
        while not condition():
            await self._changed.wait()

    def _change(self) -> None:
        event, self._changed = self._changed, asyncio.Event()
        event.set()

    def is_online(self, machine_id: str) -> bool:
        return machine_id in self._lines

    async def wait_online(self, machine_id: str) -> None:
        await self.until(lambda: machine_id in self._lines)

    async def wait_offline(self, machine_id: str) -> None:
        await self.until(lambda: machine_id not in self._lines)

    def failed(self, machine_id: str, reason: str) -> None:
        self.failures[machine_id] = reason
        self._change()

    def terminated(self, machine_id: str) -> None:
        self.ended.append(machine_id)

    def revive(self, machine_id: str) -> None:
        self.revived[machine_id] += 1

    def end_line(self, machine_id: str, why: LineEnd) -> None:
        self.closed.append((machine_id, why))
        line = self._lines.get(machine_id)
        if line is not None:
            self._closing = asyncio.create_task(line.close(message=why.value.encode()))

    def set_online(self, machine_id: str, line: web.WebSocketResponse | None = None) -> None:
        self._lines[machine_id] = line
        self.connections[machine_id] += 1
        self._change()

    def set_offline(self, machine_id: str) -> None:
        self._lines.pop(machine_id, None)
        self._change()

    async def say(self, machine_id: str, text: str) -> None:
        """Sends a user's message down that machine's line."""
        line = self._lines[machine_id]
        assert line is not None
        data = {"message": text, "history": [], "metadata": {}}
        await line.send_json({"type": "user_message", "session_id": "s-1", "data": data})


@asynccontextmanager
async def serve_lines(lines: MemoryLines, auth: Auth) -> AsyncIterator[str]:
    """Takes in VMs at `/ws/vm` with the real checks of ticket and token; yields its address."""

    async def vm(request: web.Request) -> web.WebSocketResponse:
        line = web.WebSocketResponse()
        await line.prepare(request)
        first = await line.receive_json()
        claims = auth.check_vm_token(first["token"])
        assert claims.user_id == request.query["user_id"]
        ticket = request.query.get("ticket")
        if ticket is not None:
            try:
                await auth.redeem_ticket(ticket, claims.user_id, claims.vm_id)
            except Unauthorized:
                await line.close(code=CloseCode.AUTH_FAILED)
                return line
        await line.send_json({"type": "init", "data": {"user_id": claims.user_id}})
        lines.set_online(claims.vm_id, line)
        async for frame in line:
            assert frame.type is WSMsgType.TEXT
            json.loads(frame.data)
        lines.set_offline(claims.vm_id)
        return line

    app = web.Application()
    app.router.add_get("/ws/vm", vm)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
