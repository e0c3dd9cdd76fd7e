"""One session followed from a terminal: says things, reads what happens, answers questions.

The stream is taken up where it was left, also from one turn to the next, so that nothing is
missed and nothing shown twice. Knows the client; what is printed and asked comes in as functions.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from trunkline.client import ApiError, Client, Event, Session

Show = Callable[[Event], None]


class Answer(NamedTuple):
    """Whether it is allowed and, where that was asked for, what the person said. `scope`: for how
    long it is meant."""

    confirmed: bool
    said: str | None = None
    scope: str = "once"


Ask = Callable[[Event], Answer | None]
"""A person's answer to an approval request; None leaves it to somebody else."""


def approval_name(event: Event) -> str | None:
    """What an approval request is answered under."""
    name = event.data.get("request_id") or event.data.get("approval_id")
    return name if isinstance(name, str) else None


class Conversation:
    """A session and the position up to which its log was shown."""

    def __init__(self, client: Client, session: Session, show: Show, ask: Ask) -> None:
        self._client = client
        self._id = session.id
        self._show = show
        self._ask = ask
        self._events = aiter(client.sessions.stream(session.id, session.last_event_id))

    async def turn(self, message: str, files: Sequence[Path] = ()) -> bool:
        """Says something and follows until that turn has ended; whether it ended well."""
        attached = await self._client.sessions.upload(files)
        turn_id = await self._client.sessions.send(self._id, message, attachment_ids=attached)
        async for event in self._events:
            own = event.data.get("turn_id") in (None, turn_id)
            if event.type == "user_message" and own:
                continue
            self._show(event)
            if event.type == "approval_request":
                await self._answer(event)
            if event.ends_turn and own:
                return event.type == "execution_complete"
        raise AssertionError("a stream ends only with an error")

    async def follow(self) -> None:
        """Shows what happens, until it is cancelled."""
        async for event in self._events:
            self._show(event)
            if event.type == "approval_request":
                await self._answer(event)

    async def cancel(self) -> None:
        await self._client.sessions.cancel(self._id)

    async def close(self) -> None:
        await self._events.aclose()

    async def _answer(self, event: Event) -> None:
        name = approval_name(event)
        if name is None:  # nothing that an answer could be sent to
            return
        given = self._ask(event)
        if given is None:
            return
        try:
            await self._client.sessions.answer(
                name, given.confirmed, given.said, self._id, scope=given.scope
            )
        except ApiError as error:
            if error.code != "ALREADY_ANSWERED":  # by somebody faster; the log says who won
                raise
