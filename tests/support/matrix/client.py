"""A client as the matrix drives it: one person at one program, with a view of each session."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from tests.support.control import TestUser
from tests.support.matrix.seen import Seen, View
from tests.support.matrix.steps import Client

Json = dict[str, Any]
Said = list[tuple[str, str]]
"""Who ("user" or "agent") said what."""


class ClientDriver(ABC):
    kind: Client

    def __init__(self, user: TestUser) -> None:
        self.user = user
        self._views: dict[str, View] = {}

    def view(self, session_id: str) -> View:
        return self._views.setdefault(session_id, View())

    @abstractmethod
    async def open(self) -> "ClientDriver":
        """Connects."""

    @abstractmethod
    async def create(self, machine_id: str) -> str:
        """A session on that machine, and follows it: its id."""

    @abstractmethod
    async def follow(self, session_id: str) -> None:
        """Picks up a session that somebody else made, from its beginning."""

    @abstractmethod
    async def say(self, session_id: str, text: str) -> None: ...

    @abstractmethod
    async def answer(self, session_id: str, question: Seen, answer: str) -> None:
        """The person answers in words; the program sends it and does not wait."""

    async def permit(self, session_id: str, question: Seen, allowed: bool) -> None:
        """The person says yes or no to what a tool would do."""
        await self.answer(session_id, question, "yes" if allowed else "no")

    @abstractmethod
    async def cancel(self, session_id: str) -> None: ...

    @abstractmethod
    async def drop(self) -> None:
        """The connection breaks in the middle."""

    @abstractmethod
    async def come_back(self) -> None:
        """Connects again and goes on with every session that it followed."""

    @abstractmethod
    async def history(self, session_id: str) -> Said:
        """What was said in the session, as this protocol lets a client read it."""

    @abstractmethod
    async def close(self) -> None: ...


D = TypeVar("D", bound=ClientDriver)


@contextlib.asynccontextmanager
async def opened(driver: D) -> AsyncIterator[D]:
    """The client, connected."""
    await driver.open()
    try:
        yield driver
    finally:
        await driver.close()
