"""A feed translates a session once for all its followers; whoever returns misses nothing."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.committed import commit
from trunkline import limits
from trunkline.control.clock import now_ms
from trunkline.control.log.feeds import Feeds, Message, Translate
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.log.sqlite_segments import SqliteSegments


class Client:
    """A follower that keeps what it gets, and may be slow to read."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.ids: list[int] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()

    def take(self, session_id: str, messages: list[Message]) -> None:
        self.ids += [message.event_id for message in messages]
        self.bodies += [message.body.decode() for message in messages]

    async def room(self) -> None:
        self.asked.set()
        await self.gate.wait()


class Translations:
    """Numbers the events of a turn (a turn starts with `begin`), and counts its work."""

    def __init__(self) -> None:
        self.made = 0
        self.calls = 0

    def make(self, session_id: str) -> Translate:
        self.made += 1
        count = 0

        def translate(first_id: int, lines: list[str]) -> list[Message]:
            nonlocal count
            messages: list[Message] = []
            for event_id, line in enumerate(lines, first_id):
                self.calls += 1
                count = 0 if line == "begin" else count + 1
                if line != "silent":
                    messages.append(Message(event_id, f"{line}#{count}".encode()))
            return messages

        return translate


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    segments = await SqliteSegments.open(tmp_path / "log.db", full_sync=False)
    log = Log(segments, now_ms)
    yield log
    await log.flushed()
    await segments.close()


async def say(log: Log, session: SessionLog, *lines: str) -> None:
    for line in lines[:-1]:
        log.append(session, line)
    await commit(log, session, lines[-1])


async def test_an_event_is_translated_once_for_all_followers(log: Log) -> None:
    translations = Translations()
    feeds = Feeds(log, translations.make)
    session, clients = await log.open("s"), [Client(), Client(), Client()]
    for client in clients:
        await feeds.follow(session, client, None)
    await say(log, session, "begin", "a")
    assert [client.bodies for client in clients] == [["begin#0", "a#1"]] * 3
    assert (translations.made, translations.calls) == (1, 2)


async def test_a_follower_that_comes_in_the_middle_of_a_turn_sees_it_go_on(log: Log) -> None:
    feeds = Feeds(log, Translations().make)
    session, client = await log.open("s"), Client()
    await say(log, session, "begin", "a", "b")
    await feeds.follow(session, client, None)
    await say(log, session, "c")
    assert client.bodies == ["c#3"]


async def test_a_replay_is_the_same_as_what_was_sent_live(log: Log) -> None:
    feeds = Feeds(log, Translations().make)
    session, live, late = await log.open("s"), Client(), Client()
    await feeds.follow(session, live, None)
    await say(log, session, "begin", "a", "silent", "b", "begin", "c")
    await feeds.follow(session, late, 2)
    await say(log, session, "d")
    assert late.bodies == live.bodies[2:]
    assert late.ids == [4, 5, 6, 7]


async def test_a_position_that_left_memory_is_replayed_from_disk(log: Log) -> None:
    feeds = Feeds(log, Translations().make)
    session, client = await log.open("s"), Client()
    count = 2 * limits.RING_EVENTS + 7
    await say(log, session, *(f"e{number}" for number in range(1, count + 1)))
    await feeds.follow(session, client, 3)
    assert client.ids == list(range(4, count + 1))


async def test_what_happens_during_a_replay_comes_once_and_in_order(log: Log) -> None:
    feeds = Feeds(log, Translations().make)
    session, client = await log.open("s"), Client()
    await say(log, session, "a", "b")
    client.gate.clear()
    following = asyncio.create_task(feeds.follow(session, client, 0))
    await client.asked.wait()
    await say(log, session, "c", "d")
    client.gate.set()
    await following
    await say(log, session, "e")
    assert client.ids == [1, 2, 3, 4, 5]


async def test_a_feed_outlives_its_last_follower_while_another_is_still_joining(log: Log) -> None:
    feeds = Feeds(log, Translations().make)
    session, first, second = await log.open("s"), Client(), Client()
    await feeds.follow(session, first, None)
    await say(log, session, "a")
    second.gate.clear()
    following = asyncio.create_task(feeds.follow(session, second, 0))
    await second.asked.wait()
    feeds.leave("s", first)
    second.gate.set()
    await following
    await say(log, session, "b")
    assert (first.ids, second.ids) == ([1], [1, 2])


async def test_a_log_that_nobody_follows_has_no_reader(log: Log) -> None:
    feeds = Feeds(log, Translations().make)
    session, client = await log.open("s"), Client()
    await feeds.follow(session, client, None)
    assert len(session.readers) == 1
    feeds.leave("s", client)
    feeds.leave("s", client)
    assert not session.readers


async def test_to_follow_twice_is_to_follow_once(log: Log) -> None:
    feeds = Feeds(log, Translations().make)
    session, client = await log.open("s"), Client()
    await feeds.follow(session, client, None)
    await feeds.follow(session, client, None)
    await say(log, session, "a")
    assert client.ids == [1]


async def test_one_who_returns_to_a_session_that_nobody_follows_is_shown_one_translation(
    log: Log,
) -> None:
    translations = Translations()
    feeds = Feeds(log, translations.make)
    session, client = await log.open("s"), Client()
    await say(log, session, '"type":"user_message"', "a", "b", "c")
    await feeds.follow(session, client, 2)
    assert client.bodies == ["b#3", "c#4"]
    await say(log, session, "d")
    assert client.bodies[-1] == "d#5"
    assert (translations.made, translations.calls) == (1, 5)


async def test_others_have_their_turn_while_a_long_turn_is_looked_through(log: Log) -> None:
    translations = Translations()
    feeds = Feeds(log, translations.make)
    session, client = await log.open("s"), Client()
    count = 4 * limits.RING_EVENTS
    await say(log, session, *("e" for _ in range(count)))
    seen: list[int] = []

    async def watch() -> None:
        while translations.calls < count:
            seen.append(translations.calls)
            await asyncio.sleep(0)
        seen.append(translations.calls)

    watching = asyncio.create_task(watch())
    await feeds.follow(session, client, count)
    await watching
    steps = [after - before for before, after in pairwise(seen)]
    assert max(steps) < limits.RING_EVENTS
    assert client.ids == []


async def test_no_more_bytes_than_the_bound_are_looked_through(log: Log) -> None:
    translations = Translations()
    feeds = Feeds(log, translations.make, prime_bytes_max=1000)
    session = await log.open("s")
    await say(log, session, *("x" * 10 for _ in range(4 * limits.RING_EVENTS)))
    await feeds.follow(session, Client(), None)
    assert translations.calls == limits.RING_EVENTS


@pytest.mark.parametrize(
    ("position", "partly", "before", "next_body"),
    [
        (2, False, [], "x#2"),
        (2, True, ["b#2"], "x#3"),
        (None, False, [], "x#4"),
        (4, True, [], "x#4"),
    ],
    ids=["at a place", "inside of an event", "at the end", "at the end, though partly"],
)
async def test_who_begins_is_shown_the_translation_as_it_stands_there(
    log: Log, position: int | None, partly: bool, before: list[str], next_body: str
) -> None:
    feeds = Feeds(log, Translations().make)
    session, client = await log.open("s"), Client()
    await say(log, session, "begin", "a", "b", "c")
    seen: list[str] = []

    def begins(translate: Translate) -> None:
        seen.extend(client.bodies)
        seen.append(translate(99, ["x"])[0].body.decode())

    await feeds.follow(session, client, position, begins, partly=partly)
    assert seen == [*before, next_body]
