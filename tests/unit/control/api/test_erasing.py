"""A session that is removed for good: nothing of it is left anywhere, whenever the process dies,
and its machines are told, also when they come back late."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Collection, Coroutine
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Table, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tests.support import fresh_data
from tests.support.eventually import until
from tests.support.faults import Disk, Writes
from tests.unit.control.api.conftest import ADMIN_TOKEN, Api
from tests.unit.control.api.test_session_list import say
from tests.unit.control.api.test_sessions import new_session
from tests.unit.control.machines.stage import KeptLine
from tests.unit.control.people import People
from trunkline.control.access.keys import Keys
from trunkline.control.clock import now_ms
from trunkline.control.core import Core
from trunkline.control.ids import new_id
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import SegmentStore
from trunkline.control.machines.traits import KINDS
from trunkline.control.sessions.records import NewMessage, NewSession
from trunkline.control.settings import Settings
from trunkline.control.store import schema, service_schema
from trunkline.control.store.columns import records
from trunkline.control.store.engine import Store
from trunkline.control.tuning import Tuning
from trunkline.wire.commands import Stop

Json = dict[str, Any]

OURS = replace(KINDS["vm"], numbers=True)
STAYS = {"audit", "erased_copies"}
"""docs/guide/export.md#removed-for-good: who did what, without what was said; and which machines
are still to be told."""


def naming(file: Path, text: str, tables: Collection[str] | None = None) -> set[str]:
    """The tables of a database that have this text in any of their columns."""
    with closing(sqlite3.connect(file)) as connection:
        if tables is None:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = [name for (name,) in names]
        return {
            table
            for table in tables
            for row in connection.execute(f"SELECT * FROM {table}")
            if any(text in _text(value) for value in row)
        }


def in_records(store: Store, text: str) -> set[str]:
    return naming(Path(store.engine.url.database or ""), text, list(records.tables))


def in_log(folder: Path, text: str) -> set[str]:
    return naming(folder / "log.db", text)


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


async def fill(core: Core, who: Any, session_id: str) -> None:
    """Something of the session in every table that can have it."""
    owner = {"org_id": who.org_id, "user_id": who.user_id}
    named = {"id": new_id(), "session_id": session_id, "created_at": 1}
    asked = {"request_id": "q", "state": "denied", "request": {"message": "a secret"}}
    used = {"model": "m", "tokens_in": 3, "tokens_out": 4, "details": {"said": "a secret"}}
    learned = {"name": "n", "description": "d", "skill_md": "a secret", "quality_score": 1.0}
    rows: list[tuple[Table, Json]] = [
        (schema.approvals, {**named, "user_id": who.user_id, **asked}),
        (service_schema.usage, {**named, **owner, **used}),
        (service_schema.evolutions, {**named, **owner, **learned, "state": "pending"}),
        (service_schema.snapshots, {**named, "data": {"said": "a secret"}, "bytes": 20}),
        (service_schema.rules, {**named, **owner, **_RULE, "created_by": who.user_id}),
        (schema.session_retention, {"session_id": session_id, "days": 9}),
        (service_schema.reports, {"session_id": session_id, "report_id": "r", "created_at": 1}),
        (schema.myagent_runs, {"session_id": session_id, "user_id": who.user_id, **_RUNS}),
    ]
    person = {"id": new_id(), "user_id": who.user_id, "name": new_id(), "prompt": ""}
    other = await core.sessions.create(who, NewSession(title="another"))
    for seat in ((session_id, new_id()), (other.id, session_id)):
        pair = dict(zip(("session_id", "member_session_id"), seat, strict=True))
        rows.append((schema.group_seats, {**pair, "person_id": person["id"], "created_at": 1}))
    async with core.store.write() as connection:
        await connection.execute(insert(schema.persons).values({**person, "created_at": 1}))
        for table, row in rows:
            await connection.execute(insert(table).values(row))


_RULE = {"effect": "allow", "rule": "bash"}
_RUNS = {"connection_id": "c", "seq": 1, "event_id": 1, "skipped": 0, "runs": [], "updated_at": 1}


async def test_nothing_of_a_session_that_is_removed_for_good_is_left(
    api: Api, tmp_path: Path
) -> None:
    session_id = await new_session(api)
    ann, path = api.people.ann, f"/sessions/{session_id}"
    await say(api, session_id, "a secret")
    await fill(api.core, ann, session_id)
    by_column = {
        table.name
        for table in records.sorted_tables
        if any("session_id" in one.name for one in table.c)
    }
    assert by_column | {"sessions"} == in_records(api.core.store, session_id) | STAYS
    assert in_log(tmp_path / "data", session_id)
    assert (await api.call(api.people.bob, "DELETE", f"{path}?erase=true"))[0] == 404
    assert (await api.call(ann, "DELETE", f"{path}?erase=true"))[0] == 204
    assert in_records(api.core.store, session_id) == STAYS
    assert in_records(api.core.store, "a secret") == set()
    await api.core.segments.fold(all=True)  # what a commit's own row has goes with that
    assert in_log(tmp_path / "data", session_id) == set()
    assert (await api.call(ann, "GET", path))[0] == 404
    assert (await api.call(ann, "DELETE", f"{path}?erase=true"))[0] == 404
    _, usage = await api.call(ann, "GET", "/usage")
    assert usage["items"][0]["tokens_in"] == 3
    _, log = await api.call(api.people.orla, "GET", "/audit?event=session.erased")
    (entry,) = log["items"]
    assert (entry["session_id"], entry["details"]) == (session_id, {"owner": ann.user_id})


async def test_one_that_is_removed_twice_at_once_is_removed_once(api: Api) -> None:
    path = f"/sessions/{await new_session(api)}?erase=true"
    ann = api.people.ann
    answers = await asyncio.gather(*(api.call(ann, "DELETE", path) for _ in range(3)))
    assert sorted(status for status, _ in answers) == [204, 404, 404]
    _, log = await api.call(api.people.orla, "GET", "/audit?event=session.erased")
    assert len(log["items"]) == 1


QUICK = Tuning(retry_s=0.01)


class Killed(Exception):
    """The process that would have gone on is not there any more."""


class Dying(Store):
    """Records of a process that is killed before one of its changes."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.engine)
        self.left: int | None = None
        """Changes before it is killed; None: nobody kills it."""
        self.death = asyncio.Event()

    def step(self) -> None:
        if self.left is not None:
            if self.left <= 0:
                self.death.set()
                raise Killed
            self.left -= 1

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        self.step()
        async with super().write() as connection:
            yield connection


class DyingLog(Disk):
    """The log of the same process."""

    def __init__(self, store: SegmentStore, records: Dying) -> None:
        super().__init__(store, Writes())
        self._records = records

    async def delete(self, session_id: str) -> None:
        self._records.step()
        await super().delete(session_id)


async def is_killed_in(work: Coroutine[Any, Any, None], store: Dying) -> bool:
    """Whichever task of the process makes the change that it is killed before: all end with it."""
    working, dying = asyncio.create_task(work), asyncio.create_task(store.death.wait())
    await asyncio.wait((working, dying), return_when=asyncio.FIRST_COMPLETED)
    is_killed = store.death.is_set()
    if not is_killed:
        await working
    for task in (working, dying):
        task.cancel()
    await asyncio.gather(working, dying, return_exceptions=True)
    return is_killed


async def test_what_a_killed_process_left_of_a_removal_goes_at_the_next_start(
    sqlite_store: Store, keys: Keys, tmp_path: Path
) -> None:
    """Killed before each of its changes in turn, of a session and of a group's with a member."""
    people = await People.settle(sqlite_store, now_ms)
    ann, store = people.ann, Dying(sqlite_store)
    fresh_data.copy_to(tmp_path / "data")
    log = DyingLog(await SqliteSegments.open(tmp_path / "data" / "log.db"), store)
    settings = Settings(data=str(tmp_path))

    def start() -> Core:
        return Core(settings, store, log, keys, ADMIN_TOKEN, tuning=QUICK)

    core = start()
    scheduled = await core.vms.schedule(ann, ann.user_id, base_url="http://here")
    for step in count():
        group = await core.sessions.create(ann, NewSession(machine_id=scheduled.vm_id))
        config = {"group": {"session_id": group.id}}
        new = NewSession(machine_id=scheduled.vm_id, session_config=config)
        member = await core.sessions.create(ann, new)
        for one in (group, member):
            await core.sessions.send(ann, one.id, NewMessage(message="a secret"))
        await core.projection.settled()
        store.left = step
        is_killed = await is_killed_in(core.erasing.erase(ann, group.id), store)
        store.left = 0 if is_killed else None
        await core.tasks.cancel()
        store.left = None
        store.death.clear()
        core = start()
        await core.recover()
        await log.fold(all=True)
        has_begun = step > 0
        for one in (group, member):
            left = in_records(store, one.id)
            assert (left <= STAYS) is has_begun, (step, left)
            assert (in_log(tmp_path / "data", one.id) == set()) is has_begun, step
        if not is_killed:
            break
    assert step > 8
    assert await store.all(select(schema.erasures)) == []
    await core.services.close()
    await log.close()


async def test_a_machine_is_told_to_remove_what_it_has_whenever_it_comes(api: Api) -> None:
    ann, core = api.people.ann, api.core
    session_id, other_id = await new_session(api), await api.schedule(ann)
    path = f"/sessions/{session_id}"
    machine = await core.machines.of(await core.sessions.get(ann, session_id))
    there, here = KeptLine(OURS), KeptLine(OURS)
    core.machines.attach(machine, there, fresh=True)
    # Moved, it keeps its files: they go now.
    other = await core.machines.get(other_id)
    core.machines.attach(other, here, fresh=True)
    await core.sessions.move(ann, session_id, other_id)
    core.machines.detach(other, here)
    there.told.clear()
    assert (await api.call(ann, "DELETE", f"{path}?erase=true"))[0] == 204
    assert there.told == [Stop(session_id, "user_closed")]
    # The one that was away is told when it is back, as often as it comes.
    for _ in range(2):
        back = KeptLine(OURS)
        core.machines.attach(other, back, fresh=False)
        await core.tasks.done()
        assert back.told == [Stop(session_id, "user_closed")]
        core.machines.changed(other)
        await core.tasks.done()
        assert back.told == [Stop(session_id, "user_closed")]
        core.machines.detach(other, back)
    # One of others' making is told of what it says that it runs.
    foreign = KeptLine(KINDS["vm"])
    core.machines.attach(other, foreign, fresh=False)
    await core.tasks.done()
    assert foreign.told == []
    core.machines.heartbeat(other, [session_id], None)
    await until(lambda: foreign.told)
    assert foreign.told == [Stop(session_id, "user_closed")]
