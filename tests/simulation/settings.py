"""What sessions are set to, and how much may wait for a machine, as a run has it."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from tests.simulation.stores import Disk
from trunkline.control.machines.machine import Machine
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.wire.commands import size_of


def tuning_of(random: Random) -> Tuning:
    """In some runs there is so little room that it is used up."""
    return Tuning(
        held_messages_max=random.choice((1, 2, DEFAULT.held_messages_max)),
        held_bytes_max=random.choice((4_000, DEFAULT.held_bytes_max, DEFAULT.held_bytes_max)),
        held_forwards_max=random.choice((1, DEFAULT.held_forwards_max)),
    )


class Rules:
    """services.rules.Rules, where the rules of a session are one that is made anew."""

    def __init__(self, disk: Disk, random: Random) -> None:
        self._disk = disk
        self._random = random
        self.on_change: list[Callable[[Any], Awaitable[None]]] = []

    async def _disk_does(self) -> None:
        await asyncio.sleep(self._random.choice((0.0, 0.001, 0.02)))

    async def make(self, session_id: str, number: int) -> None:
        await self._disk_does()
        self._disk.sessions[session_id]["rules"] = [{"rule": f"{number}"}]
        for changed in self.on_change:
            await changed(session_id)

    async def sessions_of(self, session_id: str) -> list[tuple[str, str]]:
        await self._disk_does()
        row = self._disk.sessions[session_id]
        return [(session_id, row["machine_id"])] if row["status"] == "active" else []

    async def of_session(self, session_id: str) -> list[Any]:
        rules = self._disk.sessions[session_id]["rules"]
        await self._disk_does()
        return [SimpleNamespace(told=one) for one in rules]


class RoomWatch:
    """Looks after each input of a machine's core at what waits for it."""

    def __init__(self, problems: list[str]) -> None:
        self._problems = problems
        self._counts: dict[str, int] = {}

    def look(self, machine: Machine) -> None:
        core, state = machine.core, machine.core.state
        held = {
            name: size_of(one)
            for hosted in state.sessions.values()
            for name, one in (*hosted.waiting.items(), *hosted.steering.items())
        }
        # What was saved and loaded lies in memory in another way, and takes a little more or less.
        if state.sizes.keys() != held.keys() or any(
            not size / 2 < held[name] < size * 2 for name, size in state.sizes.items()
        ):
            self._problems.append(f"what waits for {machine.id} is counted as {state.sizes}")
        # Rules wait for a moment on a line that is up, and nobody could be refused them.
        sizes = [size for name, size in state.sizes.items() if not name.startswith("rules ")]
        sizes += map(size_of, state.forwards)
        if sum(sizes) > core.room.bytes_max:
            self._problems.append(f"{sum(sizes)} bytes wait for {machine.id}")
        # What was taken while it was there may be more.
        count_max = max(core.room.messages_max, self._counts.get(machine.id, 0))
        if not state.is_up and len(sizes) > count_max:
            self._problems.append(f"{len(sizes)} messages wait for {machine.id}")
        if len(state.forwards) > core.room.forwards_max:
            self._problems.append(f"{len(state.forwards)} messages wait to be passed on")
        self._counts[machine.id] = len(sizes)
