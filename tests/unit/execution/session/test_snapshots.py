"""Sessions' states on their way to the control plane, and back on another machine."""

import asyncio
import hashlib
import os
import threading
from pathlib import Path

import pytest

from tests.support.eventually import WAIT_S, until
from tests.support.recording_line import Json, RecordingLine
from tests.unit.execution.session.conftest import MakeManager
from tests.unit.execution.session.test_manager import start
from trunkline import limits
from trunkline.execution.home import Home
from trunkline.execution.memory.local_memory import LocalShortTermMemory
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.snapshots import Snapshots

pytestmark = pytest.mark.asyncio(loop_scope="module")


def taken(line: RecordingLine) -> list[Json]:
    return [params for _, method, params in line.reports if method == "snapshot_sync"]


async def until_taken(line: RecordingLine, count: int) -> list[Json]:
    return await until(lambda: taken(line), lambda found: len(found) >= count)


class Clockwork:
    """A sleep that lasts until the test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._tick = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._tick.wait()
        self._tick.clear()

    async def tick(self) -> None:
        """One round, from a sleep to the next."""
        before = len(self.asked)
        self._tick.set()
        await until(lambda: len(self.asked), lambda number: number > before)


@pytest.mark.proves("004-4.3-snapshot-fields")
async def test_a_snapshot_is_taken_at_the_end_of_a_turn(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    line.say("s-1", "remember the milk")
    await line.end_of("s-1")
    [snapshot] = await until_taken(line, 1)
    assert snapshot["short_term_memory"]["scratchpad"] == "the milk"
    assert set(snapshot) == {"checkpoint", "short_term_memory"}


@pytest.mark.proves("004-5-empty-snapshot-skipped")
async def test_a_session_without_a_state_sends_none(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    line.say("s-1", "hello")
    await line.end_of("s-1")
    await manager.stop_session({"session_id": "s-1", "reason": "timeout"})
    assert taken(line) == []


@pytest.mark.proves("004-5-snapshot-every-60-s")
async def test_every_minute_those_that_changed_are_saved_and_the_same_state_once(
    manager: SessionManager, line: RecordingLine, home: Home
) -> None:
    clock = Clockwork()
    await manager.start_session(start("s-1"))
    saving = asyncio.create_task(Snapshots(line, clock.sleep).run(manager.active_sessions.values))
    assert await until(lambda: clock.asked) == [limits.SNAPSHOT_INTERVAL_S]
    memory = LocalShortTermMemory(home.session("s-1"))
    await memory.write_scratchpad("one")
    await clock.tick()
    assert taken(line) == []  # nothing happened in the session
    line.say("s-1", "wait")
    await line.until("s-1", "thinking")
    await clock.tick()
    assert [one["short_term_memory"]["scratchpad"] for one in taken(line)] == ["one"]
    line.say("s-1", "wait", "t-2")
    await line.until("s-1", "thinking", 2)
    await clock.tick()
    assert len(taken(line)) == 1  # it did, and left no trace
    await memory.write_scratchpad("two")
    line.say("s-1", "wait", "t-3")
    await line.until("s-1", "thinking", 3)
    await clock.tick()
    assert [one["short_term_memory"]["scratchpad"] for one in taken(line)] == ["one", "two"]
    saving.cancel()


@pytest.mark.proves("004-10-snapshots")
async def test_without_a_line_a_snapshot_is_skipped_and_the_next_catches_up(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session(start("s-1"))
    line.online = False
    line.say("s-1", "remember the milk")
    await line.end_of("s-1")
    session = manager.active_sessions["s-1"]
    await manager.snapshots.take(session)
    assert taken(line) == []
    assert session.is_changed
    line.online = True
    await manager.snapshots.take(session)
    assert len(taken(line)) == 1


@pytest.mark.proves("004-4.3-stop-sends-a-snapshot")
async def test_a_session_is_saved_when_it_stops(
    manager: SessionManager, line: RecordingLine, home: Home
) -> None:
    await manager.start_session(start("s-1"))
    await LocalShortTermMemory(home.session("s-1")).write_scratchpad("last")
    await manager.stop_session({"session_id": "s-1", "reason": "timeout"})
    assert taken(line)[0]["short_term_memory"]["scratchpad"] == "last"


@pytest.mark.proves("004-3.3-restored-from-a-snapshot")
async def test_a_session_that_comes_from_elsewhere_starts_with_its_snapshot(
    make_manager: MakeManager, line: RecordingLine, home: Home
) -> None:
    memory = {"conversation": "", "context": {"key": "value"}, "scratchpad": "from afar"}
    snapshot = {"checkpoint": None, "short_term_memory": memory}
    manager = make_manager()
    await manager.start_session(start("s-1", snapshot=snapshot))
    here = LocalShortTermMemory(home.session("s-1"))
    assert await here.read_scratchpad() == "from afar"
    assert await here.get_context("key") == "value"


async def test_a_snapshot_never_replaces_what_is_here(manager: SessionManager, home: Home) -> None:
    here = LocalShortTermMemory(home.session("s-1"))
    await here.save_message("user", "hello")
    await here.write_scratchpad("mine")
    memory = {"conversation": "", "context": {}, "scratchpad": "older"}
    await manager.start_session(start("s-1", snapshot={"short_term_memory": memory}))
    assert await here.read_scratchpad() == "mine"


async def test_a_damaged_snapshot_does_not_stop_a_session(
    manager: SessionManager, line: RecordingLine
) -> None:
    for number, snapshot in enumerate(
        ({"checkpoint": {"no": "sense"}}, {"short_term_memory": {"context": 7}}, {"checkpoint": 1})
    ):
        name = f"s-{number}"
        await manager.start_session(start(name, snapshot=snapshot))
        line.say(name, "hello")
        assert (await line.end_of(name))["content"] == "hello"


async def test_a_state_that_takes_long_to_read_stops_nobody_else(
    manager: SessionManager, line: RecordingLine, home: Home
) -> None:
    await manager.start_session(start("s-1"))
    file = LocalShortTermMemory(home.session("s-1")).folder / "scratchpad.md"
    os.mkfifo(file)  # reading it lasts until somebody writes
    went_on = threading.Event()
    seen: list[bool] = []

    def write() -> None:
        seen.append(went_on.wait(timeout=WAIT_S))
        file.write_text("at last")

    writing = asyncio.create_task(asyncio.to_thread(write))
    taking = asyncio.create_task(manager.snapshots.take(manager.active_sessions["s-1"]))
    line.say("s-1", "wait")  # no end of a turn, which would be read again
    await line.until("s-1", "thinking")
    went_on.set()
    await asyncio.gather(writing, taking)
    file.unlink()
    assert seen == [True]
    assert taken(line)[0]["short_term_memory"]["scratchpad"] == "at last"


async def test_a_session_that_was_closed_leaves_no_folder_for_a_late_snapshot(
    manager: SessionManager, line: RecordingLine, home: Home
) -> None:
    await manager.start_session(start("s-1"))
    line.say("s-1", "wait")
    await line.until("s-1", "thinking")
    await manager.stop_session({"session_id": "s-1", "reason": "user_closed"})  # ends its turn
    await manager.snapshots.close()
    assert not home.session("s-1").exists()


async def test_a_copy_of_a_session_follows_no_link_out_of_its_folder(
    manager: SessionManager, tmp_path: Path
) -> None:
    """A fenced session may make links to what only the daemon can read."""
    await manager.start_session(start("s-1"))
    session, source = manager.active_sessions["s-1"], tmp_path / "source"
    (source / "pictures").mkdir(parents=True)
    kept, link = (hashlib.sha256(one).hexdigest() for one in (b"a picture", b"of somebody else"))
    (source / "pictures" / kept).write_bytes(b"a picture")
    (tmp_path / "secret").write_text("of somebody else")
    (source / "pictures" / link).symlink_to(tmp_path / "secret")
    (source / "attachments").mkdir()
    (source / "attachments" / "notes.txt").write_text("attached")
    (source / "attachments" / "link.txt").symlink_to(tmp_path / "secret")
    await session.adapter.fork(source)
    [attached] = (session.folder / "attachments").iterdir()
    assert (attached.name, attached.read_text()) == ("notes.txt", "attached")
    [copied] = (session.folder / "pictures").iterdir()
    assert (copied.name, copied.read_bytes()) == (kept, b"a picture")
