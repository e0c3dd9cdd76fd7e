"""A TCP proxy on loopback whose connections can be cut: a line breaks, both its ends live on."""

import asyncio
import contextlib
from types import TracebackType

_PIECE_BYTES = 65536


class CuttableProxy:
    """Forwards to one port. While it is cut, every connection is dropped and none gets through."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._server: asyncio.Server
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_cut = False
        self.port = 0
        self.connections = 0
        """How many got through so far."""
        self.refused = 0
        """How many did not, because it was cut."""

    async def __aenter__(self) -> "CuttableProxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()
        self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        self._is_cut = True
        for writer in list(self._open):
            writer.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            self.refused += 1
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:  # the target is down: to the caller, that is a line that breaks
            writer.transport.abort()
            return
        self.connections += 1
        self._open |= {writer, back}
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(_PIECE_BYTES):
                sink.write(piece)
                await sink.drain()
        self._open.discard(sink)
        sink.close()
