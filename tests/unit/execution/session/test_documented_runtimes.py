"""Sessions and their runtimes: who is chosen, what it is given, what is saved (004 §4, §5)."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import until
from tests.support.recording_line import RecordingLine
from tests.unit.execution.session.conftest import PATIENCE
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.memory.local_memory import LocalShortTermMemory
from trunkline.execution.process.child import Failure
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.session import ipc
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.runtime_adapter import RuntimeAdapter
from trunkline.execution.session.semigraph_adapter import SemiGraphAdapter

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Noted(RuntimeAdapter):
    """A runtime that notes what it is told."""

    def __init__(self, name: str, started: "list[Noted]") -> None:
        self.name = name
        self._started = started
        self.told: list[str] = []
        self.config: ipc.Start | None = None

    @property
    def alive(self) -> bool:
        return self.config is not None

    async def start(self, config: ipc.Start) -> ipc.Ready:
        self.told.append("start")
        self.config = config
        self._started.append(self)
        return ipc.Ready()

    async def send_message(self, data: ipc.UserMessageData) -> None:
        self.told.append(f"message {data.message}")

    async def cancel(self, reason: str) -> None:
        self.told.append(f"cancel {reason}")

    def send(self, message: ipc.Down) -> None:
        self.told.append(type(message).__name__)

    async def stop(self, reason: str) -> None:
        self.told.append(f"stop {reason}")
        self.config = None

    async def get_snapshot(self) -> Json:
        return {}

    async def restore(self, snapshot: Json) -> None:
        self.told.append("restore")


class Runtimes:
    """A machine with two runtimes, and every adapter that was started."""

    def __init__(self, home: Home, line: RecordingLine) -> None:
        self.started: list[Noted] = []
        self.line = line
        runtimes = {"semigraph": self._maker("semigraph"), "other": self._maker("other")}
        self.manager = SessionManager(line, home, runtimes, sessions_max=20, clock=time.time)

    def _maker(self, name: str) -> Any:
        def make(
            _folder: Path,
            _on_message: Callable[[ipc.Up], None],
            _on_ended: Callable[[Failure], None],
        ) -> RuntimeAdapter:
            return Noted(name, self.started)

        return make

    async def told(self, count: int) -> list[str]:
        return await until(lambda: self.started[-1].told, lambda told: len(told) >= count)


@pytest.fixture
def runtimes(home: Home, line: RecordingLine) -> Runtimes:
    return Runtimes(home, line)


@pytest.mark.proves("004-4.1-adapter-by-runtime-type", "004-4.2-one-adapter-per-session")
async def test_every_session_has_an_adapter_of_the_runtime_that_it_names(
    runtimes: Runtimes,
) -> None:
    for number, name in enumerate(["other", "semigraph", "other"]):
        await runtimes.manager.start_session({"session_id": f"s-{number}", "runtime_type": name})
    assert [one.name for one in runtimes.started] == ["other", "semigraph", "other"]
    ids = [one.config.session_id for one in runtimes.started if one.config is not None]
    assert ids == ["s-0", "s-1", "s-2"]


@pytest.mark.proves("004-5-runtime-type-default")
async def test_a_session_that_names_no_runtime_is_semigraphs(runtimes: Runtimes) -> None:
    await runtimes.manager.start_session({"session_id": "s-1", "agent_config": {}})
    assert [one.name for one in runtimes.started] == ["semigraph"]


@pytest.mark.proves("004-5-start-config", "004-4.1-keys-for-every-session")
async def test_a_runtime_is_given_what_the_session_needs_and_the_keys(runtimes: Runtimes) -> None:
    runtimes.manager.initialized({"api_keys": {"openai": "sk-1"}})
    given: Json = {
        "agent_config": {"model": "gpt-4o"},
        "skill_index": [{"id": "pdf"}],
        "mcp_servers": [{"name": "wiki", "type": "remote"}],
        "sub_agents": [{"id": "a-1", "name": "Poet"}],
        "session_config": {"max_turns": 3},
        "openclaw_config": {"tool_profile": "coding"},
    }
    for session_id in ("s-1", "s-2"):
        await runtimes.manager.start_session({"session_id": session_id, **given})
    for adapter in runtimes.started:
        assert adapter.config is not None
        assert {name: getattr(adapter.config, name) for name in given} == given
        assert adapter.config.api_keys == {"openai": "sk-1"}


@pytest.mark.proves("004-5-create-then-start")
async def test_a_process_is_there_after_start_and_not_before(
    manager: SessionManager, spawner: Spawner, sockets: SocketFolder
) -> None:
    await manager.start_session({"session_id": "s-1"})
    session = manager.active_sessions["s-1"]
    made = SemiGraphAdapter(
        spawner.spawn,
        sockets,
        PATIENCE,
        session.folder,
        lambda _message: None,
        lambda _failure: None,
    )
    alive = [made.alive]
    assert await made.start(session.config) == ipc.Ready()
    alive.append(made.alive)
    await made.stop("test")
    assert alive == [False, True]


@pytest.mark.proves(
    "004-4.2-interface",
    "004-5-handlers-after-start",
    "004-5-stop-session",
    "000-5.6-runtime-is-cancelled",
)
async def test_messages_cancels_and_the_stop_of_a_session_reach_its_adapter(
    runtimes: Runtimes,
) -> None:
    await runtimes.manager.start_session({"session_id": "s-1"})
    runtimes.line.say("s-1", "hello")
    runtimes.line.tell("s-1", "cancel", reason="admin")
    assert await runtimes.told(3) == ["start", "message hello", "cancel admin"]
    await runtimes.manager.stop_session({"session_id": "s-1", "reason": "timeout"})
    assert (await runtimes.told(4))[3] == "stop timeout"
    assert "s-1" not in runtimes.line.sessions


@pytest.mark.proves("004-4.2-interface")
@pytest.mark.parametrize("name", ["start", "send_message", "cancel", "stop", "get_snapshot"])
async def test_a_runtime_without_one_of_the_methods_cannot_be_made(name: str) -> None:
    methods = {one: getattr(Noted, one) for one in vars(Noted) if one != name}
    lacking = type("Lacking", (RuntimeAdapter,), methods)
    with pytest.raises(TypeError, match=name):
        lacking("x", [])


@pytest.mark.proves("004-4.5-error-is-an-event")
async def test_what_a_process_says_before_it_gives_up_reaches_the_reader(
    manager: SessionManager, line: RecordingLine
) -> None:
    await manager.start_session({"session_id": "s-1", "agent_config": {"start": "refuse"}})
    [event] = line.events("s-1")
    assert event["type"] == "execution_error"
    assert "no room for me" in event["error"]


@pytest.mark.proves("004-4.3-cancel-sends-a-snapshot")
async def test_a_cancelled_turn_is_followed_by_a_snapshot(
    manager: SessionManager, line: RecordingLine, home: Home
) -> None:
    await manager.start_session({"session_id": "s-1"})
    await LocalShortTermMemory(home.session("s-1")).write_scratchpad("half done")
    line.say("s-1", "wait")
    await line.until("s-1", "thinking")
    line.tell("s-1", "cancel", reason="user_cancelled")
    assert (await line.end_of("s-1"))["cancelled"] is True
    [snapshot] = await until(
        lambda: [params for _, method, params in line.reports if method == "snapshot_sync"]
    )
    assert snapshot["short_term_memory"]["scratchpad"] == "half done"
