"""A VM's line over its life: replaced, silent, flooded, closed (000 §4.1, §8)."""

import asyncio
from pathlib import Path

import pytest

from tests.support.admission import again_url, first_url
from tests.support.clock import Clock
from tests.support.control import LocalControl, TestUser, running
from tests.support.raw_ws import PING, TEXT, RawWs, encode_frame, raw_line
from tests.support.vm import ScriptedVm
from trunkline import limits

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


async def test_a_newer_line_replaces_the_older_and_nothing_of_the_old_one_is_delivered_late(
    user: TestUser,
) -> None:
    vm = await user.schedule()
    old = await RawWs(first_url(user, vm["ticket"])).connect()
    new = await RawWs(again_url(user)).connect()
    async with old, new:
        await old.authenticate(vm["token"])
        session_id = await user.session()
        await old.expect("start_session")
        await old.event(session_id, "from the old line")
        async with user.reader(session_id) as reader:
            await reader.until_text("from the old line")
            old.stop_reading()  # it has not heard of its end
            await new.authenticate(vm["token"])
            await old.event(session_id, "too late")
            await old.send({"type": "heartbeat", "active_sessions": []})
            await new.event(session_id, "from the new line")
            await reader.until_text("from the new line")
            await user.say(session_id, "to whom?")
            told = await new.expect("user_message")
            assert told["data"]["message"] == "to whom?"
            await new.event(session_id, "last")
            await reader.until_text("last")
            assert reader.texts() == ["from the old line", "from the new line", "last"]
            statuses = [one for one in reader.events if "session_status" in one.data]
            assert statuses == []  # the machine was online all the time
        old.go_on_reading()
        assert await old.closed() == 1008
        assert [one["type"] for one in old.messages] == ["init", "start_session"]


async def test_of_many_lines_of_one_vm_at_once_one_stays(user: TestUser) -> None:
    vm = await user.schedule()
    session_id = await user.session(machine_id=vm["vm_id"])
    lines = [RawWs(again_url(user)) for _ in range(20)]
    await asyncio.gather(*(line.connect() for line in lines))
    await asyncio.gather(*(line.authenticate(vm["token"]) for line in lines))
    await user.say(session_id, "who is left?")

    def told() -> list[RawWs]:
        return [
            line for line in lines if any(one["type"] == "user_message" for one in line.messages)
        ]

    for line in lines:
        await line.until(lambda line=line: line.ended or line in told(), "its fate")  # type: ignore[misc]
    assert len(told()) == 1
    assert {await line.closed() for line in lines if line not in told()} == {1008}
    await told()[0].__aexit__(None, None, None)


@pytest.mark.proves("000-8-close-4008")
async def test_a_silent_line_is_closed_with_4008_and_its_readers_are_told_while_pings_keep_one_up(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with running(tmp_path / "data", now=clock) as control:
        await _one_is_silent(control, clock, await control.user())


async def _one_is_silent(control: LocalControl, clock: Clock, user: TestUser) -> None:
    async with await raw_line(user) as silent, await raw_line(user) as pinging:
        session_id = await user.session()  # on the newest machine, which is the pinging one
        machines = await user.ok("GET", "/machines")
        quiet_id = min(machine["id"] for machine in machines["items"])
        quiet = await user.session(machine_id=quiet_id)
        async with user.reader(quiet) as reader:
            for number in range(2):
                await clock.pass_time(limits.HEARTBEAT_SILENCE_S * 0.9)
                await pinging.frame(PING, str(number).encode())
                await pinging.pong(str(number).encode())
            control.sweep()
            assert await silent.closed() == 4008
            status = await reader.until_type("session_status")
            assert (status["machine"], status["machine_id"]) == ("offline", quiet_id)
        await pinging.event(session_id, "alive")
        async with user.reader(session_id) as reader:
            await reader.until_text("alive")
        online = {one["id"]: one["online"] for one in (await user.ok("GET", "/machines"))["items"]}
        assert online == {quiet_id: False, max(online): True}


async def test_what_a_heartbeat_says_of_the_machine_is_shown_and_has_a_bound(
    user: TestUser, vm: ScriptedVm
) -> None:
    session_id = await user.session()
    await vm.send({"type": "heartbeat", "health": {"cpu": 0.5, "degraded": ["mcp"]}})
    await vm.send({"type": "heartbeat", "health": {"x": "y" * limits.HEALTH_BYTES_MAX}})
    assert (await vm.expect("error"))["error"]["code"] == "TOO_LARGE"
    machine = (await user.ok("GET", "/machines"))["items"][0]
    assert machine["health"] == {"cpu": 0.5, "degraded": ["mcp"]}
    assert machine["sessions"] == [session_id]


async def test_readers_are_told_when_the_machine_comes_back(user: TestUser) -> None:
    vm = await user.vm()
    session_id = await user.session()
    async with user.reader(session_id) as reader:
        await vm.drop()
        await reader.until(lambda one: len(one.events) == 1)
        async with user.again(vm):
            await reader.until(lambda one: len(one.events) == 2)
            assert [one.json["machine"] for one in reader.events] == ["offline", "online"]


BEAT = encode_frame(TEXT, b'{"type": "heartbeat", "active_sessions": []}')


@pytest.mark.proves("000-9-rate-1000-a-minute", "000-8-close-4029")
async def test_the_thousand_and_first_message_in_a_minute_is_closed_with_4029(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as limited:
        user = await limited.user()
        async with await raw_line(user) as line, await raw_line(user) as other:
            await line.raw(BEAT * 999)  # `auth` was the first
            await line.frame(PING, b"full")
            await line.pong(b"full")
            await line.raw(BEAT)
            assert await line.closed() == 4029
            await other.frame(PING, b"each line has its own count")
            await other.pong(b"each line has its own count")


async def test_a_batch_needs_the_capability_and_has_a_bound(
    user: TestUser,
) -> None:
    most = limits.BATCH_EVENTS_MAX
    async with await raw_line(user) as plain, await raw_line(user, "batch") as batching:
        session_id = await user.session()
        event = {"session_id": session_id, "data": "{}"}
        await plain.send({"type": "batch", "events": [event]})
        assert (await plain.expect("error"))["error"]["code"] == "CAPABILITY_MISSING"
        await batching.send({"type": "batch", "events": [event] * (most + 1)})
        assert (await batching.expect("error"))["error"]["code"] == "TOO_LARGE"
        await batching.send({"type": "batch", "events": [event] * most})
        await batching.event(session_id, "last")
        async with user.reader(session_id, last_event_id=most) as reader:
            await reader.until_text("last")
            assert reader.last_id == most + 1


async def test_lines_are_closed_with_1001_when_the_control_plane_goes_down(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as leaving:
        user = await leaving.user()
        vm = await user.vm()
        waiting = await RawWs(again_url(user)).connect()
    assert await vm.closed() == 1001
    assert await waiting.closed() == 1001
    await vm.leave()
