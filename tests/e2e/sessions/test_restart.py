"""Lines that break and control planes that die in the middle of a stream (DESIGN 3 and 4)."""

import asyncio
import contextlib
import json
from typing import Any

import aiohttp
import pytest

from tests.support.control import ControlProcess, TestUser
from tests.support.eventually import WAIT_S
from tests.support.sse import SseReader
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")


class SeqVm:
    """A machine with the `seq` capability: an outbox per session, resent from what is safe."""

    def __init__(self, user: TestUser, vm: ScriptedVm, session: str) -> None:
        self._user = user
        self._session = session
        self.vm = vm
        self.outbox: list[str] = []
        """Every event ever sent; its number is its place, from 1."""
        self._safe = 0

    async def text(self, content: str) -> None:
        self.outbox.append(json.dumps({"type": "text_chunk", "content": content}))
        with contextlib.suppress(aiohttp.ClientError, ConnectionError):
            await self._send(len(self.outbox))

    async def _send(self, seq: int) -> None:
        data = self.outbox[seq - 1]
        await self.vm.send(
            {"type": "sse_event", "session_id": self._session, "data": data, "seq": seq}
        )

    async def return_and_resend(self) -> None:
        """000 §6, and then what the control plane does not have yet."""
        self.vm = self._user.again(self.vm)
        await self.vm.connect()
        init = await self.vm.authenticate("seq")
        self._safe = safe = init["data"]["acked"].get(self._session, 0)
        for seq in range(safe + 1, len(self.outbox) + 1):
            await self._send(seq)

    async def all_safe(self) -> None:
        if self._safe < len(self.outbox):
            await self.vm.expect(
                "ack", lambda message: message["acked"].get(self._session) == len(self.outbox)
            )


class PatientReader:
    """A reader that comes back with the last id it saw, and keeps all it ever got."""

    def __init__(self, user: TestUser, session: str) -> None:
        self._user = user
        self._session = session
        self.collected: list[tuple[int, str]] = []
        self.resyncs = 0
        self._reader: SseReader | None = None

    async def follow(self) -> None:
        """(Re)connects; what the last connection brought is kept."""
        await self.put_down()
        position = self.collected[-1][0] if self.collected else 0
        self._reader = await self._user.reader(self._session, last_event_id=position).open()

    async def put_down(self) -> None:
        if self._reader is None:
            return
        await self._reader.leave()
        for event in self._reader.events:
            if event.id is None:
                self.resyncs += 1
            else:
                self.collected.append((event.id, event.data))
        self._reader = None

    async def until_text(self, text: str) -> None:
        assert self._reader is not None
        if text not in self.texts():
            await self._reader.until_text(text)

    def texts(self) -> list[str]:
        events: list[Any] = [json.loads(data) for _, data in self.collected]
        return [event["content"] for event in events if event["type"] == "text_chunk"]


async def test_kill_9_in_the_middle_of_a_stream_loses_and_repeats_nothing_with_seq(
    process: ControlProcess,
) -> None:
    """Twenty rounds: what readers have at the end is exactly what was sent."""
    user = await process.user()
    vm = await user.vm("seq")
    session = await user.session()
    machine = SeqVm(user, vm, session)
    reader = PatientReader(user, session)
    await reader.follow()
    for round_number in range(20):
        streaming = asyncio.create_task(_stream(machine, round_number, 200))
        if round_number % 2:
            # Half of the rounds die when readers have seen something, half at any moment.
            await reader.until_text(f"{round_number}:{round_number * 3}")
        else:
            await asyncio.sleep(0)
        await process.kill()
        await streaming
        await machine.vm.finish()
        await process.start()
        await machine.return_and_resend()
        await machine.all_safe()
        await reader.follow()
        await reader.until_text(f"{round_number}:199")
    await reader.put_down()
    assert reader.texts() == [f"{r}:{n}" for r in range(20) for n in range(200)]
    ids = [event_id for event_id, _ in reader.collected]
    assert ids == list(range(1, len(ids) + 1))
    assert reader.resyncs == 0
    await machine.vm.leave()


async def _stream(machine: SeqVm, round_number: int, count: int) -> None:
    for number in range(count):
        await machine.text(f"{round_number}:{number}")


async def test_a_graceful_restart_in_the_middle_of_a_stream_with_seq_keeps_ids(
    process: ControlProcess,
) -> None:
    user = await process.user()
    machine = SeqVm(user, await user.vm("seq"), session := await user.session())
    reader = PatientReader(user, session)
    await reader.follow()
    await _stream(machine, 0, 50)
    await reader.until_text("0:25")
    assert await process.terminate() == 0
    await _stream(machine, 1, 50)
    await machine.vm.finish()
    await process.start()
    await reader.follow()
    await machine.return_and_resend()
    await reader.until_text("1:49")
    await reader.put_down()
    assert reader.texts() == [f"{r}:{n}" for r in range(2) for n in range(50)]
    ids = [event_id for event_id, _ in reader.collected]
    assert ids == list(range(1, len(ids) + 1))
    await machine.vm.leave()


async def test_without_seq_what_was_delivered_is_never_lost_or_renumbered(
    process: ControlProcess,
) -> None:
    user = await process.user()
    vm = await user.vm()
    session = await user.session()
    reader = PatientReader(user, session)
    await reader.follow()
    sent = [f"a{number}" for number in range(300)]
    await vm.text(session, *sent)
    await reader.until_text("a100")
    await process.kill()
    await vm.finish()
    await reader.put_down()
    before = list(reader.collected)
    assert len(before) > 100
    await process.start()
    log = await user.ok("GET", f"/sessions/{session}/events?after=0&limit=1000")
    kept = [(event["id"], event["event"]["content"]) for event in log["items"]]
    assert kept[: len(before)] == [(i, json.loads(data)["content"]) for i, data in before]
    again = user.again(vm)
    await again.connect()
    await again.authenticate()
    await reader.follow()
    await again.text(session, "b")
    await reader.until_text("b")
    await reader.put_down()
    ids = [event_id for event_id, _ in reader.collected]
    assert ids == list(range(1, len(ids) + 1))
    assert reader.texts()[:-1] == sent[: len(ids) - 1]
    await again.leave()


@pytest.mark.proves("000-7-ring-of-500")
async def test_a_restart_replays_from_disk_what_memory_no_longer_holds(
    process: ControlProcess,
) -> None:
    user = await process.user()
    vm = await user.vm()
    session = await user.session()
    async with user.reader(session) as live:
        await vm.text(session, *(f"t{number}" for number in range(1, 601)))
        await live.until_text("t600")
    await process.kill()  # before the machine goes: that would be another event
    await vm.closed()
    await vm.leave()
    await process.start()
    async with user.reader(session, last_event_id=100) as reader:
        await reader.until_text("t600")
        assert reader.ids == list(range(101, 601))
    async with user.reader(session, last_event_id=99) as reader:
        await reader.until(lambda one: bool(one.events))
        assert reader.events[0].name == "resync"


async def test_events_sent_again_are_dropped_and_a_gap_is_a_resync(
    process: ControlProcess,
) -> None:
    user = await process.user()
    async with await user.vm("seq", "batch") as vm:
        session = await user.session()
        async with user.reader(session) as reader:
            for seq in (1, 2, 2, 1, 3):
                await vm.event(session, seq=seq, type="text_chunk", content=f"t{seq}")
            await reader.until_text("t3")
            assert reader.texts() == ["t1", "t2", "t3"]
            await vm.event(session, seq=7, type="text_chunk", content="t7")
            await reader.until_text("t7")
            names = [event.name for event in reader.events]
            assert names == ["message"] * 3 + ["resync", "message", "message"]
            assert reader.events[-2].json["lost_events"] == 3
        async with user.reader(session, last_event_id=3) as late:
            await late.until_text("t7")
            assert late.events[0].json["lost_events"] == 3
        acked = (await vm.expect("ack", lambda one: one["acked"] == {session: 7}))["acked"]
        assert acked == {session: 7}


@pytest.mark.proves("000-5.1-init-fields", "000-5.5-user-message-fields")
async def test_a_machine_without_capabilities_is_served_exactly_as_documented(
    process: ControlProcess,
) -> None:
    user = await process.user()
    scheduled = await user.schedule(dialect="documented")
    vm = ScriptedVm(scheduled["ws_url"], user.id, scheduled["token"], scheduled["ticket"])
    await vm.connect()
    init = await vm.authenticate()
    assert set(init["data"]) == {"user_id", "org_id", "api_keys"}
    session = await user.session()
    async with user.reader(session) as reader:
        await vm.event(session, seq=1, type="text_chunk", content="a")
        await vm.event(session, seq=1, type="text_chunk", content="b")
        await reader.until_text("b")
        await vm.send({"type": "batch", "events": [{"session_id": session, "data": "{}"}]})
        refused = await vm.expect("error")
        assert refused["error"]["code"] == "CAPABILITY_MISSING"
        await user.say(session, "hello")
        message = await vm.expect("user_message")
        assert set(message["data"]) == {"message", "history", "metadata"}
        assert vm.of_type("ack") == []
    await vm.leave()


async def test_a_batch_carries_events_of_many_sessions_in_order(process: ControlProcess) -> None:
    user = await process.user()
    async with await user.vm("batch") as vm:
        one, other = await user.session(), await user.session()
        events = [
            {"session_id": session, "data": json.dumps({"type": "text_chunk", "content": text})}
            for session, text in ((one, "a"), (other, "x"), (one, "b"), (other, "y"))
        ]
        await vm.send({"type": "batch", "events": events})
        async with user.reader(one) as first, user.reader(other) as second:
            await first.until_text("b")
            await second.until_text("y")
            assert first.texts() == ["a", "b"]
            assert second.texts() == ["x", "y"]


async def test_a_message_that_waits_for_its_machine_survives_a_restart(
    process: ControlProcess,
) -> None:
    user = await process.user()
    vm = await user.vm()
    session = await user.session()
    await vm.expect("start_session")
    await vm.drop()
    turn = await user.say(session, "are you there?", client_message_id="c1")
    await process.kill()
    await process.start()
    assert await user.say(session, "are you there?", client_message_id="c1") == turn
    again = user.again(vm)
    await again.connect()
    await again.authenticate()
    await again.heartbeat(session)
    message = await again.expect("user_message")
    assert message["data"]["message"] == "are you there?"
    await again.text(session, "yes")
    await again.event(session, type="execution_complete", content="yes")
    async with user.reader(session) as reader:
        await reader.until_type("execution_complete")
    assert len(again.of_type("user_message")) == 1
    await again.leave()


async def test_sigterm_tells_readers_flushes_and_exits_within_ten_seconds(
    process: ControlProcess,
) -> None:
    user = await process.user()
    vm = await user.vm()
    session = await user.session()
    async with user.reader(session) as reader:
        await vm.text(session, *(f"t{number}" for number in range(100)))
        await reader.until_text("t0")
        async with asyncio.timeout(WAIT_S):
            assert await process.terminate() == 0
        await reader.until_ended()
        assert "the server is going down" in reader.comments
        assert await vm.closed() == 1001
    seen = reader.texts()
    await process.start()
    async with user.reader(session, last_event_id=reader.last_id) as back:
        await back.until(lambda one: one.status == 200)
    log = await user.ok("GET", f"/sessions/{session}/events?after=0&limit=1000")
    texts = [one["event"] for one in log["items"] if one["event"]["type"] == "text_chunk"]
    assert [event["content"] for event in texts][: len(seen)] == seen
    await vm.finish()
