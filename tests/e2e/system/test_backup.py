"""Backups of a system at work: each is that system as it was at one moment."""

import asyncio
import operator
from contextlib import AsyncExitStack
from functools import partial
from itertools import count
from pathlib import Path

from sqlalchemy import func, select

from tests.support.control import LocalControl, TestUser, running
from tests.support.eventually import eventually
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import heard
from tests.unit.control.backup.conftest import Silent
from trunkline.control.backup import making, restoring
from trunkline.control.settings import Settings
from trunkline.control.store.schema import turns

_WORDS = 5
_WORKERS = 3
_BACKUPS = 4


async def _work(user: TestUser, vm: ScriptedVm, name: str) -> None:
    """Makes sessions, and has turns in them, for ever."""
    for number in count():
        session = await user.session()
        for message in (f"{name} {number} first", f"{name} {number} second"):
            turn = await user.say(session, message)
            await vm.expect("user_message", heard(message))
            await vm.text(session, *(f"{word} " for word in range(_WORDS)))
            await vm.event(session, type="execution_complete", turn_id=turn, content="done")


async def _completed(control: LocalControl) -> int:
    """The turns that have ended by now."""
    ended = select(func.count()).where(turns.c.state == "completed")
    return int(await control.core.store.scalar(ended))


async def _check(control: LocalControl, user: TestUser) -> int:
    """That records and log fit each other; returns how many turns were complete in the backup."""
    user.control = control
    sessions = await control.core.session_records.ids_of()
    assert set(await control.core.segments.sizes()) == set(sessions)
    complete = 0
    for session in sessions:
        page = await user.ok("GET", f"/sessions/{session}/events?after=0&limit=1000")
        events = {one["id"]: one["event"] for one in page["items"]}
        said = {e["turn_id"]: at for at, e in events.items() if e["type"] == "user_message"}
        rows = await control.core.store.all(select(turns).where(turns.c.session_id == session))
        assert {row.id: row.said_id for row in rows} == said
        for row in rows:
            end = events[row.ended_id]
            assert end["turn_id"] == row.id
            if row.state != "completed":
                assert end["code"] == "RESTORED"
                continue
            complete += 1
            own = [events[one] for one in sorted(events) if row.said_id < one < row.ended_id]
            words = [one["content"] for one in own if one["type"] == "text_chunk"]
            assert words == [f"{word} " for word in range(_WORDS)]
    return complete


async def test_a_backup_under_load_is_the_system_of_one_moment(tmp_path: Path) -> None:
    data, least = tmp_path / "data", [0]
    async with running(data, rate_limit_per_minute=0) as control:
        user = await control.user()
        async with await user.vm() as vm, AsyncExitStack() as stack:
            for number in range(_WORKERS):
                work = asyncio.create_task(_work(user, vm, f"worker {number}"))
                stack.callback(work.cancel)
            for number in range(_BACKUPS):
                wanted = partial(operator.le, least[-1] + _WORKERS)
                least.append(await eventually(partial(_completed, control), wanted))
                file = tmp_path / f"{number}.tar"
                settings = Settings(data=str(data))
                await asyncio.to_thread(making.make, settings, file, now_ms=1, progress=Silent())
    for number, ended in enumerate(least[1:]):
        settings = Settings(data=str(tmp_path / f"restored-{number}"))
        file = tmp_path / f"{number}.tar"
        await asyncio.to_thread(restoring.restore, settings, file, now_ms=2, progress=Silent())
        async with running(settings.data_dir) as control:
            assert await _check(control, user) >= ended
