"""Waiting for what another part does in its own time: a condition and a bound, never a guess."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

WAIT_S = 60.0  # says only when to give up: whole systems start in it, on a machine with other work
_PAUSE_S = 0.02

T = TypeVar("T")


async def eventually(look: Callable[[], Awaitable[T]], good: Callable[[T], object] = bool) -> T:
    """What `look` returns as soon as it is good; fails with the last value seen."""
    deadline = asyncio.get_running_loop().time() + WAIT_S
    while not good(value := await look()):
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"not within {WAIT_S:.0f} s; last seen: {value!r}")
        await asyncio.sleep(_PAUSE_S)
    return value


async def until(look: Callable[[], T], good: Callable[[T], object] = bool) -> T:
    """As `eventually`, for what can be seen without waiting."""

    async def looked() -> T:
        return look()

    return await eventually(looked, good)
