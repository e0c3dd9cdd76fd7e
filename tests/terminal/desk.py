"""A person at a terminal, and the machine that their session runs on, which a test plays."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.control import TestUser
from tests.support.vm import ScriptedVm
from tests.terminal.harness import Terminal, terminal
from trunkline.client import Client


class Turn:
    """A message that has reached the machine."""

    def __init__(self, vm: ScriptedVm, message: dict[str, Any], seq: list[int]) -> None:
        self._vm = vm
        self._seq = seq
        self.session_id: str = message["session_id"]
        self.id: str = message["data"]["turn_id"]
        self.message: str = message["data"]["message"]

    async def event(self, kind: str, /, **fields: Any) -> None:
        self._seq[0] += 1
        event = {"type": kind, "turn_id": self.id, **fields}
        await self._vm.event(self.session_id, self._seq[0], **event)

    async def text(self, *pieces: str) -> None:
        for piece in pieces:
            await self.event("text_chunk", content=piece)

    async def ask(self, name: str, /, **fields: Any) -> None:
        await self.event("approval_request", request_id=name, **fields)

    async def done(self, **fields: Any) -> None:
        await self.event("execution_complete", content="", **fields)


class Desk:
    """`chat` opens a terminal there."""

    def __init__(self, user: TestUser, vm: ScriptedVm, client: Client, folder: Path) -> None:
        self.user, self.vm, self.client, self.folder = user, vm, client, folder
        self._seqs: dict[str, list[int]] = {}

    @asynccontextmanager
    async def chat(
        self, *arguments: str, columns: int = 80, rows: int = 30
    ) -> AsyncIterator[Terminal]:
        opening = terminal("chat", *arguments, env=self.env, columns=columns, rows=rows)
        async with opening as opened:
            yield opened

    @property
    def env(self) -> dict[str, str]:
        return {
            "XDG_STATE_HOME": str(self.folder / "state"),
            "PAGER": "cat",
            "TRUNKLINE_URL": self.client.http.url,
            "TRUNKLINE_TOKEN": self.user.token,
        }

    async def answer(self, name: str) -> dict[str, Any]:
        """Waits until the machine is told what the person says to its question."""
        told = await self.vm.expect(
            "approval_response", lambda one: one["data"]["request_id"] == name
        )
        data: dict[str, Any] = told["data"]
        return data

    async def turn(self, said: str | None = None) -> Turn:
        """Waits until the machine is told that, or anything."""
        message = await self.vm.expect(
            "user_message", lambda one: said is None or one["data"]["message"] == said
        )
        return Turn(self.vm, message, self._seqs.setdefault(message["session_id"], [0]))
