"""The whole control plane on PostgreSQL: the same code, the same promises."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.support.clock import FakeClock
from tests.support.control import running
from tests.support.eventually import eventually
from tests.support.told import said
from tests.unit.control.postgres import NoPostgres, Postgres
from trunkline.control.backup import restoring
from trunkline.control.backup.restored import RESTORE_GAP
from trunkline.control.settings import Settings


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    try:
        server = Postgres()
    except NoPostgres as reason:
        pytest.skip(f"no PostgreSQL: {reason}")
    yield server
    server.stop()


async def test_a_session_lives_through_a_restart_on_postgresql(
    tmp_path: Path, postgres: Postgres
) -> None:
    url = await postgres.new_database()
    async with running(tmp_path / "data", database_url=url) as control:
        user = await control.user()
        vm = await user.vm("seq")
        session = await user.session()
        turn = await user.say(session, "你好\x01")
        async with user.reader(session) as reader:
            await vm.expect("user_message")
            for seq in range(1, 41):
                await vm.event(session, seq=seq, type="text_chunk", content=f"t{seq}")
            await vm.event(session, seq=41, type="execution_complete", content="fin", turn_id=turn)
            await reader.until_type("execution_complete")
            await vm.expect("ack", lambda message: message["acked"] == {session: 41})
        memory = {"content": "The user likes green tea", "metadata": {}}
        await user.ok("POST", "/memories", memory)
        found = await user.ok("GET", "/memories/search?q=tea&top_k=3")
        assert found["results"][0]["content"] == memory["content"]
        assert (await control.ok("GET", "/audit/verify"))["ok"] is True
        await vm.leave()
    async with running(tmp_path / "data", database_url=url) as control:
        user.control = control
        async with user.reader(session, last_event_id=3) as reader:
            await reader.until_type("execution_complete")
            assert reader.ids == list(range(4, reader.last_id + 1))
        again = user.again(vm)
        await again.connect()
        init = await again.authenticate("seq")
        assert init["data"]["acked"] == {session: 41}
        await again.leave()
    settings = Settings(data=str(tmp_path / "data"), database_url=url)
    # As after a restore of the database by its own tools: a position from then is in the gap.
    await asyncio.to_thread(restoring.skip_ids, settings, now_ms=1)
    async with running(tmp_path / "data", database_url=url) as control:
        user.control = control
        shown = await user.ok("GET", f"/sessions/{session}")
        assert shown["last_event_id"] == reader.last_id + RESTORE_GAP
        page = await user.ok("GET", f"/sessions/{session}/events?after={reader.last_id + 9}")
        assert (page["resync"], page["items"]) == (True, [])
    assert not (tmp_path / "data" / "log.db").exists()


async def test_what_is_too_old_goes_and_a_session_is_deleted_for_good_on_postgresql(
    tmp_path: Path, postgres: Postgres
) -> None:
    clock = FakeClock()
    url = await postgres.new_database()
    async with running(tmp_path / "data", clock, database_url=url) as control:
        user = await control.user()
        async with await user.vm() as vm:
            session = await user.session()
            for word in ("old", "new"):
                await user.say(session, word)
                await said(vm, word)
                large = Random(16).randbytes(60_000).hex()  # has a row of its own
                await vm.event(session, type="execution_complete", content=f"{word} {large}")
                await eventually(
                    lambda: user.ok("GET", f"/sessions/{session}/snapshot"),
                    lambda found: all(one["state"] == "completed" for one in found["turns"]),
                )
                await control.core.log.flushed()
                await control.core.segments.fold(all=True)
                clock.advance(20 * 24 * 3600)
            await user.ok("PUT", f"/sessions/{session}/retention", {"days": 30})
            await control.core.sweeper.sweep()
            page = await user.ok("GET", f"/sessions/{session}/events?after=1")
            assert page["resync"] is True
            page = await user.ok("GET", f"/sessions/{session}/events")
            assert page["first_id"] > 1
            shown = [str(one["event"].get("content"))[:3] for one in page["items"]]
            assert (shown[-1], "old" in shown) == ("new", False)
            turns = (await user.ok("GET", f"/sessions/{session}/snapshot"))["turns"]
            assert [one["message"] for one in turns] == ["new"]
            await user.ok("DELETE", f"/sessions/{session}?erase=true")
            await vm.expect("stop_session")
        await eventually(lambda: control.core.segments.sizes([session]), lambda left: left == {})
