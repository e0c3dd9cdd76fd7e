"""One look at a database for all who ask in the same moment.

After a restart thousands come back at once, and each would ask for its own few rows. Whoever asks
first looks for all, in the next turn of the loop; who asks while it looks waits for the look behind
it, and one of those leads that. So a look never began before its question, and what it finds is as
fresh as if each had asked alone; and no look goes on when nobody is left who asked. While many ask,
looks take half of the time at most: the longer they take, the more of the crowd each serves.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_AT_ONCE = 500


class _Question(Generic[K, V]):
    """One who asks: woken with an answer, or to lead the next look."""

    __slots__ = ("error", "found", "keys", "woken")

    def __init__(self, keys: Collection[K]) -> None:
        self.keys = keys
        self.woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.found: Mapping[K, V] | None = None
        self.error: Exception | None = None

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)

    @property
    def is_open(self) -> bool:
        return self.found is None and self.error is None and not self.woken.cancelled()


class Gathering(Generic[K, V]):
    """`look` finds the values of many keys; those without a value are left out."""

    def __init__(
        self, look: Callable[[list[K]], Awaitable[Mapping[K, V]]], at_once: int = _AT_ONCE
    ) -> None:
        self._look = look
        self._at_once = at_once
        self._asked: list[_Question[K, V]] = []
        self._leader: _Question[K, V] | None = None
        self._pause_s = 0.0  # before the next look

    async def get(self, key: K) -> V | None:
        return (await self._ask((key,))).get(key)

    async def some(self, keys: Collection[K]) -> dict[K, V]:
        if not keys:
            return {}
        found = await self._ask(keys)
        return {key: found[key] for key in keys if key in found}

    async def _ask(self, keys: Collection[K]) -> Mapping[K, V]:
        mine: _Question[K, V] = _Question(keys)
        self._asked.append(mine)
        try:
            if self._leader is None:
                self._leader = mine
            else:
                await mine.woken
            if self._leader is mine:
                await self._lead()
        finally:
            if self._leader is mine:  # which may be cut off at any of these steps
                self._hand_over()
        if mine.found is None:
            raise mine.error or RuntimeError("a look ended without an answer")
        return mine.found

    async def _lead(self) -> None:
        """The leader's own question is the first of all."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._pause_s)
        batch, self._asked = self._asked[: self._at_once], self._asked[self._at_once :]
        started = loop.time()
        try:
            await self._answer(batch)
        finally:
            self._asked[:0] = [one for one in batch if one.is_open]
            self._pause_s = loop.time() - started if len(batch) > 1 else 0.0

    def _hand_over(self) -> None:
        """To the next one who still waits."""
        leader, self._leader = self._leader, None
        waiting = [one for one in self._asked if one.is_open and one is not leader]
        self._asked = waiting
        if waiting:
            self._leader = waiting[0]
            waiting[0].wake()
        else:
            self._pause_s = 0.0

    async def _answer(self, asked: list[_Question[K, V]]) -> None:
        wanted = list(dict.fromkeys(key for one in asked if one.is_open for key in one.keys))
        found: dict[K, V] = {}
        try:
            for start in range(0, len(wanted), self._at_once):
                found |= await self._look(wanted[start : start + self._at_once])
        except Exception as error:
            if len(asked) > 1:
                # What one of them asks is not to fail the others, and where the database does not
                # answer, none of them waits for the failure of all before it.
                await asyncio.gather(*(self._answer([one]) for one in asked))
            else:
                asked[0].error = error
                asked[0].wake()
            return
        for one in asked:
            one.found = found
            one.wake()
