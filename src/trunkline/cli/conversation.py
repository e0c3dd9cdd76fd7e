"""One session followed from a terminal: says things, reads what happens, answers questions.

The stream is taken up where it was left, also from one turn to the next, so that nothing is
missed and nothing shown twice. Knows the client; what is printed and asked comes in as functions.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from trunkline.client import ApiError, Client, Event, Session

Show = Callable[[Event], None]


class Answer(NamedTuple):
    """Whether it is allowed and, where that was asked for, what the person said. `scope`: for how
    long it is meant; `reason`: why not, for the agent."""

    confirmed: bool
    said: str | None = None
    scope: str = "once"
    reason: str | None = None


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
        self._said: list[asyncio.Task[tuple[str, str]]] = []
        """What was typed while a turn ran."""
        self._events = aiter(client.sessions.stream(session.id, session.last_event_id))

    async def turn(self, message: str, files: Sequence[Path] = ()) -> bool:
        """Says something and follows until that turn has ended, and what was said meanwhile;
        whether all of it ended well."""
        attached = await self._client.sessions.upload(files)
        turn_id = await self._client.sessions.send(self._id, message, attachment_ids=attached)
        open_turns, is_fine = {turn_id: None}, True
        async for event in self._events:
            named = event.data.get("turn_id") or next(iter(open_turns))
            is_own = named in open_turns
            if event.type == "user_message" and is_own and "steers" not in event.data:
                continue
            self._show(event)
            if event.type == "approval_request":
                await self._answer(event)
            if event.ends_turn and is_own:
                del open_turns[named]
                is_fine = is_fine and event.type == "execution_complete"
                open_turns |= await self._turns_of_others(named)
                if not open_turns:
                    return is_fine
        raise AssertionError("a stream ends only with an error")

    def steer(self, message: str) -> None:
        """Something is said to the turn that runs; `turn` follows it."""
        self._said.append(
            asyncio.ensure_future(self._steer(message, str(uuid4()), self._said[-1:]))
        )

    async def _steer(
        self, message: str, name: str, before: list[asyncio.Task[tuple[str, str]]]
    ) -> tuple[str, str]:
        """In the order in which it was typed."""
        if before:
            await asyncio.wait(before)
        await self._send(message, name)
        return message, name

    async def _send(self, message: str, name: str) -> str:
        return await self._client.sessions.send(
            self._id, message, client_message_id=name, when_busy="steer"
        )

    async def _turns_of_others(self, ended: str) -> dict[str, None]:
        """The turns that what was said meanwhile has opened: where one did not take it, it has
        become one of its own. To say it again under its name has no effect, and tells."""
        said, self._said = self._said, []
        turns = {await self._send(*one): None for one in await asyncio.gather(*said)}
        turns.pop(ended, None)
        return turns

    async def compact(self) -> bool:
        """Lets the conversation be shortened, and waits until that is done."""
        await self._client.sessions.compact(self._id)
        async for event in self._events:
            self._show(event)
            if event.type == "context_compacted" and event.data.get("by"):
                return event.data.get("how") != "nothing"
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
                name,
                given.confirmed,
                given.said,
                self._id,
                scope=given.scope,
                reason=given.reason,
            )
        except ApiError as error:
            if error.code != "ALREADY_ANSWERED":  # by somebody faster; the log says who won
                raise
