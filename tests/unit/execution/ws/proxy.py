"""A wire between a machine and its control plane: a test can cut it, or let it swallow."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit


class Proxy:
    """Forwards bytes both ways until told otherwise."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._path = parts.path
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_swallowing = False
        """What the machine says is taken from it and goes nowhere."""
        self.swallowed = 0
        self.url = ""

    def cut(self) -> None:
        """Every connection breaks; what was swallowed is lost. New ones work again."""
        self.is_swallowing = False
        writers, self._writers = self._writers, []
        for writer in writers:
            writer.transport.abort()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers += [writer, up_writer]
        for task in (
            asyncio.create_task(self._copy(reader, up_writer, is_up=True)),
            asyncio.create_task(self._copy(up_reader, writer, is_up=False)),
        ):
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_up: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if is_up and self.is_swallowing:
                    self.swallowed += len(data)
                    continue
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    @contextlib.asynccontextmanager
    async def listen(self) -> AsyncIterator["Proxy"]:
        server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}{self._path}"
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await asyncio.gather(*self._tasks, return_exceptions=True)
