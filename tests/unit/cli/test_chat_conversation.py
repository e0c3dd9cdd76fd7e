"""A conversation and a server that is away for longer than a stream waits."""

import asyncio
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from trunkline.cli.chat.conversation import Conversation
from trunkline.client import Client, Event, StreamBroken


class Broken:
    """A stream that breaks for good after each event, and goes on where it was when asked again."""

    def __init__(self) -> None:
        self.sessions = self
        self._position = 0

    def stream(self, _session_id: str, _after: int) -> "Broken":
        return self

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        self._position += 1
        kind = "user_message" if self._position == 1 else "execution_complete"
        yield Event(self._position, {"type": kind, "turn_id": "t"})
        raise StreamBroken("gone")


async def test_a_server_that_is_away_is_told_and_tried_on() -> None:
    shown: list[Event] = []
    told: list[str] = []
    talk = Conversation(cast(Client, Broken()), "s", shown.append, broken=told.append, pause_s=0.0)
    talk.start()
    async with asyncio.timeout(30):
        assert await talk.outcome("t") == "completed"
    await talk.close()
    assert [event.id for event in shown[:2]] == [1, 2]
    assert told[0] == "gone"


async def test_in_a_script_a_stream_that_broke_is_the_end() -> None:
    talk = Conversation(cast(Client, Broken()), "s", lambda _: None)
    talk.start()
    with pytest.raises(StreamBroken):
        await talk.outcome("t")
    await talk.close()
