"""What pages keep of sessions: merged, bounded, in order."""

import asyncio

import pytest

from tests.support.clock import FakeClock
from tests.unit.control.sessions.recorded import Records
from trunkline.control.errors import TooLarge
from trunkline.control.sessions.shown import Shown
from trunkline.control.watchers import Watchers


async def test_changes_are_merged_and_none_is_lost(records: Records, clock: FakeClock) -> None:
    shown, session = Shown(records.store, clock, Watchers()), records.session
    assert await shown.of([session, "nothing"]) == {}
    await asyncio.gather(
        shown.change(session, pinned=True),
        shown.change(session, hidden=True),
        shown.change(session, files=["a"]),
    )
    kept = {"pinned": True, "hidden": True, "files": ["a"], "changed_at": clock()}
    assert await shown.of([session]) == {session: kept}
    clock.advance(1)
    assert await shown.change(session, pinned=False) == {
        **kept,
        "pinned": False,
        "changed_at": clock(),
    }


async def test_an_order_is_kept(records: Records, clock: FakeClock) -> None:
    shown, session = Shown(records.store, clock, Watchers()), records.session
    await shown.order(["not there", session])
    assert (await shown.of([session]))[session]["sort_rank"] == 1


async def test_no_page_keeps_more_than_there_is_room_for(
    records: Records, clock: FakeClock
) -> None:
    shown, session = Shown(records.store, clock, Watchers()), records.session
    await shown.change(session, pinned=True)
    with pytest.raises(TooLarge):
        await shown.change(session, files=["x" * 70_000])
    assert "files" not in (await shown.of([session]))[session]
