"""A copy of a session, of which the control plane is killed at any moment: a whole one, or none."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import ControlProcess, TestUser
from tests.support.eventually import eventually, until
from tests.support.vm import ScriptedVm
from trunkline.control.log.packing import JournalRow, unpack_row

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]
PIECES = 6_000


class Place:
    def __init__(self, control: ControlProcess, data: Path, user: TestUser, source: str) -> None:
        self.control, self.data, self.user, self.source = control, data, user, source

    async def fork(self, client_id: str) -> tuple[int, Any]:
        path = f"/sessions/{self.source}/fork"
        return await self.user.call("POST", path, {"client_id": client_id})

    async def sessions(self) -> dict[str, int]:
        """Those that somebody can see, with the size of their logs."""
        found = (await self.user.ok("GET", "/sessions"))["items"]
        return {one["id"]: one["last_event_id"] for one in found}

    def logs(self) -> set[str]:
        """Sessions that have events in the store, folded or not."""
        with closing(sqlite3.connect(f"file:{self.data}/log.db?mode=ro", uri=True)) as database:
            database.execute("BEGIN")  # one moment: what is folded meanwhile changes its place
            found = {row[0] for row in database.execute("SELECT session_id FROM segments")}
            rows = database.execute("SELECT seq, at, body FROM journal ORDER BY seq").fetchall()
        for one in (entry for row in rows for entry in unpack_row(JournalRow(*row))[0]):
            if one.first_id == 0:
                found.discard(one.session_id)  # it was deleted
            elif one.body is not None:
                found.add(one.session_id)
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    data = tmp_path_factory.mktemp("forks") / "data"
    async with ControlProcess(data, machine_away_s=3600) as control:
        user = await control.user()
        vm = await user.vm("seq", "batch")
        source = await user.session()
        turn_id = await user.say(source, "count")
        await vm.expect("user_message")
        await _speak(vm, source, turn_id)
        await eventually(lambda: user.turn_states(source), lambda states: states == ["completed"])
        yield Place(control, data, user, source)
        await vm.finish()


async def _speak(vm: ScriptedVm, source: str, turn_id: str) -> None:
    pieces = [
        f'{{"type":"text_chunk","content":"{one} ","turn_id":"{turn_id}"}}' for one in range(PIECES)
    ]
    end = f'{{"type":"execution_complete","content":"done","turn_id":"{turn_id}"}}'
    events = [
        {"session_id": source, "data": data, "seq": number}
        for number, data in enumerate([*pieces, end], 1)
    ]
    await vm.send({"type": "batch", "events": events})


@pytest.mark.parametrize("moment", ["at once", "in the middle", "answered"])
async def test_a_kill_leaves_a_whole_copy_or_none_and_the_same_request_makes_one(
    place: Place, moment: str
) -> None:
    client_id, before = f"kill {moment}", await place.sessions()
    asking = asyncio.create_task(place.fork(client_id))
    if moment == "in the middle":
        await until(lambda: place.logs() - set(before))
    elif moment == "answered":
        await asking
    await place.control.kill()
    await asyncio.gather(asking, return_exceptions=True)
    await place.control.start()
    after = await place.sessions()
    new = set(after) - set(before)
    assert len(new) <= 1
    assert moment != "answered" or new
    assert {one: size for one, size in after.items() if one in before} == before
    assert place.logs() == set(after)  # nothing is left that nobody sees
    status, fork = await place.fork(client_id)
    assert status == 201
    assert new in (set(), {fork["id"]})
    # The whole history, and the line that says where it is from.
    assert (await place.sessions())[fork["id"]] == PIECES + 3
    assert len(await place.sessions()) == len(before) + 1
