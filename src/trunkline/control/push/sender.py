"""Brings a message to a push service: over the guarded client, bounded, again where it says so."""

import asyncio
import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import msgspec

from trunkline.control.clock import Clock
from trunkline.control.push.crypto import Receiver, Vapid, encrypted
from trunkline.control.services.address_guard import AddressGuard, AddressRefused, load_http

if TYPE_CHECKING:
    import httpx2

_TRIES = 4
_AT_ONCE = 16
_TIMEOUT_S = 15.0
_WAIT_S_MAX = 120.0  # for a service that names a time
_ANSWER_BYTES_MAX = 64 * 1024
_BUSY = (408, 425, 429)
_GONE = (404, 410)
_SHOWN_CHARS = 200


class Message(msgspec.Struct, frozen=True):
    """`tag`: a later one of the same takes its place, also one that still waits at the service."""

    payload: bytes
    tag: str
    ttl_s: int
    urgency: Literal["low", "normal", "high"] = "normal"


class Outcome(msgspec.Struct, frozen=True):
    """`is_gone`: there is no such browser any more. `problem`: why it was not taken."""

    problem: str | None = None
    is_gone: bool = False
    is_dropped: bool = False
    """Nobody wanted it any more before it was taken."""

    @property
    def is_taken(self) -> bool:
        return self.problem is None and not self.is_dropped


class Sender:
    def __init__(self, vapid: Vapid, guard: AddressGuard, clock: Clock, retry_s: float) -> None:
        self._vapid = vapid
        self._guard = guard
        self._clock = clock
        self._retry_s = retry_s
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def send(
        self, to: Receiver, message: Message, is_wanted: Callable[[], bool] = lambda: True
    ) -> Outcome:
        """With up to four tries; before each it is asked whether anybody wants it still."""
        outcome = Outcome(problem="not tried")
        for number in range(_TRIES):
            if not is_wanted():
                return Outcome(is_dropped=True)
            async with self._room:
                outcome, wait_s = await self._try(to, message)
            if wait_s is None:
                break
            if number < _TRIES - 1:
                await asyncio.sleep(wait_s or self._retry_s * 4**number)
        return outcome

    async def _try(self, to: Receiver, message: Message) -> tuple[Outcome, float | None]:
        """What became of it, and after how many seconds it is worth another try (0: its own pace);
        None: never."""
        await load_http()
        import httpx2

        from trunkline.control.services.guarded_http import GuardedTransport

        if self._client is None:
            transport = GuardedTransport(self._guard, _ANSWER_BYTES_MAX)
            self._client = httpx2.AsyncClient(transport=transport, timeout=_TIMEOUT_S)
        try:
            answer = await self._client.post(
                to.url, content=encrypted(to, message.payload), headers=self._headers(to, message)
            )
        except AddressRefused as error:
            return Outcome(problem=error.message), None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            why = f"{to.host} cannot be reached: {error or type(error).__name__}"
            return Outcome(problem=why[:_SHOWN_CHARS]), 0.0
        self._client.cookies.clear()  # whoever has a subscription could have us keep any number
        status = answer.status_code
        if status in (200, 201, 202, 204):
            return Outcome(), None
        outcome = Outcome(problem=_told(to, answer), is_gone=status in _GONE)
        if status in _BUSY or status >= 500:
            return outcome, _retry_after_s(answer)
        return outcome, None

    def _headers(self, to: Receiver, message: Message) -> dict[str, str]:
        digest = hashlib.sha256(message.tag.encode()).digest()
        return {
            "Authorization": self._vapid.authorization(to, self._clock() // 1000),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(message.ttl_s),
            "Urgency": message.urgency,
            "Topic": urlsafe_b64encode(digest)[:32].decode(),
        }


def _retry_after_s(answer: "httpx2.Response") -> float:
    text = answer.headers.get("retry-after", "")
    return min(float(text), _WAIT_S_MAX) if text.isascii() and text.isdigit() else 0.0


def _told(to: Receiver, answer: "httpx2.Response") -> str:
    """What the service says, for people."""
    said = " ".join(answer.text[:1000].split())[:_SHOWN_CHARS]
    return f"{to.host} answered {answer.status_code}{f': {said}' if said else ''}"
