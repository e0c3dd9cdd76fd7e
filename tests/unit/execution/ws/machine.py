"""A machine's side of the line for tests: the real client, with its naps in the test's hands."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from trunkline.execution.line import MachineSide
from trunkline.execution.ws.client import ControlPlaneClient
from trunkline.execution.ws.outbox import Outbox

Json = dict[str, Any]

USAGE: Json = {"model": "gpt-4o", "tokens_in": 10, "tokens_out": 5}
"""A report of what a model call took."""


class Naps:
    """Waiting for the next attempt: noted, and over at once unless the test holds it."""

    def __init__(self) -> None:
        self.taken: list[float] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        await asyncio.sleep(0.005)
        await self.gate.wait()

    def hold(self) -> None:
        """The machine stays away until `release`."""
        self.gate.clear()

    def release(self) -> None:
        self.gate.set()


def make_client(
    url: str,
    folder: Path,
    naps: Naps | None = None,
    *,
    user_id: str = "u-1",
    ticket: str | None = "ticket-1",
    token: str = "token-1",
    **options: Any,
) -> ControlPlaneClient:
    return ControlPlaneClient(
        url,
        user_id,
        ticket,
        token,
        outbox=Outbox(folder),
        sleep=naps or Naps(),
        random=lambda: 0.5,
        **options,
    )


@contextlib.asynccontextmanager
async def connected(client: ControlPlaneClient, **said: Any) -> AsyncIterator[ControlPlaneClient]:
    """A client with its line up; closed at the end. `said`: what its machine says and is told."""
    try:
        await client.connect(MachineSide(**said))
        yield client
    finally:
        await client.close()


def event(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def text(content: str, turn_id: str = "t-1", **fields: Any) -> str:
    return event("text_chunk", content=content, turn_id=turn_id, **fields)
