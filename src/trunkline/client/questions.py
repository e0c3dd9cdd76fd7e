"""Questions to people, as they come: from the stream of everything that this token may see."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import msgspec

from trunkline.client.http import Http
from trunkline.client.live import Live, Sleep
from trunkline.client.models import Approval
from trunkline.client.sse import Frame

Pending = Callable[[], Awaitable[list[Approval]]]


class Questions(Live[Approval]):
    """Each question that waits for an answer, once; those that wait already come first. News are
    not kept for readers that were away, so the list is read again with each connection."""

    def __init__(
        self,
        http: Http,
        pending: Pending,
        session_id: str | None,
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(http, ("stream",), sleep=sleep)
        self._pending = pending
        self._session_id = session_id
        self._seen: set[str] = set()

    async def _take(self, frame: Frame) -> AsyncGenerator[Approval, None]:
        found: list[Approval] = []
        if frame.event == "hello":
            found = await self._pending()
            self._seen.intersection_update(one.id for one in found)
        elif frame.event == "approval":
            try:
                found = [msgspec.json.decode(frame.data, type=Approval)]
            except msgspec.DecodeError:
                return
        for one in found:
            if self._session_id not in (None, one.session_id):
                continue
            if one.state != "pending":
                self._seen.discard(one.id)
            elif one.id not in self._seen:
                self._seen.add(one.id)
                yield one
