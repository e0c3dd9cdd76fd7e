"""A system that was restored: what happened after the backup is gone here and known elsewhere, and
nobody takes one for the other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.account import AccountReader
from tests.support.control import LocalControl, TestUser, running
from tests.support.myagent import client_of
from tests.support.sse import SseReader
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import heard, web_of
from tests.unit.control.backup.conftest import Silent
from trunkline.control.backup import making, restoring
from trunkline.control.backup.restored import RESTORE_GAP
from trunkline.control.ids import new_id
from trunkline.control.settings import Settings

Json = dict[str, Any]


class After(NamedTuple):
    """What is known of the time after the backup, and the restored system."""

    control: LocalControl
    user: TestUser
    vm: ScriptedVm
    session: str
    made_since: str
    """A session from after the backup."""
    open_turn: str
    """A turn that was open in the backup, and ended since."""
    saved_id: int
    """The last event in the backup."""
    last_id: int
    """The last event that anybody has seen."""
    connection: str
    """That a MyAgent client had."""


async def _save(control: LocalControl, data: Path, file: Path) -> None:
    settings = Settings(data=str(data))
    await asyncio.to_thread(making.make, settings, file, now_ms=1, progress=Silent())


@asynccontextmanager
async def _restored(tmp_path: Path) -> AsyncIterator[After]:
    data, file = tmp_path / "data", tmp_path / "saved.tar"
    async with running(data) as control:
        user = await control.user()
        vm = await user.vm("seq")
        session = await user.session()
        await vm.expect("start_session")
        for seq in (1, 2, 3):
            await vm.event(session, seq, type="text_chunk", content=f"{seq} ")
        open_turn = await user.say(session, "of before")
        await vm.expect("user_message", heard("of before"))
        async with client_of(user) as client, user.reader(session) as reader:
            await client.reconnect(session)
            await reader.until_count(4)
            await _save(control, data, file)
            saved_id = reader.last_id
            await vm.event(session, 4, type="execution_complete", turn_id=open_turn, content="")
            for seq in (5, 6, 7, 8):
                await vm.event(session, seq, type="text_chunk", content="gone ")
            await reader.until_count(saved_id + 5)
            connection, last_id = client.connection_id, reader.last_id
        made_since = await user.session()
        await vm.expect("start_session", lambda one: one["data"]["session_id"] == made_since)
        await vm.leave()
    settings = Settings(data=str(data))
    await asyncio.to_thread(
        restoring.restore, settings, file, now_ms=2, progress=Silent(), replace=True
    )
    async with running(data) as control:
        user.control = control
        back = await user.again(vm).connect()
        try:
            yield After(
                *(control, user, back, session, made_since, open_turn),
                *(saved_id, last_id, connection),
            )
        finally:
            await back.leave()


async def _comes_back(after: After, *turns: str) -> Json:
    """The machine is where it was: eight of its events were acknowledged. Returns `init`."""
    init = await after.vm.authenticate("seq")
    await after.vm.send({"type": "resume", "pending_ids": [], "turns": list(turns)})
    await after.vm.expect("resume_response")
    await after.vm.heartbeat(after.session, after.made_since)
    return init


async def test_no_reader_takes_new_events_for_those_that_are_gone(tmp_path: Path) -> None:
    async with _restored(tmp_path) as after:
        user, session, last_id = after.user, after.session, after.last_id
        first_id = after.saved_id + RESTORE_GAP + 1
        async with (
            user.reader(session, last_event_id=last_id) as late,
            user.reader(session, last_event_id=after.saved_id) as early,
            user.reader(session, last_event_id=1) as earlier,
            AccountReader(user, f"{session}:{last_id}") as account,
            client_of(user) as client,
            web_of(user) as web,
        ):
            await _comes_back(after)
            place = {"last_event_id": f"{after.connection}-99"}
            await client.reconnect(session, **place)
            await client.fault("RESYNC")
            asked = {"conversationId": session, "lastEventId": last_id}
            ready = await web.ask("resume_conversation", "session_ready", **asked)
            assert "history" in ready
            turn = await user.say(session, "of now")
            await after.vm.expect("user_message", heard("of now"))
            await after.vm.event(session, 4, type="text_chunk", content="new ")
            end = {"type": "execution_complete", "turn_id": turn, "content": "new "}
            await after.vm.event(session, 5, **end)
            for reader in (late, early, earlier, account):
                await _shown(reader, "new ")
            await web.until(lambda _new: web.text_of(session) == "new ")
            for reader in (late, account):
                assert [one for one in reader.events if one.name == "resync"]
                assert min(reader.ids) > first_id  # which ended a turn before they came
            for reader in (early, earlier):
                between = range(after.saved_id + 1, first_id)
                assert not [one for one in reader.ids if one in between]
            assert "gone " not in str([late.events, early.events, earlier.events, ready])
        for since, is_resync in ((1, False), (after.saved_id, False), (last_id, True)):
            page = await user.ok("GET", f"/sessions/{session}/events?after={since}")
            assert page["resync"] is is_resync
            assert "gone " not in str(page)


async def _shown(reader: SseReader, text: str) -> None:
    await reader.until(lambda _: text in reader.texts(), text)


async def test_machines_come_back_to_a_plain_state(tmp_path: Path) -> None:
    async with _restored(tmp_path) as after:
        user, session, vm = after.user, after.session, after.vm
        await user.until_turns(session, "failed")
        init = await _comes_back(after)
        assert init["data"]["acked"] == {session: 3}
        stop = await vm.expect("stop_session")
        assert stop["data"] == {"session_id": after.made_since, "reason": "timeout"}
        turn = await user.say(session, "of now")
        told = await vm.expect("user_message")
        assert told["data"]["message"] == "of now"  # and never what was said before
        # The end of a turn from after the backup, which was on its way: nobody's here.
        unknown = new_id()
        lost = {"type": "execution_complete", "turn_id": unknown, "content": "of then"}
        await vm.event(session, 9, **lost)
        await vm.event(session, 10, type="execution_complete", turn_id=turn, content="now")
        await user.until_turns(session, "failed", "completed")
        page = await user.ok("GET", f"/sessions/{session}/events?after={after.saved_id}")
        events = [one["event"] for one in page["items"]]
        ends = {one["turn_id"]: one for one in events if one["type"].startswith("execution_")}
        assert ends[after.open_turn]["code"] == "RESTORED"
        assert ends[turn]["content"] == "now"
        assert [one["lost_events"] for one in events if "lost_events" in one] == [5]
        # A session that is not known is not spoken of again.
        await vm.event(after.made_since, 1, type="text_chunk", content="of nobody")
        error = await vm.expect("error")
        assert error["error"]["code"] == "SESSION_NOT_FOUND"
        entries = await user.control.ok("GET", "/audit?event=system.restored")
        assert [one["details"]["made_at"] for one in entries["items"]] == [1]
