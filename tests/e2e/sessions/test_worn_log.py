"""A session whose front was cut off and that was restored: what each protocol says of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.support.control import LocalControl, TestUser, running
from tests.support.myagent import client_of
from tests.support.told import said
from tests.support.yeaft_web import web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

GAP = 2**30
LARGE = Random(16).randbytes(60_000).hex()


class Worn(NamedTuple):
    user: TestUser
    session: str
    first: int
    """The oldest event that is kept."""
    last: int
    """The newest before the gap."""
    seen: str
    """The place of a MyAgent client that has seen the session's beginning, and no more."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worn(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worn]:
    data: Path = tmp_path_factory.mktemp("worn") / "data"
    async with running(data, rate_limit_per_minute=0) as control:
        user = await control.user()
        session, seen = await _used(control, user)
        last = (await user.ok("GET", f"/sessions/{session}"))["last_event_id"]
        await control.core.segments.fold(all=True)
        front = await control.core.segments.front(session, 10)
        large = next(one for one in front if one.bytes > len(LARGE) // 4)
        first = await control.core.log.cut(session, large.last_id)
        assert 2 < first <= last
        await control.core.segments.skip(GAP)
    async with running(data, rate_limit_per_minute=0) as control:
        again = TestUser(control, user.id, user.token)
        yield Worn(again, session, first, last, seen)


async def _used(control: LocalControl, user: TestUser) -> tuple[str, str]:
    """A session of two turns, and where a client was before the first."""
    async with await user.vm() as vm, client_of(user) as client:
        session = await client.create_session()
        for number, text in enumerate((LARGE, "second answer")):
            await client.say(session, f"question {number}")
            await said(vm, f"question {number}")
            await vm.text(session, text)
            await vm.event(session, type="execution_complete", content=text[:20])
            await user.until_turns(session, *["completed"] * (number + 1))
            await client.answered()
            await control.core.segments.fold(all=True)
        return session, client.of_session(session)[0]["event_id"]


async def pages(worn: Worn, query: str) -> Any:
    return await worn.user.ok("GET", f"/sessions/{worn.session}/events?{query}")


async def test_pages_say_where_the_log_begins_and_which_places_are_none(worn: Worn) -> None:
    whole = await pages(worn, "after=0")
    ids = [one["id"] for one in whole["items"]]
    assert (whole["first_id"], ids[0], whole["resync"]) == (worn.first, worn.first, False)
    older = await pages(worn, f"before={worn.first}")
    assert (older["items"], older["next_before"]) == ([], None)
    for place, is_lost in (
        (1, True),
        (worn.first, False),
        (worn.last, False),
        (worn.last + 1, True),
        (worn.last + GAP - 1, True),
        (worn.last + GAP + 1000, True),
    ):
        found = await pages(worn, f"after={place}")
        assert found["resync"] is is_lost, place
        assert [one["id"] for one in found["items"]] == [one for one in ids if one > place]


async def test_streams_say_resync_for_a_place_that_is_gone_or_never_was(worn: Worn) -> None:
    for place in (1, worn.last + 1, worn.last + GAP // 2, 2**50):
        async with worn.user.reader(worn.session, last_event_id=place) as reader:
            await reader.until(lambda one: bool(one.events))
            assert reader.events[0].id is None, place


async def test_a_yeaft_page_gets_history_for_a_place_that_is_gone(worn: Worn) -> None:
    async with web_of(worn.user) as web:
        for place, is_held in ((1, False), (worn.last, True), (worn.last + 7, False)):
            ready = await web.ask(
                "resume_conversation",
                "session_ready",
                conversationId=worn.session,
                lastEventId=place,
            )
            assert ("history" in ready) is not is_held, place
            if not is_held:
                assert ready["hasMore"] is False
                assert "second answer" in str(ready["history"])
                assert LARGE not in str(ready["history"])
        asked = {"conversationId": worn.session, "beforeId": worn.first}
        older = await web.ask("sync_messages", "sync_messages_result", **asked)
        assert (older["messages"], older["hasMore"]) == ([], False)
        lost = await web.ask(
            "sync_messages",
            "sync_messages_result",
            conversationId=worn.session,
            afterMessageId=worn.last + 7,
        )
        assert lost["mode"] == "recent"
        missed = await web.ask(
            "sync_messages",
            "sync_messages_result",
            conversationId=worn.session,
            afterMessageId=worn.first,
        )
        assert (missed["mode"], missed["total"]) == ("delta", worn.last - worn.first + 1)
        assert "second answer" in str(missed["messages"])


async def test_a_myagent_client_is_told_that_its_place_is_gone(worn: Worn) -> None:
    async with client_of(worn.user) as client:
        await client.reconnect(worn.session, last_event_id=worn.seen)
        notice = await client.expect("system.notice")
        assert notice["metadata"]["error_code"] == "RESYNC"
        await client.expect("agent.final_answer", lambda one: one["session_id"] == worn.session)
        assert LARGE[:100] not in client.text(worn.session)
