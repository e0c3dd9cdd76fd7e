"""What a web client follows: bounded, in one dialect, without its own words, not after its end."""

import json
from collections.abc import AsyncIterator, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.committed import commit
from trunkline import limits
from trunkline.control.clock import now_ms
from trunkline.control.edges.yeaft_web.reader import WebReader
from trunkline.control.errors import LimitReached
from trunkline.control.log.feeds import Feeds, Message, Translate
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward


class Connection:
    """A socket that keeps each write apart."""

    def __init__(self) -> None:
        self.is_open = True
        self.writes: list[list[dict[str, Any]]] = []

    def send_all(self, messages: Iterable[bytes]) -> None:
        self.writes.append([json.loads(one) for one in messages])

    async def room(self) -> None: ...

    @property
    def texts(self) -> list[str]:
        return [
            block["text"]
            for write in self.writes
            for one in write
            if one["type"] == "claude_output" and "message" in one["data"]
            for block in one["data"]["message"]["content"]
        ]


def _translate(deployed: bool, session_id: str) -> Translate:
    state = Outward(session_id, deployed=deployed)
    return lambda first_id, lines: [
        Message(event_id, out.body, out.said)
        for event_id, line in enumerate(lines, first_id)
        for out in from_events(state, event_id, line)
    ]


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    segments = await SqliteSegments.open(tmp_path / "log.db")
    log = Log(segments, now_ms)
    yield log
    await log.flushed()
    await segments.close()


@pytest.fixture
def feeds(log: Log) -> dict[bool, Feeds]:
    return {one: Feeds(log, partial(_translate, one)) for one in (False, True)}


async def say(log: Log, session: SessionLog, *texts: str, **fields: Any) -> None:
    lines = [json.dumps({"type": "text_chunk", "content": text, **fields}) for text in texts]
    for line in lines[:-1]:
        log.append(session, line)
    await commit(log, session, lines[-1])


async def test_the_messages_of_a_batch_are_one_write(log: Log, feeds: dict[bool, Feeds]) -> None:
    connection, session = Connection(), await log.open("s")
    reader = WebReader(connection, feeds)
    await reader.follow(session, None)
    await say(log, session, "a", "b", "c")
    assert [len(write) for write in connection.writes] == [3]
    assert connection.texts == ["a", "b", "c"]


async def test_what_it_said_itself_it_does_not_hear(log: Log, feeds: dict[bool, Feeds]) -> None:
    session = await log.open("s")
    clients = [Connection(), Connection()]
    readers = [WebReader(one, feeds) for one in clients]
    for reader in readers:
        await reader.follow(session, None)
    readers[0].said("cm_1")
    said = {"type": "user_message", "content": "mine", "client_message_id": "cm_1"}
    await commit(log, session, json.dumps(said))
    assert [client.texts for client in clients] == [[], ["mine"]]


async def test_no_more_conversations_than_the_bound_are_followed(
    log: Log, feeds: dict[bool, Feeds]
) -> None:
    reader = WebReader(Connection(), feeds)
    for number in range(limits.YEAFT_CONVERSATIONS_MAX):
        await reader.follow(await log.open(f"s{number}"), None)
    with pytest.raises(LimitReached):
        await reader.follow(await log.open("one more"), None)
    reader.leave("s0")
    await reader.follow(await log.open("one more"), None)
    reader.finished("s1")
    await reader.follow(await log.open("and one"), None)
    assert len(reader.followed) == limits.YEAFT_CONVERSATIONS_MAX
    assert not reader.follows("s1")


async def test_its_own_words_are_remembered_within_a_bound(
    log: Log, feeds: dict[bool, Feeds]
) -> None:
    connection, session = Connection(), await log.open("s")
    reader = WebReader(connection, feeds)
    await reader.follow(session, None)
    for number in range(limits.YEAFT_SAID_MAX + 1):
        reader.said(f"cm_{number}")
    said = {"type": "user_message", "content": "old", "client_message_id": "cm_0"}
    await commit(log, session, json.dumps(said))
    assert connection.texts == ["old"]


async def test_another_dialect_goes_on_where_the_first_one_stopped(
    log: Log, feeds: dict[bool, Feeds]
) -> None:
    connection, session = Connection(), await log.open("s")
    reader = WebReader(connection, feeds)
    await reader.follow(session, None)
    await say(log, session, "a", "b")
    await reader.speak_deployed()
    await say(log, session, "c")
    await commit(log, session, '{"type":"execution_complete","content":"c"}')
    assert connection.texts == ["a", "b", "c"]
    assert connection.writes[-1][-1]["type"] == "turn_completed"


async def test_positions_are_told_to_those_who_want_them(
    log: Log, feeds: dict[bool, Feeds]
) -> None:
    connection, session = Connection(), await log.open("s")
    reader = WebReader(connection, feeds)
    reader.wants_positions = True
    await reader.follow(session, None)
    await say(log, session, "a", "b")
    assert connection.writes[-1][-1] == {
        "type": "event_position",
        "conversationId": "s",
        "eventId": 2,
    }


async def test_a_client_that_has_gone_follows_nothing(log: Log, feeds: dict[bool, Feeds]) -> None:
    connection, session = Connection(), await log.open("s")
    reader = WebReader(connection, feeds)
    await say(log, session, "a")
    connection.is_open = False
    await reader.follow(session, 0)
    assert session.readers == ()


async def test_who_left_hears_nothing_more(log: Log, feeds: dict[bool, Feeds]) -> None:
    connection, session = Connection(), await log.open("s")
    reader = WebReader(connection, feeds)
    await reader.follow(session, None)
    reader.leave_all()
    await say(log, session, "a")
    assert connection.writes == []
    assert session.readers == ()
