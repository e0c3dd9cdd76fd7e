"""From a machine's frame to a reader's event, on real sockets (source document 000 §4.2, §7)."""

import json
from pathlib import Path

import pytest

from tests.support.control import Control, running
from trunkline import limits
from trunkline.control.tuning import DEFAULT, Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.proves("000-4.2-data-not-parsed", "000-7-stream-address")
async def test_an_event_reaches_a_reader_as_the_machine_wrote_it(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        async with user.reader(session) as reader:
            data = '{"type":"text_chunk", "content":"Hello 你好 \\u2028", "unknown": [1, {}]}'
            await vm.send({"type": "sse_event", "session_id": session, "data": data})
            await reader.until(lambda one: bool(one.events))
            assert reader.headers["content-type"].startswith("text/event-stream")
            assert reader.events[0].data == data
            assert reader.events[0].id == 1


@pytest.mark.proves(
    "000-7-ids-grow", "000-7-one-stream-per-session", "000-4.2-event-to-its-session"
)
async def test_ids_are_consecutive_and_each_session_has_its_own(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        one, other = await user.session(), await user.session()
        await vm.text(one, "a", "b")
        await vm.text(other, "x")
        await vm.text(one, "c")
        async with user.reader(one) as reader, user.reader(other) as second:
            await reader.until_text("c")
            await second.until_text("x")
            assert reader.ids == [1, 2, 3]
            assert reader.texts() == ["a", "b", "c"]
            assert second.ids == [1]
            assert second.texts() == ["x"]


@pytest.mark.proves("000-7-replay-after-last-event-id")
async def test_a_reader_replays_after_its_position_and_goes_on_live(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        await vm.text(session, *(f"t{number}" for number in range(1, 11)))
        async with user.reader(session) as first:
            await first.until_text("t10")
        async with user.reader(session, last_event_id=4) as reader:
            await reader.until_text("t10")
            await vm.text(session, "t11")
            await reader.until_text("t11")
            assert reader.ids == [5, 6, 7, 8, 9, 10, 11]


async def test_the_header_wins_over_the_query(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        await vm.text(session, *(f"t{number}" for number in range(1, 6)))
        async with user.reader(session) as first:
            await first.until_text("t5")
        async with user.reader(session, last_event_id=0, header=3) as reader:
            await reader.until_text("t5")
            assert reader.ids == [4, 5]


@pytest.mark.parametrize("position", ["999", "-1", "abc", "1e3", "²", "9" * 40, "0x10"])
@pytest.mark.proves("000-7-resync-format")
async def test_a_position_that_was_never_given_out_is_a_resync(
    control: Control, position: str
) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        await vm.text(session, "before")
        async with user.reader(session) as first:
            await first.until_text("before")
        header = position.encode().decode("latin-1")
        async with user.reader(session, header=header) as reader:
            await reader.until(lambda one: bool(one.events))
            assert reader.events[0].name == "resync"
            assert reader.events[0].data == "{}"
            assert reader.events[0].id is None
            await vm.text(session, "after")
            await reader.until_text("after")
            assert reader.texts() == ["after"]


@pytest.mark.proves(
    "000-7-ring-of-500", "000-7-resync-after-overflow", "000-7-snapshot-after-resync"
)
async def test_a_position_that_left_the_ring_is_a_resync_and_a_snapshot_fills_the_gap(
    control: Control,
) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        count = limits.RING_EVENTS + 20
        async with user.reader(session) as live:
            await vm.text(session, *(f"t{number}" for number in range(1, count + 1)))
            await live.until_text(f"t{count}")
        async with user.reader(session, last_event_id=20) as full:
            await full.until_text(f"t{count}")
            assert full.ids == list(range(21, count + 1))
        async with user.reader(session, last_event_id=19) as reader:
            await reader.until(lambda one: bool(one.events))
            assert reader.events[0].name == "resync"
            snapshot = await user.ok("GET", f"/sessions/{session}/snapshot")
            assert snapshot["last_event_id"] == count
            await vm.text(session, "next")
            await reader.until_text("next")
            assert reader.ids == [count + 1]
        log = await user.ok("GET", f"/sessions/{session}/events?after=0&limit=1000")
        assert [event["id"] for event in log["items"]] == list(range(1, count + 2))


async def test_a_reader_that_joins_in_the_middle_of_a_stream_has_no_gap_and_no_repeat(
    control: Control,
) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        readers = []
        for number in range(1, 401):
            await vm.text(session, f"t{number}")
            if number % 40 == 0:
                readers.append(await user.reader(session).open())
        for reader in readers:
            await reader.until_text("t400")
            assert reader.ids == list(range(1, 401))
            await reader.leave()


async def test_a_reader_that_does_not_read_is_cut_and_slows_nobody(
    own_control: Control,
) -> None:
    user = await own_control.user()
    async with await user.vm() as vm:
        session = await user.session()
        slow = await user.reader(session).open(read=False, limit=1024)
        async with user.reader(session) as quick:
            piece = "x" * 60_000
            for number in range(1, 201):
                await vm.text(session, piece)
                await quick.until_count(number)
        metrics = (await own_control.call("GET", "/api/../metrics"))[1].decode()
        assert "sse_readers_cut_total 1.0" in metrics
        # It comes back and misses nothing.
        async with user.reader(session) as back:
            await back.until(lambda one: len(one.ids) == 200, "every event")
        await slow.leave()


async def test_an_event_given_as_an_object_is_delivered_as_its_json(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        event = {"type": "thinking", "content": "嗯", "stage": "plan"}
        await vm.send({"type": "sse_event", "session_id": session, "data": event})
        async with user.reader(session) as reader:
            await reader.until(lambda one: bool(one.events))
            assert json.loads(reader.events[0].data) == event


@pytest.mark.proves("000-7-heartbeat-comment")
async def test_heartbeats_come_every_fifteen_seconds_as_comments(tmp_path: Path) -> None:
    assert DEFAULT.reader_heartbeat_s == 15
    async with running(tmp_path / "data", tuning=Tuning(reader_heartbeat_s=1)) as control:
        user = await control.user()
        async with await user.vm():
            session = await user.session()
            async with user.reader(session) as reader:
                await reader.until(lambda one: "heartbeat" in one.comments, "heartbeat")


async def test_every_reader_sees_what_the_user_said(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        session = await user.session()
        async with user.reader(session) as reader:
            turn = await user.say(session, "What is new?")
            said = await reader.until_type("user_message")
            assert said["content"] == "What is new?"
            assert said["turn_id"] == turn
            message = await vm.expect("user_message")
            assert message["session_id"] == session
            assert message["data"]["message"] == "What is new?"


async def test_a_reader_needs_a_token_that_may_see_the_session(control: Control) -> None:
    owner, stranger = await control.user("ada"), await control.user("eve")
    async with await owner.vm():
        session = await owner.session()
        async with stranger.reader(session) as reader:
            assert reader.status == 404
        owner.token = "tl_wrong"
        async with owner.reader(session) as reader:
            assert reader.status == 401
