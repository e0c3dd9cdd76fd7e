"""The whole control plane on PostgreSQL: the same code, the same promises."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.control import running
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
