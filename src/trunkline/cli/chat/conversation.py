"""One session, read all the time: what was said, which turns run, what waits for an answer.

One task reads the stream, from the position that was shown last, so that what happens elsewhere is
seen too, nothing is missed and nothing comes twice. Knows the client; what is printed comes in as a
function.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Literal
from uuid import uuid4

from trunkline.cli.chat.answers import Answer
from trunkline.client import ApiError, Client, Event, StreamBroken

_STEERING_MAX = 100  # more do not wait on a machine

Show = Callable[[Event], None]
Outcome = Literal["completed", "failed", "cancelled"]


def approval_name(event: Event) -> str | None:
    """What an approval request is answered under."""
    name = event.data.get("request_id") or event.data.get("approval_id")
    return name if isinstance(name, str) else None


class Conversation:
    """A session and its open turns. `after`: the last event that was shown; `running`: the turns
    that were open there. `broken` is told when the server has been away for a while, and after a
    pause it is tried on; without it, that is the end."""

    def __init__(
        self,
        client: Client,
        session_id: str,
        show: Show,
        *,
        after: int = 0,
        running: Iterable[str] = (),
        broken: Callable[[str], None] | None = None,
        pause_s: float = 5.0,
    ) -> None:
        self._client = client
        self.session_id = session_id
        self._show = show
        self._broken = broken
        self._pause_s = pause_s
        self._stream = client.sessions.stream(session_id, after)
        self._open: dict[str, None] = dict.fromkeys(running)
        self._ended: dict[str, Outcome] = {}
        self._steering: deque[tuple[str, str]] = deque(maxlen=_STEERING_MAX)
        """What was said to a turn that may have run, and may have become one of its own."""
        self._said: set[str] = set()
        """The names of all that was said here."""
        self._changed = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        return bool(self._open)

    @property
    def running(self) -> str | None:
        """The first of the open turns."""
        return next(iter(self._open), None)

    @property
    def has_turns(self) -> bool:
        """Whether anything was said since it is read here."""
        return bool(self._said or self._open or self._ended)

    def is_own(self, event: Event) -> bool:
        """Whether that message was said here."""
        return event.data.get("client_message_id") in self._said

    def start(self) -> "asyncio.Task[None]":
        """The task that reads. It ends only with an error."""
        self._reading = asyncio.create_task(self._read())
        return self._reading

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._reading

    async def _read(self) -> None:
        while True:
            try:
                async with aclosing(aiter(self._stream)) as events:
                    async for event in events:
                        self._take(event)
                        self._show(event)
            except StreamBroken as error:
                if self._broken is None:
                    raise
                self._broken(str(error))
            await asyncio.sleep(self._pause_s)

    def _take(self, event: Event) -> None:
        turn = event.data.get("turn_id")
        match event.type:
            case "user_message" if isinstance(turn, str) and "steers" not in event.data:
                self._opened(turn)
            case "steer_missed" if isinstance(turn, str):
                self._opened(turn)
            case "execution_complete" | "execution_error":
                name = turn if isinstance(turn, str) else self.running
                if name is not None:
                    self._open.pop(name, None)
                    self._ended[name] = _outcome(event)
            case _:
                return
        self._changed.set()

    def _opened(self, turn_id: str) -> None:
        if turn_id not in self._ended:
            self._open.setdefault(turn_id)

    async def say(
        self, message: str, files: Sequence[Path] = (), *, when_busy: str = "steer"
    ) -> str:
        """The turn that it opened or, with `steer`, reaches while it runs."""
        attached = await self._client.sessions.upload(files)
        name = str(uuid4())
        self._said.add(name)
        turn_id = await self._client.sessions.send(
            self.session_id,
            message,
            client_message_id=name,
            attachment_ids=attached,
            when_busy=when_busy,
        )
        if when_busy == "steer":
            self._steering.append((message, name))
        self._opened(turn_id)
        return turn_id

    async def outcome(self, turn_id: str) -> Outcome:
        """How that turn ended, and whatever was said while it ran: the worst of it."""
        wanted, ends = [turn_id], list[Outcome]()
        while wanted:
            name = wanted.pop(0)
            while name not in self._ended:
                await self._news()
            ends.append(self._ended[name])
            said = list(self._steering)
            self._steering.clear()
            for one in said:
                # Where the turn did not take it, it has become one of its own. To say it again
                # under its name has no effect, and tells.
                other = await self._client.sessions.send(
                    self.session_id, one[0], client_message_id=one[1], when_busy="steer"
                )
                if other != name and other not in wanted:
                    wanted.append(other)
        return next((one for one in ("cancelled", "failed") if one in ends), "completed")

    async def _news(self) -> None:
        """Waits until a turn began or ended; raises what ended the stream."""
        assert self._reading is not None
        self._changed.clear()
        waiting = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait((waiting, self._reading), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self._reading.done():
            self._reading.result()

    async def cancel(self) -> None:
        await self._client.sessions.cancel(self.session_id)

    async def compact(self) -> None:
        """The event `context_compacted` tells how it ended."""
        await self._client.sessions.compact(self.session_id)

    async def answer(self, event: Event, given: Answer) -> bool:
        """Whether it was the first answer; the log says who else's was."""
        name = approval_name(event)
        if name is None:  # nothing that an answer could be sent to
            return False
        try:
            await self._client.sessions.answer(
                name,
                given.confirmed,
                given.said,
                self.session_id,
                scope=given.scope,
                reason=given.reason,
            )
        except ApiError as error:
            if error.code != "ALREADY_ANSWERED":
                raise
            return False
        return True


def _outcome(event: Event) -> Outcome:
    if event.data.get("cancelled"):
        return "cancelled"
    return "completed" if event.type == "execution_complete" else "failed"
