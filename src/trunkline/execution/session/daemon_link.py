"""The process's end of the socket to the daemon: messages in, events, requests and reports out.

It is the ControlPlane of everything in this process. Writing an event is one call that does not
wait, so that a token is on its way as soon as it is there.
"""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.session import ipc
from trunkline.execution.ws.events import cut

_log = structlog.get_logger(__name__)

IPC_UNSENT_BYTES_MAX = 1 * limits.MIB  # then a session waits for the daemon to read
_encode = msgspec.json.Encoder().encode


class DaemonLink:
    """Speaks for one session."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._pending: dict[str, asyncio.Future[Any]] = {}
        self._is_gone = False

    async def messages(self) -> AsyncGenerator[ipc.Down, None]:
        """What the daemon wants, and its news of requests that take long, until it is gone.
        Answers to requests go to those who asked."""
        try:
            while text := await self._line():
                try:
                    message = ipc.decode_down(text)
                except msgspec.DecodeError as error:
                    _log.warning("message not understood", reason=str(error))
                    continue
                match message:
                    case ipc.Response():
                        self._settle(message)
                    case ipc.Progress() if message.id not in self._pending:
                        _log.debug("news of a request that is over", request=message.id[:100])
                    case _:
                        yield message
        finally:
            self._is_gone = True
            for future in self._pending.values():
                if not future.done():
                    future.set_exception(ConnectionError("the daemon is gone"))
                    future.exception()  # whoever asked may be gone too

    async def _line(self) -> bytes:
        try:
            return await self._reader.readline()
        except (ConnectionError, ValueError) as error:
            # ValueError: a line over the reader's limit, after which nothing can be trusted.
            _log.error("socket unusable", reason=str(error))
            return b""

    def _settle(self, response: ipc.Response) -> None:
        future = self._pending.pop(response.id, None)
        if future is None or future.done():
            return
        if response.error is None:
            future.set_result(response.result)
        else:
            future.set_exception(_failure(response.error))

    def event(self, event: dict[str, Any]) -> None:
        data = _encode(event)
        text = data.decode()
        if len(data) > limits.EVENT_BYTES_MAX:
            # It would be cut on its way; one that fits no line would end this process.
            text = cut(text) or text
        self._send(ipc.SseEvent(data=text))

    async def flush(self) -> None:
        if self._writer.transport.get_write_buffer_size() > IPC_UNSENT_BYTES_MAX:
            await self._writer.drain()

    async def request(self, method: str, **params: Any) -> Any:
        if self._is_gone:
            raise ConnectionError("the daemon is gone")
        request_id = uuid.uuid4().hex
        future = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        try:
            self._send(ipc.Request(id=request_id, method=method, params=params))
            return await future
        finally:
            self._pending.pop(request_id, None)

    def fire_and_forget(self, method: str, **params: Any) -> None:
        self._send(ipc.FireAndForget(method=method, params=params))

    def ready(self, problems: list[str]) -> None:
        self._send(ipc.Ready(problems=problems))

    def pong(self, *, is_working: bool) -> None:
        """To a ping. `is_working`: something runs between turns."""
        self._send(ipc.Pong(working=is_working))

    def error(self, code: str, message: str) -> None:
        self._send(ipc.Error(code=code, message=message))

    async def close(self) -> None:
        """What was written gets out first."""
        self._writer.close()
        try:
            async with asyncio.timeout(limits.CANCEL_GRACE_S):
                await self._writer.wait_closed()
        except (ConnectionError, TimeoutError):
            self._writer.transport.abort()

    def _send(self, message: ipc.Up) -> None:
        if not self._writer.is_closing():
            self._writer.write(ipc.line(message))


def _failure(error: ipc.ErrorBody) -> Exception:
    match error.code:
        case "CONNECTION_LOST":
            return ConnectionError(error.message)
        case "TIMEOUT":
            return TimeoutError(error.message)
        case _:
            return RequestFailed(error.code, error.message)
