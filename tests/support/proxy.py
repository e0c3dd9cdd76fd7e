"""A TCP proxy on loopback whose connections can be cut: a line breaks, both its ends live on.

It can also lose just an answer: the request arrives, and who sent it does not learn that. And it
can stall: every connection is open, and nothing comes through.
"""

import asyncio
import contextlib
from pathlib import Path

_PIECE_BYTES = 65536


class CuttableProxy:
    """Forwards to one port, or Unix socket. While it is cut, every connection is dropped and none
    gets through."""

    def __init__(self, target: int | Path) -> None:
        self._target = target
        self._server: asyncio.Server
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_cut = False
        self._loses_answer = False
        self._flows = asyncio.Event()
        self._flows.set()
        self.port = 0
        self.connections = 0
        """How many got through so far."""
        self.refused = 0
        """How many did not, because it was cut."""
        self.answers_lost = 0

    async def __aenter__(self) -> "CuttableProxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._flows.set()
        self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        self._is_cut = True
        for writer in list(self._open):
            writer.transport.abort()

    def stall(self) -> None:
        self._flows.clear()

    def mend(self) -> None:
        self._is_cut = False
        self._flows.set()

    def lose_answer(self) -> None:
        """The next thing that the target says is lost, and its line with it."""
        self._loses_answer = True

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            self.refused += 1
            writer.transport.abort()
            return
        try:
            there, back = await self._connect()
        except OSError:  # the target is down: to the caller, that is a line that breaks
            writer.transport.abort()
            return
        self.connections += 1
        self._open |= {writer, back}
        for pump in (self._pump(reader, back), self._pump(there, writer, is_answer=True)):
            task = asyncio.create_task(pump)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._target, Path):
            return await asyncio.open_unix_connection(self._target)
        return await asyncio.open_connection("127.0.0.1", self._target)

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_answer: bool = False
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(_PIECE_BYTES):
                if is_answer and self._loses_answer:
                    self._loses_answer = False
                    self.answers_lost += 1
                    sink.transport.abort()
                    break
                await self._flows.wait()
                sink.write(piece)
                await sink.drain()
        await self._flows.wait()  # neither end hears that the other has gone
        self._open.discard(sink)
        sink.close()
