"""A peer of whatever protocol its owner speaks: everything that comes is handed on at once."""

import json
from collections.abc import Callable

from tests.support.peer import Json as Json
from tests.support.peer import Peer


class JsonSocket(Peer):
    """One connection; it is opened once and never comes back."""

    def __init__(
        self, url: str, on_message: Callable[[Json], None] = lambda _message: None
    ) -> None:
        super().__init__(url)
        self._on_message = on_message

    async def _take(self, message: Json) -> None:
        self._on_message(message)

    async def send(self, message: Json) -> None:
        await self.send_text(json.dumps(message))
