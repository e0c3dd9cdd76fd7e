"""The MyAgent page as it is deployed: what it sends, what it shows, and nothing more.

Written from the field notes. It acknowledges every 200 ms, shows work by its own rules, takes every
error for the end, and comes back on a new connection without a word about its session.
"""

import asyncio
import json
from typing import Any

from tests.support.control import TestUser
from tests.support.myagent import MyAgentClient
from tests.support.peer import Json

ACK_S = 0.2
STARTS = ("agent.thinking", "plan.start", "solver.start", "aggregate.start")
ENDS = ("agent.final_answer", "agent.interrupted", "agent.error", "system.error")


class Page(MyAgentClient):
    """One connection of the page; `come_back` is its next one."""

    def __init__(self, user: TestUser, shown: list[Json] | None = None) -> None:
        super().__init__(f"{user.control.url}/ws/myagent?token={user.token}")
        self._user = user
        self._acking: asyncio.Task[None] | None = None
        self.shown: list[Json] = [] if shown is None else shown
        """Every message of all its connections."""

    async def _greet(self) -> None:
        self.acknowledge()

    def acknowledge(self) -> None:
        """From now on, as often as it does."""
        self._acking = asyncio.create_task(self._acknowledge())

    async def _acknowledge(self) -> None:
        while True:
            await asyncio.sleep(ACK_S)  # its own clock, whatever comes
            await self.send("user.ack", content={"last_event_id": self.last_event_id})

    async def has_acknowledged(self) -> None:
        """Waits until the server knows that all has come which is here now."""
        await self.send("user.ack", content={"last_event_id": self.last_event_id})
        await self.answered()

    def fall_silent(self) -> None:
        """It acknowledges nothing more."""
        if self._acking is not None:
            self._acking.cancel()
            self._acking = None

    async def send(self, event: str, **fields: Any) -> None:
        """It writes its own time into every message."""
        stamped = {"event": event, **fields, "timestamp": "2027-01-15T08:00:00.000Z"}
        await self.send_text(json.dumps(stamped))

    async def _take(self, message: Json) -> None:
        self.shown.append(message)

    async def finish(self) -> None:
        self.fall_silent()
        await super().finish()

    async def come_back(self) -> "Page":
        """Its line is cut, and it opens another one by itself."""
        if self.close_code is None:
            await self.drop()
        again = Page(self._user, self.shown)
        await again.connect()
        again.acknowledge()
        return again

    @property
    def is_busy(self) -> bool:
        """It shows work, and the button that stops it."""
        is_busy = False
        for message in self.shown:
            is_busy = (is_busy or message["event"] in STARTS) and message["event"] not in ENDS
        return is_busy

    @property
    def answer(self) -> str:
        """What it has put together of the pieces."""
        pieces = (one for one in self.shown if one["event"] == "agent.partial_answer")
        return "".join(one["content"] for one in pieces)

    @staticmethod
    def dialog(confirm: Json) -> str:
        """What a person reads before they confirm."""
        metadata = confirm["metadata"]
        shown = [metadata.get(name) for name in ("scope", "plan_summary", "tasks")]
        return "\n".join(str(one) for one in shown if one)
