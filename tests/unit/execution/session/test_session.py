"""A session between two processes: what the first one had is lost, what waits is not."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.eventually import until
from tests.support.recording_line import RecordingLine
from trunkline.execution.json_object import Json
from trunkline.execution.process.child import Failure
from trunkline.execution.session import ipc
from trunkline.execution.session.runtime_adapter import RuntimeAdapter
from trunkline.execution.session.session import SESSION_INBOX_MAX, Session

CRASH = Failure(code="SESSION_CRASHED", message="gone")


class SlowEnd(RuntimeAdapter):
    """A runtime whose end takes as long as the test wants."""

    def __init__(self, on_ended: Callable[[Failure], None]) -> None:
        self._on_ended = on_ended
        self._alive = False
        self._gone = asyncio.Event()
        self.is_stopping = False
        self.faults: list[Exception] = []
        """What the next calls fail with."""
        self.is_short_lived = False
        """Ends before it gets a message."""
        self.messages: list[str] = []

    @property
    def alive(self) -> bool:
        return self._alive

    async def start(self, config: ipc.Start) -> ipc.Ready:
        self._alive = True
        self._fail()
        if self.is_short_lived:
            self.end()
        return ipc.Ready()

    def _fail(self) -> None:
        if self.faults:
            raise self.faults.pop()

    async def send_message(self, data: ipc.UserMessageData) -> None:
        self._fail()
        self.messages.append(data.message)

    async def cancel(self, reason: str) -> None:
        self.messages.append(f"cancel {reason}")

    def send(self, message: ipc.Down) -> None:
        raise NotImplementedError

    async def stop(self, reason: str) -> None:
        if self._alive or self.messages:
            self.is_stopping = True
            await self._gone.wait()

    async def get_snapshot(self) -> Json:
        return {}

    async def restore(self, snapshot: Json) -> None:
        raise NotImplementedError

    def lose_socket(self) -> None:
        self._alive = False

    def end(self) -> None:
        self._alive = False
        self._on_ended(CRASH)
        self._gone.set()


async def opened(
    folder: Path,
    line: RecordingLine,
    prepare: Callable[[SlowEnd, int], None] = lambda _runtime, _number: None,
) -> tuple[Session, list[SlowEnd]]:
    """`prepare` gets each runtime that is made. The first is never started."""
    made: list[SlowEnd] = []

    def make(
        _folder: Path, _on_message: Callable[[ipc.Up], None], on_ended: Callable[[Failure], None]
    ) -> RuntimeAdapter:
        made.append(SlowEnd(on_ended))
        prepare(made[-1], len(made))
        return made[-1]

    start = ipc.Start(session_id="s-1", home=str(folder), runtime_type="slow")
    session = Session(start, folder, make, line, {}, clock=time.time)
    line.register_session("s-1", session.handlers())
    await session.start()
    return session, made


async def closed(session: Session, runtime: SlowEnd) -> None:
    runtime.end()
    await session.stop("test", why=CRASH)


async def test_a_message_that_comes_while_a_process_ends_waits_for_the_next_one(
    tmp_path: Path,
) -> None:
    line = RecordingLine()
    session, made = await opened(tmp_path, line)
    first = made[-1]
    line.say("s-1", "one", "t-1")
    assert await until(lambda: first.messages) == ["one"]
    first.lose_socket()
    line.say("s-1", "two", "t-2")
    await until(lambda: first.is_stopping)
    first.end()
    assert await until(lambda: made[-1].messages, lambda found: found == ["two"])
    assert made[-1] is not first
    ended = [event["turn_id"] for event in line.events("s-1", "execution_error")]
    assert ended == ["t-1"]
    await closed(session, made[-1])


async def test_more_messages_than_can_wait_are_answered_with_an_error(tmp_path: Path) -> None:
    line = RecordingLine()
    session, made = await opened(tmp_path, line)
    first = made[-1]
    line.say("s-1", "one", "t-one")
    await until(lambda: first.messages)
    first.lose_socket()
    line.say("s-1", "held", "t-held")
    await until(lambda: first.is_stopping)
    for number in range(SESSION_INBOX_MAX + 1):
        line.say("s-1", "more", f"t-{number}")
    [event] = line.events("s-1", "execution_error")
    assert (event["turn_id"], event["code"]) == (f"t-{SESSION_INBOX_MAX}", "SESSION_BUSY")
    first.end()
    await closed(session, made[-1])


async def test_a_turn_whose_process_ends_before_it_gets_the_message_ends_too(
    tmp_path: Path,
) -> None:
    def prepare(runtime: SlowEnd, number: int) -> None:
        runtime.is_short_lived = number == 3

    line = RecordingLine()
    session, made = await opened(tmp_path, line, prepare)
    made[-1].end()
    line.say("s-1", "one", "t-1")
    assert (await line.end_of("s-1", "t-1"))["code"] == "SESSION_CRASHED"
    line.say("s-1", "two", "t-2")
    assert await until(lambda: made[-1].messages) == ["two"]
    assert [turn.turn_id for turn in session.turns.open] == ["t-2"]
    await closed(session, made[-1])


async def test_a_turn_that_a_fault_keeps_from_its_process_ends(tmp_path: Path) -> None:
    line = RecordingLine()
    session, made = await opened(tmp_path, line)
    made[-1].faults = [RuntimeError("a secret detail")]
    line.say("s-1", "one", "t-1")
    end = await line.end_of("s-1", "t-1")
    assert end["code"] == "SESSION_FAILED"
    assert "secret" not in end["error"]
    assert session.turns.open == []
    await closed(session, made[-1])


async def test_a_turn_whose_process_cannot_be_started_for_a_fault_ends(tmp_path: Path) -> None:
    def prepare(runtime: SlowEnd, number: int) -> None:
        runtime.faults = [OSError("no more files")] if number == 3 else []

    line = RecordingLine()
    session, made = await opened(tmp_path, line, prepare)
    made[-1].end()
    line.say("s-1", "one", "t-1")
    end = await line.end_of("s-1", "t-1")
    assert (end["code"], "OSError" in end["error"]) == ("SESSION_START_FAILED", True)
    assert session.turns.open == []
    made[-1].end()
    await session.stop("test", why=CRASH)
