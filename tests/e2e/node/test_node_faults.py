"""Lines that break and processes that are killed: what readers have is complete, in order, once."""

import asyncio
from collections.abc import AsyncIterator

import psutil
import pytest
import pytest_asyncio

from tests.support.eventually import WAIT_S, eventually
from tests.support.model_server import Gate, ToolUse, Turn
from tests.support.node import Talk, is_alive
from tests.support.node_system import WORDS, System, running_system, streaming

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = 10


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[System]:
    """One for all tests: to load a daemon takes long."""
    async with running_system(tmp_path_factory.mktemp("faults")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def system(started: System) -> System:
    """Up, and without sessions."""
    node = started.world.node
    if node.process.returncode is not None:
        await node.start()

    async def running() -> list[psutil.Process]:
        return [one for one in node.session_processes() if is_alive(one)]

    await eventually(running, lambda found: not found)
    return started


async def close(*talks: Talk) -> None:
    for talk in talks:
        await talk.reader.leave()
        await talk.user.ok("DELETE", f"/sessions/{talk.id}")


async def complete(talks: list[tuple[Talk, str]]) -> None:
    """Every reader has the whole answer, once, with ids without a gap."""
    for talk, turn_id in talks:
        async with Talk(talk.user, talk.id) as fresh:
            end = await fresh.end_of(turn_id)
            assert end["content"] == "".join(WORDS)
            assert fresh.text(turn_id) == "".join(WORDS)
            assert fresh.reader.ids == list(range(1, len(fresh.reader.ids) + 1))
        await close(talk)


@pytest.mark.proves(
    "000-6-vm-notices",
    "004-1-broken-line-harms-nothing",
    "004-1-one-line-for-all-sessions",
    "004-10-events",
    "004-7-graph-per-session",
)
async def test_ten_streaming_sessions_survive_a_line_that_is_cut(system: System) -> None:
    world, proxy = system.world, system.proxy
    gates = [Gate() for _ in range(SESSIONS)]
    talks = await streaming(world, gates)
    proxy.cut()
    for gate in gates:
        gate.open()
    for request in world.model.requests:
        await request.finished.wait()  # the models have spoken, with nobody listening
    proxy.mend()
    await complete(talks)


async def test_a_killed_control_plane_loses_nothing_of_what_machines_did(system: System) -> None:
    world = system.world
    gates = [Gate() for _ in range(SESSIONS)]
    talks = await streaming(world, gates, first=SESSIONS)
    await system.control.kill()
    for gate in gates:
        gate.open()
    for request in world.model.requests:
        await request.finished.wait()
    await system.control.start()
    await complete(talks)


@pytest.mark.proves(
    "004-1-process-per-session",
    "004-3.3-resumes-a-turn",
    "004-4.10-crash-is-the-sessions-own",
    "004-4.10-exit-is-reported",
)
async def test_a_killed_session_process_is_that_sessions_error_alone(system: System) -> None:
    world = system.world
    gates = [Gate(), Gate()]
    [(victim, lost)] = await streaming(world, gates[:1], first=20)
    [process] = world.node.session_processes()
    [(other, kept)] = await streaming(world, gates[1:], first=21)
    process.kill()
    end = await victim.end_of(lost)
    assert (end["type"], end["code"]) == ("execution_error", "SESSION_CRASHED")
    assert "SIGKILL" in end["error"]
    for gate in gates:
        gate.open()
    assert (await other.end_of(kept))["content"] == "".join(WORDS)
    world.model.script(Turn(text="Where were we?"))
    assert (await victim.ask("Go on."))["content"] == "Where were we?"
    assert ("user", "Count, 20.") in world.model.requests[-1].said
    assert len(victim.ends(lost)) == 1
    await close(victim, other)


async def test_a_command_in_the_background_outlives_its_turn_and_not_its_sessions_process(
    system: System,
) -> None:
    world = system.world
    command = {"command": "setsid sleep 987 & exec sleep 987", "background": True}
    world.model.script(
        Turn(tool_calls=[ToolUse(name="bash", arguments=command)]), Turn(text="It runs.")
    )
    async with await world.session() as talk:
        assert (await talk.ask("Serve it."))["content"] == "It runs."
        [process] = world.node.session_processes()

        async def asleep() -> list[psutil.Process]:
            return [one for one in process.children(recursive=True) if "987" in one.cmdline()]

        family = await eventually(asleep, lambda found: len(found) == 2)
        process.kill()

        async def alive() -> list[psutil.Process]:
            return [one for one in family if is_alive(one)]

        await eventually(alive, lambda found: not found)
        await talk.user.ok("DELETE", f"/sessions/{talk.id}")


async def test_a_killed_daemon_ends_its_turns_once_and_leaves_no_process(system: System) -> None:
    world = system.world
    world.model.script(
        Turn(
            chunks=["Wait. "],
            tool_calls=[ToolUse(name="bash", arguments={"command": "setsid sleep 986 & wait"})],
        )
    )
    async with await world.session() as talk:
        turn_id = await talk.say("Sleep.")
        await talk.until("tool_call_start")
        daemon = psutil.Process(world.node.process.pid)

        async def asleep() -> bool:
            return any("986" in one.cmdline() for one in daemon.children(recursive=True))

        await eventually(asleep)
        family = daemon.children(recursive=True)
        await world.node.kill()

        async def alive() -> list[psutil.Process]:
            return [one for one in family if is_alive(one)]

        await eventually(alive, lambda found: not found)
        await world.node.start()
        end = await talk.end_of(turn_id)
        assert (end["type"], end["code"]) == ("execution_error", "MACHINE_RESTARTED")
        world.model.script(Turn(text="Awake again."))
        assert (await talk.ask("Awake?"))["content"] == "Awake again."
        assert talk.text(turn_id) == "Wait. "
        assert len(talk.ends(turn_id)) == 1
        assert talk.reader.ids == list(range(1, len(talk.reader.ids) + 1))
        await talk.user.ok("DELETE", f"/sessions/{talk.id}")


@pytest.mark.proves("004-5-runs-until-stopped")
async def test_a_daemon_that_is_told_to_stop_leaves_nothing_behind(system: System) -> None:
    world = system.world
    world.model.script(Turn(text="Hello."))
    async with await world.session() as talk:
        await talk.ask("Hello?")
        family = psutil.Process(world.node.process.pid).children(recursive=True)
        assert family
        async with asyncio.timeout(WAIT_S):
            assert await world.node.stop() == 0
        assert not [one for one in family if is_alive(one)]
