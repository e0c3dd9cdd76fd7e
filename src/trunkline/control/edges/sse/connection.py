"""One connection that is written server-sent events, whatever it follows."""

import asyncio
from typing import TYPE_CHECKING

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.door.head import Head

if TYPE_CHECKING:
    from trunkline.control.edges.sse.host import SseHost

_ROOM_S = 30.0  # for a reader to take what it was written, before more is


class SseConnection(asyncio.Protocol):
    """A transport and a few bytes. A kind of stream overrides `admit`, `begin` and `ended`."""

    __slots__ = ("_drained", "host", "is_counted", "token_id", "transport")

    def __init__(self, transport: asyncio.Transport, host: "SseHost") -> None:
        self.transport = transport
        self.token_id = ""
        self.host = host
        self.is_counted = False
        """It was let in, and has not ended."""
        self._drained: asyncio.Event | None = None

    async def admit(self, who: Principal, head: Head) -> None:
        """Finds what it wants to follow, or raises why it may not."""
        raise NotImplementedError

    async def begin(self, head: Head) -> None:
        """It was let in: replays, and goes on live."""
        raise NotImplementedError

    def ended(self) -> None:
        """It is gone, or was not let in. May come twice."""

    def __str__(self) -> str:
        return type(self).__name__

    def write(self, data: bytes) -> None:
        transport = self.transport
        if transport.get_write_buffer_size() > limits.READER_UNSENT_BYTES_MAX:
            # It does not read. It is cut here, slows nobody, and replays when it comes back.
            self.host.cut(self)
        elif not transport.is_closing():
            transport.write(data)

    async def room(self) -> None:
        """Returns when most of what was written is read, or the connection is gone."""
        if self._drained is not None:
            try:
                async with asyncio.timeout(_ROOM_S):
                    await self._drained.wait()
            except TimeoutError:
                self.host.cut(self)

    def pause_writing(self) -> None:
        self._drained = asyncio.Event()

    def resume_writing(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None:
            drained.set()

    def data_received(self, data: bytes) -> None:
        """A reader has nothing more to say; what it says is dropped."""

    def connection_lost(self, exc: Exception | None) -> None:
        self.resume_writing()
        self.host.ended(self)
