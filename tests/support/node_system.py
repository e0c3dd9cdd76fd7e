"""A whole system whose parts can be killed, with sessions in the middle of an answer.

A control plane and a daemon as processes, and a line between them that can be cut.
"""

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.support.control import ControlProcess
from tests.support.model_server import Gate, ModelRequest, ModelServer, Turn
from tests.support.node import Talk, World
from tests.support.proxy import CuttableProxy

WORDS = [f"word{number} " for number in range(60)]


class System(NamedTuple):
    """The daemon reaches the control plane through the proxy."""

    world: World
    proxy: CuttableProxy
    control: ControlProcess


@contextlib.asynccontextmanager
async def running_system(folder: Path) -> AsyncIterator[System]:
    async with (
        ControlProcess(folder / "data", machine_away_s=60) as control,
        ModelServer() as model,
        CuttableProxy(urlsplit(control.url).port or 0) as proxy,
    ):
        world = World(control, model, folder / "home")
        await world.open(f"ws://127.0.0.1:{proxy.port}/ws/vm")
        try:
            yield System(world, proxy, control)
        finally:
            await world.close()


def is_of(number: int, request: ModelRequest) -> bool:
    return request.prompt == f"Count, {number}."


async def streaming(world: World, gates: list[Gate], first: int = 0) -> list[tuple[Talk, str]]:
    """A session for each gate, in the middle of its answer."""
    talks = []
    for number, gate in enumerate(gates, first):
        chunks: list[str | Gate] = [*WORDS[:30], gate, *WORDS[30:]]
        world.model.when(partial(is_of, number), Turn(chunks=chunks))
        talk = await (await world.session()).__aenter__()
        talks.append((talk, await talk.say(f"Count, {number}.")))
    for gate in gates:
        await gate.reached.wait()
    return talks
