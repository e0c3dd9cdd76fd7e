"""One stream for all that a browser shows: sessions that it follows, and the news of its lists."""

import asyncio
import socket
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from tests.support.account import AccountReader
from tests.support.control import Control, LocalControl, TestUser, running
from tests.support.eventually import until
from tests.support.metrics import metric
from tests.support.vm import ScriptedVm
from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.edges.sse.account import AccountStream
from trunkline.control.edges.sse.host import UNHEARD_MS
from trunkline.control.log.session_log import Batch
from trunkline.control.tuning import Tuning

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

ABSENT = "01890000-0000-7000-8000-000000000000"


async def test_two_sessions_replay_and_go_on_live_without_a_gap_or_a_repeat(
    user: TestUser, vm: ScriptedVm
) -> None:
    one, two = await user.session(), await user.session()
    await vm.text(one, "a", "b", "c")
    await vm.text(two, "x")
    async with user.reader(one) as plain, AccountReader(user, f"{one}:1", f"{two}:0") as stream:
        await vm.text(one, "d")
        await vm.text(two, "y")
        await stream.until_of(one, 4)
        await stream.until_of(two, 2)
        await plain.until_count(4)
        assert stream.of(one) == [2, 3, 4]
        assert stream.of(two) == [1, 2]
        lines = [event.data for event in stream.events if event.session == one]
        assert lines == [event.data for event in plain.events][1:]
    assert stream.headers["content-type"].startswith("text/event-stream")


async def test_what_is_followed_changes_while_the_stream_is_open(
    user: TestUser, vm: ScriptedVm
) -> None:
    one, two = await user.session(), await user.session()
    await vm.text(one, "a", "b")
    async with AccountReader(user) as stream:
        await stream.follow(one, after=1)
        await stream.follow(two)
        await stream.until_of(one, 2)
        assert (await stream.call("leave", session_id=one))[0] == 204
        assert (await stream.call("leave", session_id=one))[0] == 204  # twice is like once
        await vm.text(one, "c")
        await vm.text(two, "x")
        await stream.until_of(two, 1)
        assert stream.of(one) == [2]
        await stream.follow(one, after=2)
        await stream.follow(one, after=2)
        await stream.until(lambda _: stream.of(one) == [2, 3, 3], "the replay, twice")
        await vm.text(one, "d")
        await stream.until_of(one, 4)
        assert stream.of(one) == [2, 3, 3, 4]


async def test_a_connection_that_served_http_before_becomes_a_stream(
    user: TestUser, vm: ScriptedVm
) -> None:
    one, two = await user.session(), await user.session()
    await vm.text(one, "a")
    await vm.text(two, "b")
    bearer = {"Authorization": f"Bearer {user.token}"}
    async with aiohttp.ClientSession(user.control.url, headers=bearer) as http:
        for path, status in (("me", 200), ("stream?fellow=1", 400), ("stream?follow=", 400)):
            async with http.get(f"/api/v1/{path}") as answer:
                assert answer.status == status
                await answer.read()
        query = f"follow={one}:0&follow={two}:0"
        async with http.get("/api/v1/me") as answer:
            await answer.read()
        async with http.get(f"/api/v1/stream?{query}") as answer:
            assert answer.status == 200
            got = b""
            while not (f"id: {one}:1".encode() in got and f"id: {two}:1".encode() in got):
                got += await answer.content.readany()


@pytest.mark.parametrize("position", ["7", "nonsense", "-1", "9" * 30, ""])
async def test_a_position_that_is_not_kept_is_a_resync_and_the_session_goes_on(
    user: TestUser, vm: ScriptedVm, position: str
) -> None:
    session = await user.session()
    await vm.text(session, "a", "b")
    async with user.reader(session) as ready:
        await ready.until_count(2)
    async with AccountReader(user, f"{session}:{position}") as one:
        told = await one.until_news("resync")
        assert told == {"session_id": session, "last_event_id": 2}
        await vm.text(session, "c")
        await one.until_of(session, 3)
        assert one.of(session) == [3]


async def test_sessions_of_others_are_gone_and_cannot_be_followed(
    user: TestUser, eve: TestUser, session: str
) -> None:
    async with AccountReader(eve, f"{session}:0", f"{ABSENT}:0") as stream:
        gone = [await stream.until_news("gone", id=one) for one in (session, ABSENT)]
        assert gone == [{"kind": "session", "id": one} for one in (session, ABSENT)]
        status, answer = await stream.call("follow", session_id=session)
        assert (status, answer["error"]["code"]) == (404, "SESSION_NOT_FOUND")
        # Nor can somebody else's stream be changed, by whoever knows its name.
        path = f"/streams/{await stream.stream_id()}/leave"
        status, answer = await user.call("POST", path, {"session_id": session})
        assert (status, answer["error"]["code"]) == (404, "STREAM_NOT_FOUND")
        await user.ok("POST", f"/sessions/{session}/messages", {"message": "secret"})
        await eve.ok("PATCH", f"/users/{eve.id}", {"name": "eve"})
        assert not [one for one in stream.events if session in one.data and one.name != "gone"]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("fellow=x:1", 400, "UNKNOWN_FIELD"),
        ("follow=", 400, "INVALID_REQUEST"),
        (f"follow={'x' * 101}:1", 400, "INVALID_REQUEST"),
        ("&".join(f"follow={n}:0" for n in range(51)), 429, "LIMIT_REACHED"),
        ("&".join(f"follow={n}:0" for n in range(61)), 400, "INVALID_REQUEST"),
    ],
)
async def test_a_query_that_makes_no_sense_is_refused(
    user: TestUser, query: str, status: int, code: str
) -> None:
    got, answer = await user.call("GET", f"/stream?{query}")
    assert (got, answer["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"session_id": 5},
        {"session_id": "x" * 101},
        {"session_id": ABSENT, "after": -1},
        {"session_id": ABSENT, "after": "1"},
        {"session_id": ABSENT, "after": 2**63},
        {"session_id": ABSENT, "behind": 1},
        [],
    ],
)
async def test_a_body_that_makes_no_sense_is_refused(user: TestUser, body: Any) -> None:
    async with AccountReader(user) as stream:
        path = f"/streams/{await stream.stream_id()}/follow"
        status, answer = await user.call("POST", path, body)
        assert status == 400, answer


async def test_strange_names_of_sessions_are_merely_gone(user: TestUser) -> None:
    async with AccountReader(user, "%00:1", "%0A%0Aevent%3A%20x:2", "nobody") as stream:
        for name in ("\0", "\n\nevent: x", "nobody"):
            assert await stream.until_news("gone", id=name)
        assert {one.name for one in stream.events} == {"hello", "gone"}


async def test_limits_of_a_stream_and_of_a_user(own_control: LocalControl) -> None:
    user = await own_control.user()
    async with await user.vm():
        sessions = [await user.session() for _ in range(limits.STREAM_SESSIONS_MAX + 1)]
        *first, last = sessions
        async with AccountReader(user, *(f"{one}:0" for one in first)) as stream:
            assert stream.status == 200
            status, answer = await stream.call("follow", session_id=last)
            assert (status, answer["error"]["code"]) == (429, "LIMIT_REACHED")
            await stream.call("leave", session_id=first[0])
            await stream.follow(last)
        readers = [AccountReader(user) for _ in range(limits.STREAMS_PER_USER_MAX)]
        await until(lambda: own_control.core.metrics.readers, lambda count: count == 0)
        for reader in readers:
            await reader.open()
            assert reader.status == 200
        async with AccountReader(user) as refused:
            assert refused.status == 429
        await readers[0].leave()
        await until(
            lambda: own_control.core.metrics.readers, lambda count: count == len(readers) - 1
        )
        async with AccountReader(user) as welcome:
            assert welcome.status == 200
        for reader in readers[1:]:
            await reader.leave()


class Idle:
    """A reader that does nothing."""

    def deliver(self, batch: Batch) -> None: ...

    def resync(self) -> None: ...


async def test_one_session_with_too_many_readers_does_not_end_the_stream(
    own_control: LocalControl,
) -> None:
    user = await own_control.user()
    async with await user.vm() as vm:
        full, other = await user.session(), await user.session()
        await vm.text(full, "a")
        await vm.text(other, "b")
        log = await own_control.core.log.open(full)
        for _ in range(limits.READERS_PER_SESSION_MAX):
            log.attach(Idle())
        async with AccountReader(user, f"{full}:0", f"{other}:0") as stream:
            assert await stream.until_news("gone") == {"kind": "session", "id": full}
            await stream.until_of(other, 1)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux has it")
async def test_a_reader_that_went_without_a_word_is_soon_taken_for_gone(
    own_control: LocalControl,
) -> None:
    user = await own_control.user()
    async with AccountReader(user) as stream:
        who = Principal(user.id, "", "member")
        found = cast(AccountStream, own_control.core.streams.get(who, await stream.stream_id()))
        sock = found.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == UNHEARD_MS


async def test_news_of_sessions_and_questions_reach_whoever_lists_them(
    control: Control, user: TestUser, eve: TestUser, vm: ScriptedVm
) -> None:
    member = await control.user("bob", org_id=(await user.ok("GET", f"/users/{user.id}"))["org_id"])
    async with (
        AccountReader(user) as own,
        AccountReader(eve) as others,
        AccountReader(member) as fellows,
    ):
        await own.stream_id()
        session = await user.session(title="first")
        listed = await own.until_news("session", id=session, title="first")
        assert listed == (await user.ok("GET", "/sessions"))["items"][0]
        await user.ok("PATCH", f"/sessions/{session}", {"title": "second"})
        await own.until_news("session", id=session, title="second")

        turn = await user.say(session, "go")
        begun = len(own.news("session"))
        await vm.event(session, type="approval_request", request_id="q1", message="may I?")
        asked = await own.until_news("approval", session_id=session, state="pending")
        assert asked in (await user.ok("GET", "/approvals"))["items"]
        await user.ok("POST", f"/approvals/{asked['id']}", {"confirmed": True})
        resolved = await own.until_news("approval", id=asked["id"], state="confirmed")
        assert resolved["answered_by"] == user.id

        await vm.event(session, type="execution_complete", content="done", turn_id=turn)
        await own.until(lambda _: len(own.news("session")) > begun, "the turn's end")
        await user.ok("DELETE", f"/sessions/{session}")
        await own.until_news("session", id=session, status="closed")
        for stream in (others, fellows):
            assert {one.name for one in stream.events} == {"hello"}


async def test_news_of_machines_come_when_something_shows(user: TestUser) -> None:
    async with AccountReader(user) as stream:
        await stream.stream_id()
        async with await user.vm() as vm:
            machine = (await user.ok("GET", "/machines"))["items"][0]["id"]
            await stream.until_news("machine", id=machine, online=True)
            told = len(stream.news("machine"))
            session = await user.session()
            for _ in range(3):
                await vm.heartbeat(session)
            await vm.text(session, "a")
            await stream.follow(session)
            await stream.until_of(session, 1)
            assert len(stream.news("machine")) == told  # heartbeats are none
        await stream.until_news("machine", id=machine, online=False)
        await user.ok("DELETE", f"/machines/{machine}")
        assert await stream.until_news("gone") == {"kind": "machine", "id": machine}


async def test_a_revoked_token_cuts_its_stream(control: Control, user: TestUser) -> None:
    issued = await user.ok("POST", f"/users/{user.id}/token")
    async with (
        AccountReader(TestUser(control, user.id, issued["token"])) as cut,
        AccountReader(user) as stays,
    ):
        await cut.stream_id()
        await user.ok("DELETE", f"/tokens/{issued['id']}")
        await cut.until_ended()
        assert not stays.ended
    limited = await user.ok("POST", f"/users/{user.id}/token", {"scopes": ["talk"]})
    async with AccountReader(TestUser(control, user.id, limited["token"])) as refused:
        assert refused.status == 403


async def test_a_stream_that_is_not_read_is_cut_and_replays_many_large_sessions_in_turn(
    own_control: LocalControl,
) -> None:
    user = await own_control.user()
    piece = "x" * 60_000
    async with await user.vm() as vm:
        sessions = [await user.session() for _ in range(5)]
        slow = await AccountReader(user, f"{sessions[0]}:0").open(read=False, limit=1024)
        async with user.reader(sessions[0]) as quick:
            for number in range(1, 201):
                await vm.text(sessions[0], piece)
                await quick.until_count(number)
        assert await metric(own_control, "sse_readers_cut_total") == 1
        await slow.leave()
        for one in sessions[1:]:
            await vm.text(one, *[piece] * 14)
        # Each has less than a reader may have unread, all together have more.
        async with AccountReader(user, *(f"{one}:0" for one in sessions[1:])) as back:
            for one in sessions[1:]:
                await back.until_of(one, 14)
                assert back.of(one) == list(range(1, 15))
        assert await metric(own_control, "sse_readers_cut_total") == 1


async def test_heartbeats_come_and_a_shutdown_says_when_to_return(tmp_path: Path) -> None:
    server = running(tmp_path / "data", tuning=Tuning(reader_heartbeat_s=1.0))
    control = await server.__aenter__()
    user = await control.user()
    async with AccountReader(user) as stream:
        assert (await stream.until_news("hello"))["heartbeat_s"] == 1.0
        control.sweep()
        await stream.until(lambda one: "heartbeat" in one.comments, "a heartbeat")
        stopping = asyncio.create_task(server.__aexit__(None, None, None))
        await stream.until_ended()
        assert "the server is going down" in stream.comments
        await stopping
