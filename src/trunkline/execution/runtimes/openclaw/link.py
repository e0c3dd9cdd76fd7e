"""The daemon's own connection to the gateway: settings are given over it, and nothing else.

A request and its answer; events are let go. The sessions' bridges have connections of their own.
"""

import asyncio
import itertools
import re
from contextlib import suppress
from typing import Any

import aiohttp
import msgspec

from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.errors import GatewayRefused, LinkLost

_PROTOCOL = 4
_FRAME_BYTES_MAX = 32 * 1024 * 1024
_BUSY = re.compile(
    r"another OpenClaw process owns state-"
    r"|prepared (model runtime|plugin) .*(superseded|retired)|runtime config .*superseded",
    re.IGNORECASE,
)
REQUEST_S = 60.0  # a change of settings, on a busy machine


def is_busy(words: str) -> bool:
    """Whether nothing is wrong with what was asked: somebody had its state for some seconds, on a
    busy machine mostly another thread of its own, or it was told other settings meanwhile."""
    return _BUSY.search(words) is not None


class Link:
    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._ids = itertools.count(1)

    @property
    def is_open(self) -> bool:
        return self._socket is not None and not self._socket.closed

    async def open(self, url: str, token: str) -> None:
        """Raises LinkLost, GatewayRefused, TimeoutError."""
        self._session = aiohttp.ClientSession()
        try:
            async with asyncio.timeout(REQUEST_S):
                self._socket = await self._session.ws_connect(url, max_msg_size=_FRAME_BYTES_MAX)
                await self._socket.receive()  # the challenge; on loopback the token is enough
                self._reading = asyncio.create_task(self._read(self._socket), name="gateway link")
                await self.request("connect", _greeting(token))
        except (aiohttp.ClientError, OSError) as error:
            raise LinkLost(str(error)) from error

    async def request(self, method: str, params: Json) -> Json:
        """Raises LinkLost, GatewayRefused, TimeoutError."""
        if self._socket is None or self._socket.closed:
            raise LinkLost("not connected")
        number = str(next(self._ids))
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        frame: Json = {"type": "req", "id": number, "method": method, "params": params}
        try:
            await self._socket.send_str(msgspec.json.encode(frame).decode())
            async with asyncio.timeout(REQUEST_S):
                return await answer
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        with suppress(Exception):
            if self._socket is not None:
                await self._socket.close()
        if self._session is not None:
            await self._session.close()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                self._take(message.data)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(LinkLost("the connection was lost"))

    def _take(self, text: str) -> None:
        frame: Any = msgspec.json.decode(text)
        if not isinstance(frame, dict) or frame.get("type") != "res":
            return
        answer = self._waiting.get(str(frame.get("id")))
        if answer is None or answer.done():
            return
        if frame.get("ok") is True:
            payload = frame.get("payload")
            answer.set_result(payload if isinstance(payload, dict) else {})
            return
        error = frame.get("error")
        said = error if isinstance(error, dict) else {}
        answer.set_exception(GatewayRefused(str(said.get("code")), str(said.get("message"))))


def _greeting(token: str) -> Json:
    return {
        "minProtocol": _PROTOCOL,
        "maxProtocol": _PROTOCOL,
        "client": {
            "id": "gateway-client",
            "version": "1",
            "platform": "linux",
            "mode": "backend",
        },
        "role": "operator",
        "scopes": ["operator.read", "operator.write", "operator.admin"],
        "caps": [],
        "auth": {"token": token},
    }
