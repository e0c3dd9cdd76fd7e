"""A machine whose runtime has a fault: sessions are refused with an answer, never half started."""

import time
from collections.abc import Callable
from pathlib import Path

from tests.support.recording_line import RecordingLine
from tests.unit.execution.session.test_manager import start
from tests.unit.execution.session.test_session import SlowEnd
from trunkline.execution.home import Home
from trunkline.execution.process.child import Failure
from trunkline.execution.session import ipc
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.runtime_adapter import RuntimeAdapter


async def test_a_start_that_ends_with_a_fault_is_a_refusal_and_can_be_tried_again(
    home: Home, line: RecordingLine
) -> None:
    faults: list[Exception] = [RuntimeError("no idea")]
    made: list[SlowEnd] = []

    def make(
        _folder: Path, _on_message: Callable[[ipc.Up], None], on_ended: Callable[[Failure], None]
    ) -> RuntimeAdapter:
        made.append(SlowEnd(on_ended))
        made[-1].faults = faults
        return made[-1]

    manager = SessionManager(line, home, {"semigraph": make}, sessions_max=20, clock=time.time)
    await manager.start_session(start("s-1"))
    assert manager.names() == []
    [event] = line.events("s-1", "execution_error")
    assert event["code"] == "SESSION_START_FAILED"
    line.say("s-1", "hello", "t-1")
    assert (await line.end_of("s-1", "t-1"))["code"] == "SESSION_START_FAILED"
    await manager.start_session(start("s-1"))
    assert manager.names() == ["s-1"]
    made[-1].end()
    await manager.close()
