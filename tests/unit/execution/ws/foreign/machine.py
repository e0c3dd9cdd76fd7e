"""A machine of ours on a scripted foreign server, with sessions that a test plays."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.eventually import until
from tests.support.foreign_servers import AgpServer, YeaftServer
from trunkline.execution.home import Home
from trunkline.execution.line import MACHINE, MachineSide
from trunkline.execution.roots import Roots
from trunkline.execution.runtimes.foreign.library import Library
from trunkline.execution.ws.foreign.agp import AgpClient
from trunkline.execution.ws.foreign.client import ForeignClient
from trunkline.execution.ws.foreign.yeaft import YeaftClient
from trunkline.execution.ws.foreign.yeaft_handshake import Introduction

Json = dict[str, Any]


class Machine:
    """What the daemon would do: it starts sessions, and notes what they are told."""

    def __init__(self, client: ForeignClient, refusals: list[str], unconfirmed: Path) -> None:
        """`unconfirmed`: the file of messages that the server is not known to have read."""
        self.client = client
        self._unconfirmed = unconfirmed
        self.refusals = refusals
        self.told: list[tuple[str, str, Json]] = []
        self.starts: list[str] = []
        self.started_with: list[Json] = []
        self.running: list[str] = []
        self.is_broken = False
        self.refusal_of_starts: Json = {}
        """The fields of the error with which a session is not started."""
        self.health: Json = {}
        self.open_turns: list[str] = []
        """Those that an earlier process left and this one goes on with."""
        client.message_handlers[MACHINE] = {
            "start_session": self._start,
            "stop_session": self._stop,
        }

    def side(self) -> MachineSide:
        return MachineSide(
            active_sessions=lambda: self.running,
            open_turns=lambda: self.open_turns,
            health=lambda: self.health,
        )

    def _start(self, data: Json) -> asyncio.Task[None]:
        self.starts.append(data["session_id"])
        self.started_with.append(data)
        return asyncio.create_task(self._come_up(data["session_id"]))

    async def _come_up(self, session_id: str) -> None:
        if self.is_broken:
            raise RuntimeError("no more processes")
        if self.refusal_of_starts:
            self.event(session_id, "execution_error", **self.refusal_of_starts)
            return
        self.running.append(session_id)
        kinds = ("user_message", "cancel", "approval_response")
        self.client.register_session(
            session_id, {kind: self._note(session_id, kind) for kind in kinds}
        )

    def _stop(self, data: Json) -> None:
        self.running.remove(data["session_id"])
        self.client.unregister_session(data["session_id"])
        self.told.append((data["session_id"], "stop", data))

    def _note(self, session_id: str, kind: str) -> Any:
        return lambda data: self.told.append((session_id, kind, data))

    async def refusal(self) -> str:
        [why] = await until(lambda: self.refusals)
        return why

    def all(self, kind: str) -> list[Json]:
        return [data for _, told, data in self.told if told == kind]

    async def until_online(self) -> None:
        await until(lambda: self.client.online)

    async def has_delivered(self) -> None:
        """It knows that all that it sent has arrived."""
        await until(lambda: not self._unconfirmed.exists() or not self._unconfirmed.read_bytes())

    async def until_told(self, kind: str, count: int = 1) -> Json:
        return (await until(lambda: self.all(kind), lambda found: len(found) >= count))[count - 1]

    def event(self, session_id: str, kind: str, /, **fields: Any) -> None:
        self.client.send_sse_event(session_id, json.dumps({"type": kind, **fields}))

    def end(self, session_id: str, turn_id: str, text: str = "Done.") -> None:
        self.event(session_id, "execution_complete", turn_id=turn_id, content=text)


@asynccontextmanager
async def connected(machine: Machine) -> AsyncIterator[Machine]:
    await machine.client.connect(machine.side())
    try:
        yield machine
    finally:
        await machine.client.close()


async def at_once(_seconds: float) -> None:
    """A pause that a test does not wait for; others get their turn."""
    await asyncio.sleep(0)


def agp_machine(server: AgpServer, folder: Path, **address: str) -> Machine:
    refusals: list[str] = []
    given = {"guid": "device_001", "user_id": "user_123", "token": "right", **address}
    client = AgpClient(
        server.url,
        agent_config={},
        folder=folder / "agp",
        on_refused=refusals.append,
        sleep=at_once,
        **given,
    )
    return Machine(client, refusals, folder / "agp" / "owed.jsonl")


def yeaft_machine(
    server: YeaftServer, folder: Path, secret: str = "right", **bounds: int
) -> Machine:
    home = Home(folder)
    home.make()
    who = Introduction(id="desk-1", name="Desk", secret=secret, work_dir=str(home.workspace))
    refusals: list[str] = []
    client = YeaftClient(
        server.url,
        who,
        agent_config={"model": "m"},
        home=home,
        library=Library(folder / "own", {}, Roots(home.workspace)),
        on_refused=refusals.append,
        sleep=at_once,
        **bounds,
    )
    return Machine(client, refusals, home.internal / "yeaft" / "owed.jsonl")
