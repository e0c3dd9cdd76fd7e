"""Events so large that few fit into one read of the log: nothing that is read back misses any."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.agp import device_of, register
from tests.support.control import TestUser, running
from tests.support.eventually import eventually
from tests.support.yeaft_turn import turn_at
from trunkline.client import Client
from trunkline.control.sessions.state import SessionState
from trunkline.control.tuning import Tuning

PIECES = [f"{number} {'x' * 400}" for number in range(40)]

SMALL = Tuning(events_page_bytes_max=4_000, ring_bytes_max=4_000)


async def test_a_client_that_lost_its_place_is_given_every_event(tmp_path: Path) -> None:
    async with running(tmp_path / "data", tuning=SMALL) as control:
        user = await control.user()
        async with await user.vm() as vm, Client(control.url, user.token) as client:
            session = await client.sessions.create()
            await client.sessions.send(session.id, "go")
            await vm.expect("user_message")
            for piece in PIECES:
                await vm.text(session.id, piece)
            await vm.event(session.id, type="execution_complete", content="done")
            ended = await eventually(
                lambda: client.sessions.get(session.id),
                lambda seen: seen.last_event_id == len(PIECES) + 2,
            )
            ids = list(range(1, ended.last_event_id + 1))
            assert [event.id async for event in client.sessions.events(session.id)] == ids
            followed: list[int] = []
            async with asyncio.timeout(60):
                async for event in client.sessions.stream(session.id):
                    if event.id is not None:
                        followed.append(event.id)
                    if event.ends_turn:
                        break
            assert followed == ids


async def test_an_end_that_a_crash_left_unrecorded_is_found_behind_them(tmp_path: Path) -> None:
    async with running(tmp_path / "data", tuning=SMALL) as control:
        user = await control.user()
        async with await user.vm() as vm:
            session = await user.session()
            async with user.reader(session) as reader:
                await user.say(session, "go")
                await vm.expect("user_message")
                for piece in PIECES:
                    await vm.text(session, piece)
                await vm.event(session, type="execution_complete", content="done")
                await reader.until_type("execution_complete")
    with closing(sqlite3.connect(tmp_path / "data" / "trunkline.db")) as records, records:
        (machine,) = records.execute("SELECT machine_id FROM sessions").fetchone()
        records.execute("DELETE FROM turns")
        records.execute(
            "UPDATE sessions SET state = ?, folded_id = 0, folded_note = 0",
            (SessionState(machine).encode(),),
        )
    async with running(tmp_path / "data", tuning=SMALL) as control:
        same = TestUser(control, user.id, user.token)
        snapshot = await same.ok("GET", f"/sessions/{session}/snapshot")
        found = [(one["state"], one["message"], one["answer"]) for one in snapshot["turns"]]
        assert found == [("completed", "go", "done")]


async def test_what_a_device_said_before_a_restart_is_part_of_its_answer(tmp_path: Path) -> None:
    async with running(tmp_path / "data", tuning=SMALL) as control:
        user = await control.user()
        made = await register(user)
        async with device_of(user, made) as device:
            session = await user.session()
            async with user.reader(session) as reader:
                await user.say(session, "work")
                prompt = await device.prompt("work")
                await device.text(prompt, *PIECES)
                await reader.until_text(PIECES[-1])
    async with running(tmp_path / "data", tuning=SMALL) as control:
        same = TestUser(control, user.id, user.token)
        async with device_of(same, made) as back, same.reader(session) as reader:
            await reader.until_resync()
            await back.respond(prompt)
            done = await reader.until_type("execution_complete")
            assert done["content"] == "".join(PIECES)


async def test_what_an_agent_said_before_a_restart_is_part_of_its_answer(tmp_path: Path) -> None:
    async with running(tmp_path / "data", tuning=SMALL) as control, turn_at(control) as turn:
        user, agent, session = turn
        async with user.reader(session) as reader:
            for piece in PIECES:
                await agent.text(session, piece)
            await reader.until_text(PIECES[-1])
    async with (
        running(tmp_path / "data", tuning=SMALL) as control,
        turn.agent_at(control) as back,
        user.reader(session) as reader,
    ):
        await reader.until_resync()
        await back.result(session)
        done = await reader.until_type("execution_complete")
        assert done["content"] == "".join(PIECES)
