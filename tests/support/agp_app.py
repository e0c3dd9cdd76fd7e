"""A public AGP app, with the habits that were seen when such apps ran, from the field notes.

It outlives its lines. It comes back after any end, waits longer only where a handshake was refused,
drops a prompt that it has seen on any line, sends what its tools return as it is, and may leave
`guid` and `user_id` empty.
"""

from typing import Any

import aiohttp

from tests.support.agp import ScriptedDevice
from tests.support.peer import Json

FIRST_WAIT_S, GROWTH, WAIT_MAX_S = 3.0, 1.5, 25.0


class AppLine(ScriptedDevice):
    """One connection of an app."""

    def __init__(self, app: "PublicApp") -> None:
        super().__init__(app.url, **app.named)
        self._app = app

    async def send(self, method: str, payload: Json, **envelope: Any) -> str:
        if self._app.names_nobody:
            envelope |= {"guid": "", "user_id": ""}
        return await super().send(method, payload, **envelope)

    async def _take(self, message: Json) -> None:
        if message["method"] == "session.prompt":
            self._app.prompted(message)

    async def returns(self, prompt: Json, call_id: str, result: Any) -> None:
        """A tool is called and returns any JSON, which is put where text belongs."""
        await self.tool(prompt, call_id, "in_progress", title="list_files", kind="read")
        content = [{"type": "text", "text": result}]
        await self.tool(
            prompt, call_id, "completed", update_type="tool_call_update", content=content
        )


class PublicApp:
    def __init__(self, url: str, *, names_nobody: bool = False, **named: str) -> None:
        """`named`: which of `guid`, `user_id` and `token` its URL has."""
        self.url = url
        self.named: dict[str, Any] = named
        self.names_nobody = names_nobody
        self.status: int | None = None
        """Of the newest handshake that was refused."""
        self.accepted = 0
        self.taken: list[Json] = []
        """The prompts that it works on, over all lines."""
        self.dropped = 0
        self._refused = 0

    @property
    def wait_s(self) -> float:
        """How long it waits before it comes again: an accepted WebSocket begins that anew."""
        return min(FIRST_WAIT_S * GROWTH**self._refused, WAIT_MAX_S)

    async def come(self) -> AppLine | None:
        """One attempt; None where the handshake is refused."""
        line = AppLine(self)
        try:
            await line.connect()
        except aiohttp.WSServerHandshakeError as error:
            self.status = error.status
            self._refused += 1
            return None
        self.accepted += 1
        self._refused = 0
        return line

    async def line(self) -> AppLine:
        line = await self.come()
        assert line is not None, f"refused with HTTP {self.status}"
        return line

    def prompted(self, prompt: Json) -> None:
        known = {one["payload"]["prompt_id"] for one in self.taken}
        if prompt["payload"]["prompt_id"] in known:
            self.dropped += 1
        else:
            self.taken.append(prompt)
